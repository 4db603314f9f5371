package schemachange

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// rewrite writes the rows of a table again as a view defines it, in the transaction. The table is
// locked exclusively.
func (r *Rows) rewrite(ctx context.Context, view *catalog.View, w ddl.Rewrite) (misplaced bool, err error) {
	t, old := view.Table(w.Table), w.Old.Table(w.Table)
	if t == nil || old == nil {
		return false, pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", w.Table)
	}
	m, err := plan.Restoring(view, t, w.Exprs, plan.Env{Fold: expr.EvalConst})
	if err != nil {
		return false, err
	}
	restore, err := exec.NewRestore(m)
	if err != nil {
		return false, err
	}
	restore.Judge = w.Judge
	var columns []int
	for i := range old.Columns {
		if !old.Columns[i].Dropped {
			columns = append(columns, i)
		}
	}
	row := make([]types.Datum, len(old.Columns))
	x := r.Executor(ctx)
	err = restore.Run(x.Context(ctx, r.Tx.Tx, nil), func(emit exec.Emit) error {
		return r.query(ctx, w.Old, ddl.SelectColumns(w.Old, old, columns), func(got []types.Datum) error {
			for i, at := range columns {
				row[at] = got[i]
			}
			return emit(row)
		})
	})
	return restore.Misplaced, err
}
