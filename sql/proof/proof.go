package proof

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn/locks"
)

// Emit receives one result of a proof.
type Emit func(check, subject string, ok bool, detail string) error

// Run proves all foreign keys, former ids and split documents of a database. The transactions of
// the proofs are of env; the executor's limits and values hold.
func Run(ctx context.Context, env *tx.Environment, x stmt.Executor, emit Emit) error {
	for _, check := range []func(*proof) error{(*proof).foreignKeys, (*proof).allFormerIDs, (*proof).allParts} {
		p := &proof{ctx: ctx, database: env.Database, x: x, emit: emit}
		if err := p.run(env, check); err != nil {
			return err
		}
	}
	return nil
}

// proof is the proof of one kind of data. It reads what is committed, in a transaction of its own.
type proof struct {
	ctx      context.Context
	t        *tx.Tx
	database catalog.OID
	x        stmt.Executor
	emit     Emit
}

// run runs a check in a transaction of its own.
func (p *proof) run(env *tx.Environment, check func(*proof) error) error {
	p.t = env.BeginSystem(time.Now())
	defer p.t.Rollback()
	return check(p)
}

// lock keeps the definition of a table from changing.
func (p *proof) lock(table catalog.OID, noWait bool) error {
	return p.t.LockTable(p.ctx, table, locks.AccessShare, noWait)
}

// query runs a SELECT and emits its rows.
func (p *proof) query(view *catalog.View, text string, row func(row []types.Datum) error) error {
	_, err := p.x.Against(view).System(p.ctx, p.t, text, nil, row)
	return err
}

// foreignKeys proves all foreign keys of the database, each at one timestamp.
func (p *proof) foreignKeys() error {
	var keys []*refint.Key
	view := p.t.Newest()
	for table := range view.Tables(p.database) {
		keys = append(keys, refint.From(view, table)...)
	}
	slices.SortFunc(keys, func(a, b *refint.Key) int {
		return cmp.Or(cmp.Compare(a.ChildSchema, b.ChildSchema), cmp.Compare(a.Child.Name, b.Child.Name),
			cmp.Compare(a.Con.OID, b.Con.OID))
	})
	for _, k := range keys {
		if err := p.foreignKey(k); err != nil {
			return err
		}
	}
	return nil
}
