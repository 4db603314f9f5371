package schemachange

import (
	"context"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Rows reads and writes the rows of tables for a statement that changes definitions. It reads what
// is committed now, and what the transaction has written, whatever the transaction's snapshot.
type Rows struct {
	Tx       *Transaction
	Executor func(context.Context) stmt.Executor
}

// Attach sets what package ddl does with rows and locks.
func (r *Rows) Attach(e *ddl.Env) {
	e.Lock, e.Reserve, e.Quiet = r.Tx.Lock, r.Tx.Reserve, r.Tx.Quiet
	e.Change, e.Barrier = r.Tx.ChangeSchema, r.Tx.Barrier
	e.Query, e.Fill, e.Rewrite, e.Misplaced = r.query, r.fill, r.rewrite, r.misplaced
}

// query runs a SELECT against the definitions of a view. It takes no locks: the caller has them.
func (r *Rows) query(
	ctx context.Context, view *catalog.View, text string, emit func(row []types.Datum) error,
) error {
	x := r.Executor(ctx)
	_, err := x.Against(view).System(ctx, r.Tx.Tx, text, nil, emit)
	return err
}

// misplaced scans a table for documents in buckets that its policy does not allow.
func (r *Rows) misplaced(
	ctx context.Context, view *catalog.View, t *catalog.Table, emit func(ddl.Misplaced) error,
) error {
	p, err := table.NewPlacement(t)
	if err != nil {
		return err
	}
	columns := p.Columns()
	row := make([]types.Datum, len(t.Columns))
	return r.query(ctx, view, ddl.SelectColumns(view, t, columns), func(got []types.Datum) error {
		for i, at := range columns {
			row[at] = got[i]
		}
		m, err := misplacedRow(p, row)
		if m == nil || err != nil {
			return err
		}
		return emit(*m)
	})
}

// misplacedRow returns a description of a row in a bucket that its policy does not allow; nil for
// other rows.
func misplacedRow(p *table.Placement, row []types.Datum) (*ddl.Misplaced, error) {
	id, bucket, err := p.Check(row)
	if !pgerr.Is(err, pgerr.CheckViolation) {
		return nil, err
	}
	e := pgerr.From(err)
	detail := e.Detail
	if detail == "" {
		detail = e.Message
	}
	return &ddl.Misplaced{ID: strings.Clone(id), Bucket: bucket, Detail: detail}, nil
}
