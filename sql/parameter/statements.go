package parameter

import (
	"context"
	"sort"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/sql/types"
)

// Statements runs SET, RESET and SHOW for a session.
type Statements struct {
	Values *settings.Values
	Block  *txblock.Block
	// Check returns an error if a value may not be set now. It is called for the parameters whose
	// values depend on definitions.
	Check func(name, value string) error
}

// Show runs SHOW.
func (s *Statements) Show(n *pg_query.VariableShowStmt, w stmt.ResultWriter) error {
	if strings.EqualFold(n.Name, "all") {
		return s.showAll(w)
	}
	v, err := s.Values.Show(n.Name)
	if err != nil {
		return err
	}
	if err := w.Describe(Columns(n)); err != nil {
		return err
	}
	if err := w.Row([]types.Datum{types.NewText(v)}); err != nil {
		return err
	}
	return w.Complete("SHOW")
}

// Columns returns the columns of the row that SHOW returns.
func Columns(n *pg_query.VariableShowStmt) []stmt.Column {
	if strings.EqualFold(n.Name, "all") {
		return allColumns()
	}
	name := n.Name
	if d, ok := settings.Lookup(name); ok {
		name = d.Name
	}
	return []stmt.Column{stmt.TextColumn(name)}
}

func allColumns() []stmt.Column {
	return []stmt.Column{stmt.TextColumn("name"), stmt.TextColumn("setting"), stmt.TextColumn("description")}
}

func (s *Statements) showAll(w stmt.ResultWriter) error {
	if err := w.Describe(allColumns()); err != nil {
		return err
	}
	list := append([]*settings.Definition(nil), settings.All()...)
	sort.Slice(list, func(i, j int) bool { return strings.ToLower(list[i].Name) < strings.ToLower(list[j].Name) })
	for _, d := range list {
		v, _ := s.Values.Show(d.Name)
		if err := w.Row([]types.Datum{
			types.NewText(d.Name), types.NewText(v), types.NewText(d.Description),
		}); err != nil {
			return err
		}
	}
	return w.Complete("SHOW")
}

// Set runs SET, SET LOCAL, SET TRANSACTION, RESET and RESET ALL.
func (s *Statements) Set(ctx context.Context, n *pg_query.VariableSetStmt, w stmt.ResultWriter) error {
	tag := "SET"
	var err error
	switch n.Kind {
	case pg_query.VariableSetKind_VAR_SET_VALUE, pg_query.VariableSetKind_VAR_SET_CURRENT:
		err = s.setValue(n, w)
	case pg_query.VariableSetKind_VAR_SET_DEFAULT:
		err = s.Assign(n.Name, nil, n.IsLocal)
	case pg_query.VariableSetKind_VAR_RESET:
		tag = "RESET"
		if txblock.IsCharacteristic(n.Name) {
			if err := s.Block.WarnOutside(w, "RESET TRANSACTION"); err != nil {
				return err
			}
		}
		err = s.Assign(n.Name, nil, false)
	case pg_query.VariableSetKind_VAR_RESET_ALL:
		tag = "RESET"
		s.Values.ResetAll(s.Block.Nest())
	case pg_query.VariableSetKind_VAR_SET_MULTI:
		err = s.Block.SetTransaction(ctx, n, w)
	}
	if err != nil {
		return err
	}
	if err := s.Values.SendReport(w.Parameter); err != nil {
		return err
	}
	return w.Complete(tag)
}

func (s *Statements) setValue(n *pg_query.VariableSetStmt, w stmt.ResultWriter) error {
	if n.IsLocal {
		if err := s.Block.WarnOutside(w, "SET LOCAL"); err != nil {
			return err
		}
	}
	value, err := settings.Text(n.Name, n.Args)
	if err != nil {
		return err
	}
	if n.IsLocal && s.Block.Tx == nil {
		s.Block.Begin() // it ends with the statement
	}
	return s.Assign(n.Name, &value, n.IsLocal)
}

// Assign changes a setting, or resets it if value is nil. The change lasts for the session if the
// transaction commits or, with local, until the transaction ends.
func (s *Statements) Assign(name string, value *string, local bool) error {
	if value != nil {
		if err := s.Check(name, *value); err != nil {
			return err
		}
	}
	if err := s.Block.Assign(name, value, local); err != nil || !strings.EqualFold(name, "session_authorization") {
		return err
	}
	return s.Block.Assign("role", nil, local) // a new session user has set no role
}
