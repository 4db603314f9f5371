package stmt

import (
	"context"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// BucketReader runs a SELECT from one table as the system, over some of its buckets: all runs see the same snapshot,
// which has what is committed when the reader is made and what the transaction has written. Privileges are not checked.
// It takes no locks: the caller has them.
type BucketReader struct {
	x     Executor
	tx    *tx.Tx
	query *query.Query
	some  *exec.Program // over the buckets that two arguments bound; nil: not needed yet
}

// BucketReader compiles a text and takes a snapshot.
func (x *Executor) BucketReader(ctx context.Context, t *tx.Tx, text string) (*BucketReader, error) {
	view := x.View
	if view == nil {
		view = t.View()
	}
	q, err := x.Compiler.Against(view).AsSystem().Query(text)
	if err != nil {
		return nil, err
	}
	r := &BucketReader{x: *x, tx: t, query: q}
	r.x.At, err = t.CurrentEverywhere(ctx)
	return r, err
}

// Types returns the types of the columns.
func (r *BucketReader) Types() []types.OID {
	out := make([]types.OID, len(r.query.Targets))
	for i, t := range r.query.Targets {
		out[i] = t.Expr.Type()
	}
	return out
}

// All reads all buckets.
func (r *BucketReader) All(ctx context.Context, emit exec.Emit) error {
	p, err := plan.Build(r.query, plan.Env{Fold: expr.EvalConst})
	if err != nil {
		return err
	}
	program, err := exec.Compile(p)
	if err != nil {
		return err
	}
	_, err = runUnlimited(r.x.Context(ctx, r.tx, nil), program, emit)
	return err
}

// Between reads the buckets from lo to below hi, of a table whose rows are placed by the hash of their keys.
func (r *BucketReader) Between(ctx context.Context, lo, hi uint32, emit exec.Emit) error {
	if r.some == nil {
		p, err := plan.Build(r.query, plan.Env{Fold: expr.EvalConst})
		if err != nil {
			return err
		}
		bound(p.Root)
		if r.some, err = exec.Compile(p); err != nil {
			return err
		}
	}
	args := []types.Datum{types.NewInt(int64(lo)), types.NewInt(int64(hi))}
	_, err := runUnlimited(r.x.Context(ctx, r.tx, args), r.some, emit)
	return err
}

// bound has the gathers of a plan read the buckets that two parameters bound.
func bound(n plan.Node) {
	if g, ok := n.(*plan.Gather); ok {
		int4 := query.Of(types.Int4)
		g.Route.Lo, g.Route.Hi = &query.Param{T: int4, N: 1}, &query.Param{T: int4, N: 2}
	}
	for _, c := range n.Children() {
		bound(c)
	}
}
