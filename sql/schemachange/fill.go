package schemachange

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// fill writes the entries of an index for all rows, in the transaction. The table is locked. The
// rows are only read, so the commit does not notice by itself if they move (Transaction.Condition).
func (r *Rows) fill(ctx context.Context, view *catalog.View, table, index catalog.OID) error {
	fill, err := newFill(view, table, index)
	if err != nil {
		return err
	}
	t := r.Tx
	at, err := t.CurrentEverywhere(ctx)
	if err != nil {
		return err
	}
	x := r.Executor(ctx)
	c := x.Context(ctx, t.Tx, nil)
	c.Gateway = t.Gateway.ReadingAt(at)
	// All rows of a table that the transaction has made are its own: its commit knows where they
	// are.
	if t.Schema == nil || !t.Schema.Change.Makes(table) {
		t.noteFilled(c.Gateway.Map.Epoch())
	}
	return fill.All(c)
}

// newFill returns the exec.Fill of an index as a view defines it.
func newFill(view *catalog.View, table, index catalog.OID) (*exec.Fill, error) {
	t := view.Table(table)
	if t == nil {
		return nil, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", table)
	}
	rules, err := plan.TableIndexes(view, t, plan.Env{Fold: expr.EvalConst})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(rules, func(x query.Index) bool { return x.Def.OID == index })
	if i < 0 {
		return nil, pgerr.New(pgerr.UndefinedObject, "index with OID %d does not exist", index)
	}
	schema := ""
	if s := view.Schema(t.Schema); s != nil {
		schema = s.Name
	}
	return exec.NewFill(t, schema, rules[i]), nil
}
