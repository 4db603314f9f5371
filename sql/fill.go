package sql

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

// fillIndex gives an index the entries of all rows, those that are committed now and the transaction's own, in the transaction. The table is locked.
// Rows are read and not staged, so the commit does not notice by itself if they move: filled is for that.
func (s *Session) fillIndex(ctx context.Context, view *catalog.View, table, index catalog.OID) error {
	fill, err := newFill(view, table, index)
	if err != nil {
		return err
	}
	t := s.tx
	at, err := t.CurrentEverywhere(ctx)
	if err != nil {
		return err
	}
	outer := s.running
	defer func() { s.running = outer }()
	c := s.execution(ctx, nil)
	c.Gateway = t.Gateway.ReadingAt(at)
	if !s.drafted() || !t.Schema.Change.Makes(table) { // whose rows are all the transaction's own: its commit knows where they were staged
		t.filled.begin(c.Gateway.Map.Epoch())
	}
	return fill.All(c)
}

// filled is by which bucket map a transaction has given indexes the entries of rows that it has only read. What has moved since was derived without these
// indexes where it is now, so the map must still be in force when their definitions are. The zero value is of one that has filled none.
type filled struct {
	any   bool
	epoch uint64 // of the first
}

func (f *filled) begin(epoch uint64) {
	if !f.any {
		*f = filled{true, epoch}
	}
}

// condition gives the change as one that comes into force only while buckets are where they were.
func (f filled) condition(ch *catalog.Change, database catalog.OID, newest *catalog.View) (*catalog.Change, error) {
	if !f.any {
		return ch, nil
	}
	ch, err := ch.On(newest) // what else of the database has changed, as where its replicas are, is no matter
	if err != nil {
		return nil, err
	}
	if d := newest.Database(database); d == nil || d.Map.Epoch() != f.epoch {
		return nil, pgerr.New(pgerr.SerializationFailure, "could not serialize access: rows have moved to another fragment").
			WithDetail("An index was filled in this transaction before they moved.").
			WithHint("Try again, or create the index outside of a transaction block, where it is built beside moves.")
	}
	same := newest.Plan()
	if err := same.Require(database); err != nil {
		return nil, err
	}
	return ch.Then(same), nil
}

// newFill makes the Fill of an index as a view defines it.
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
