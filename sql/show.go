package sql

import (
	"context"
	"sort"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/sql/types"
)

// show runs SHOW.
func (s *Session) show(n *pg_query.VariableShowStmt, w stmt.ResultWriter) error {
	if strings.EqualFold(n.Name, "all") {
		return s.showAll(w)
	}
	v, err := s.vars.Show(n.Name)
	if err != nil {
		return err
	}
	if err := w.Describe(showColumns(n)); err != nil {
		return err
	}
	if err := w.Row([]types.Datum{types.NewText(v)}); err != nil {
		return err
	}
	return w.Complete("SHOW")
}

func showColumns(n *pg_query.VariableShowStmt) []stmt.Column {
	if strings.EqualFold(n.Name, "all") {
		return []stmt.Column{textColumn("name"), textColumn("setting"), textColumn("description")}
	}
	name := n.Name
	if d, ok := settings.Lookup(name); ok {
		name = d.Name
	}
	return []stmt.Column{textColumn(name)}
}

func textColumn(name string) stmt.Column {
	return stmt.Column{Name: name, Type: types.Text, Typmod: -1, Len: -1}
}

func (s *Session) showAll(w stmt.ResultWriter) error {
	if err := w.Describe([]stmt.Column{
		textColumn("name"), textColumn("setting"), textColumn("description"),
	}); err != nil {
		return err
	}
	list := append([]*settings.Definition(nil), settings.All()...)
	sort.Slice(list, func(i, j int) bool { return strings.ToLower(list[i].Name) < strings.ToLower(list[j].Name) })
	for _, d := range list {
		v, _ := s.vars.Show(d.Name)
		if err := w.Row([]types.Datum{
			types.NewText(d.Name), types.NewText(v), types.NewText(d.Description),
		}); err != nil {
			return err
		}
	}
	return w.Complete("SHOW")
}

// set runs SET, SET LOCAL, SET TRANSACTION, RESET and RESET ALL.
func (s *Session) set(ctx context.Context, n *pg_query.VariableSetStmt, w stmt.ResultWriter) error {
	tag := "SET"
	var err error
	switch n.Kind {
	case pg_query.VariableSetKind_VAR_SET_VALUE, pg_query.VariableSetKind_VAR_SET_CURRENT:
		err = s.setValue(n, w)
	case pg_query.VariableSetKind_VAR_SET_DEFAULT:
		if isIdentity(n.Name) {
			break
		}
		err = s.assign(n.Name, nil, n.IsLocal)
	case pg_query.VariableSetKind_VAR_RESET:
		tag = "RESET"
		if isIdentity(n.Name) {
			break
		}
		if txblock.IsCharacteristic(n.Name) {
			if err := s.block.WarnOutside(w, "RESET TRANSACTION"); err != nil {
				return err
			}
		}
		err = s.assign(n.Name, nil, false)
	case pg_query.VariableSetKind_VAR_RESET_ALL:
		tag = "RESET"
		s.vars.ResetAll(s.block.Nest())
	case pg_query.VariableSetKind_VAR_SET_MULTI:
		err = s.block.SetTransaction(ctx, n, w)
	}
	if err != nil {
		return err
	}
	if err := s.vars.SendReport(w.Parameter); err != nil {
		return err
	}
	return w.Complete(tag)
}

func (s *Session) setValue(n *pg_query.VariableSetStmt, w stmt.ResultWriter) error {
	if n.IsLocal {
		if err := s.block.WarnOutside(w, "SET LOCAL"); err != nil {
			return err
		}
	}
	value, err := settings.Text(n.Name, n.Args)
	if err != nil {
		return err
	}
	if own, err := s.checkIdentity(n.Name, value); own || err != nil {
		return err
	}
	if n.IsLocal && s.block.Tx == nil {
		s.block.Begin() // it ends with the statement
	}
	return s.assign(n.Name, &value, n.IsLocal)
}

// assign changes a setting, or resets it if value is nil. The change lasts for the session if the
// transaction commits or, with local, until the transaction ends.
func (s *Session) assign(name string, value *string, local bool) error {
	if strings.EqualFold(name, settings.Fragment) {
		if err := s.checkFragments(value); err != nil {
			return err
		}
	}
	return s.block.Assign(name, value, local)
}

// isIdentity reports whether a setting names the session's user. Such a setting cannot be changed,
// so a reset leaves it.
func isIdentity(name string) bool {
	return strings.EqualFold(name, "role") || strings.EqualFold(name, "session_authorization")
}

// checkIdentity refuses to change the session's user; own is false for any other setting.
func (s *Session) checkIdentity(name, value string) (own bool, err error) {
	switch strings.ToLower(name) {
	case "role":
		if value == "none" || value == s.start.User {
			return true, nil
		}
		return false, pgerr.Unsupported("SET ROLE is not supported yet").WithHint("Connect as that role.")
	case "session_authorization":
		if value == s.start.User {
			return true, nil
		}
		return false, pgerr.Unsupported("SET SESSION AUTHORIZATION is not supported yet").
			WithHint("Connect as that role.")
	}
	return false, nil
}
