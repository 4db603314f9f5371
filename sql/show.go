package sql

import (
	"context"
	"sort"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// show is SHOW.
func (s *Session) show(n *pg_query.VariableShowStmt, w ResultWriter) error {
	if strings.EqualFold(n.Name, "all") {
		return s.showAll(w)
	}
	v, err := s.showValue(n.Name)
	if err != nil {
		return err
	}
	if err := w.Describe(s.showColumns(n)); err != nil {
		return err
	}
	if err := w.Row([]types.Datum{types.NewText(v)}); err != nil {
		return err
	}
	return w.Complete("SHOW")
}

func (s *Session) showValue(name string) (string, error) {
	v, ok := s.vars.show(name)
	if !ok {
		return "", unrecognized(name)
	}
	return v, nil
}

func (s *Session) showColumns(n *pg_query.VariableShowStmt) []Column {
	if strings.EqualFold(n.Name, "all") {
		return []Column{textColumn("name"), textColumn("setting"), textColumn("description")}
	}
	name := n.Name
	if d, ok := settings.Lookup(name); ok {
		name = d.Name
	}
	return []Column{textColumn(name)}
}

func textColumn(name string) Column {
	return Column{Name: name, Type: types.Text, Typmod: -1, Len: -1}
}

func (s *Session) showAll(w ResultWriter) error {
	if err := w.Describe([]Column{textColumn("name"), textColumn("setting"), textColumn("description")}); err != nil {
		return err
	}
	list := append([]*settings.Definition(nil), settings.All()...)
	sort.Slice(list, func(i, j int) bool { return strings.ToLower(list[i].Name) < strings.ToLower(list[j].Name) })
	for _, d := range list {
		v, _ := s.vars.show(d.Name)
		if err := w.Row([]types.Datum{types.NewText(d.Name), types.NewText(v), types.NewText(d.Description)}); err != nil {
			return err
		}
	}
	return w.Complete("SHOW")
}

// set is SET, SET LOCAL, SET TRANSACTION, RESET and RESET ALL.
func (s *Session) set(ctx context.Context, n *pg_query.VariableSetStmt, w ResultWriter) error {
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
		if isCharacteristic(n.Name) {
			if err := s.warnNoBlock(w, "RESET TRANSACTION"); err != nil {
				return err
			}
		}
		err = s.assign(n.Name, nil, false)
	case pg_query.VariableSetKind_VAR_RESET_ALL:
		tag = "RESET"
		s.vars.resetAll(s.nest())
	case pg_query.VariableSetKind_VAR_SET_MULTI:
		err = s.setTransaction(ctx, n, w)
	}
	if err != nil {
		return err
	}
	if err := s.settingsChanged(w); err != nil {
		return err
	}
	return w.Complete(tag)
}

func (s *Session) setValue(n *pg_query.VariableSetStmt, w ResultWriter) error {
	if n.IsLocal {
		if err := s.warnNoBlock(w, "SET LOCAL"); err != nil {
			return err
		}
	}
	value, err := settingText(n.Name, n.Args)
	if err != nil {
		return err
	}
	if own, err := s.checkIdentity(n.Name, value); own || err != nil {
		return err
	}
	if n.IsLocal && s.tx == nil {
		s.begin() // it ends with the statement
	}
	return s.assign(n.Name, &value, n.IsLocal)
}

// assign changes a setting, or resets it for nil: for the session as far as the transaction is committed, or with local until its end.
func (s *Session) assign(name string, value *string, local bool) error {
	if own, err := s.setCharacteristic(name, value); own || err != nil {
		return err
	}
	switch strings.ToLower(name) {
	case "sherd.session_ts":
		return s.raiseFloor(value)
	case tx.AsOfSetting:
		if err := s.checkAsOf(value); err != nil {
			return err
		}
	case fragmentSetting:
		if err := s.checkFragments(value); err != nil {
			return err
		}
	}
	if err := s.vars.set(name, value, local, s.nest()); err != nil {
		return err
	}
	s.stale, s.unreported = true, true
	return nil
}

// isIdentity tells settings that say who the session is; they cannot be changed, so a reset leaves them.
func isIdentity(name string) bool {
	return strings.EqualFold(name, "role") || strings.EqualFold(name, "session_authorization")
}

// checkIdentity refuses to become somebody else; own tells that the setting says who the session is already.
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
		return false, pgerr.Unsupported("SET SESSION AUTHORIZATION is not supported yet").WithHint("Connect as that role.")
	}
	return false, nil
}

// settingText joins the values of SET as PostgreSQL does: lists with ", ", identifiers quoted where they must be.
func settingText(name string, args []*pg_query.Node) (string, error) {
	list := isListSetting(name)
	if len(args) > 1 && !list {
		return "", pgerr.New(pgerr.InvalidParameterValue, "SET %s takes only one argument", name)
	}
	var out []string
	for _, a := range args {
		v, err := constantSetting(a)
		if err != nil {
			return "", err
		}
		if list && !plainIdentifier(v) {
			v = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
		}
		out = append(out, v)
	}
	return strings.Join(out, ", "), nil
}

func isListSetting(name string) bool {
	switch strings.ToLower(name) {
	case "search_path", "temp_tablespaces", "session_preload_libraries", "local_preload_libraries", "datestyle":
		return strings.ToLower(name) != "datestyle"
	}
	return false
}

func plainIdentifier(v string) bool {
	for i, c := range v {
		if !(c >= 'a' && c <= 'z' || c == '_' || i > 0 && (c >= '0' && c <= '9' || c == '$')) {
			return false
		}
	}
	return v != ""
}

func constantSetting(a *pg_query.Node) (string, error) {
	if t := a.GetTypeCast(); t != nil { // SET TIME ZONE INTERVAL '…'
		text, err := constantSetting(t.Arg)
		if err != nil {
			return "", err
		}
		return intervalSetting(text, t.TypeName)
	}
	c := a.GetAConst()
	switch v := c.GetVal().(type) {
	case *pg_query.A_Const_Sval:
		return v.Sval.GetSval(), nil
	case *pg_query.A_Const_Ival:
		return formatInt(int64(v.Ival.GetIval())), nil
	case *pg_query.A_Const_Fval:
		return v.Fval.GetFval(), nil
	case *pg_query.A_Const_Boolval:
		return onOff(v.Boolval.GetBoolval()), nil
	}
	if c.GetVal() == nil && c != nil {
		return "0", nil // the integer zero has no field in the tree's wire form
	}
	return "", pgerr.New(pgerr.SyntaxError, "a setting's value must be a constant")
}
