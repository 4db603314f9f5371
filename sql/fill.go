package sql

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// fillIndex gives an index the entries of all rows, those that are committed now and the transaction's own, in the transaction. The table is locked.
func (s *Session) fillIndex(ctx context.Context, view *catalog.View, table, index catalog.OID) error {
	fill, err := newFill(view, table, index)
	if err != nil {
		return err
	}
	t := s.tx
	at, err := t.everywhere(ctx)
	if err != nil {
		return err
	}
	outer := s.running
	defer func() { s.running = outer }()
	c := s.execution(ctx, nil)
	c.Gateway = readingAt(t.gateway, at)
	return fill.All(c)
}

// newFill makes the Fill of an index as a view defines it.
func newFill(view *catalog.View, table, index catalog.OID) (*exec.Fill, error) {
	t := view.Table(table)
	if t == nil {
		return nil, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", table)
	}
	rules, err := plan.TableIndexes(view, t, plan.Env{Fold: exec.EvalConst})
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
