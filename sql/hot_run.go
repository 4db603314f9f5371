package sql

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// splitRun is a run of a program whose tables have split documents.
type splitRun struct {
	x *stmt.Executor
	t *tx.Tx
	c *exec.Ctx
}

// evaluate returns the value of an expression that is rowless.
func (r *splitRun) evaluate(e query.Expr) (types.Datum, error) {
	switch n := e.(type) {
	case *query.Const:
		return n.Value, nil
	case *query.Param:
		if n.N <= len(r.c.Params) {
			return r.c.Params[n.N-1], nil
		}
	}
	f, err := expr.Compile(e)
	if err != nil {
		return types.Null, err
	}
	return f(&expr.Ctx{Params: r.c.Params, Env: r.x.Values, Session: r.x.Functions}, nil)
}

// documents gives those of a table's documents that keys name; without any list, all. Of those that are whole again only with past.
func (r *splitRun) documents(def *catalog.Table, list []keys, past bool) ([]*catalog.HotDocument, error) {
	var out []*catalog.HotDocument
	wanted := func(d *catalog.HotDocument) bool { return d.Joined == 0 || past }
	if list == nil {
		for i := range def.Hot.Documents {
			if d := &def.Hot.Documents[i]; wanted(d) {
				out = append(out, d)
			}
		}
		return out, nil
	}
	add := func(row types.Row) error {
		if slices.ContainsFunc(row, func(d types.Datum) bool { return d.IsNull() }) {
			return nil
		}
		key, err := exec.EncodedKey(def, row)
		if err != nil {
			return err
		}
		for i := range def.Hot.Documents {
			if d := &def.Hot.Documents[i]; wanted(d) && string(d.Key) == string(key) && !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
		return nil
	}
	for _, k := range list {
		if err := r.eachKey(k, add); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *splitRun) eachKey(k keys, f func(types.Row) error) error {
	if k.array == nil {
		row := make(types.Row, len(k.tuple))
		for i, e := range k.tuple {
			var err error
			if row[i], err = r.evaluate(e); err != nil {
				return err
			}
		}
		return f(row)
	}
	d, err := r.evaluate(k.array)
	if err != nil || d.IsNull() {
		return err
	}
	a, err := types.ArrayOf(d)
	if err != nil {
		return err
	}
	for i := range a.Len() {
		if err := f(types.Row{a.At(i)}); err != nil {
			return err
		}
	}
	return nil
}

// Run implements stmt.Step.
func (h *hotProgram) Run(x *stmt.Executor, t *tx.Tx, c *exec.Ctx, emit exec.Emit) (*stmt.Program, error) {
	r := &splitRun{x, t, c}
	if h.increment != nil {
		done, err := r.add(h.increment)
		if err != nil || done {
			return h.statement, err
		}
	}
	folded, err := r.foldFor(h)
	if err != nil {
		return h.statement, err
	}
	run, err := r.chosen(h, folded)
	if err != nil {
		return h.statement, err
	}
	if err := run.Exec.Run(c, emit); err != nil {
		return run, err
	}
	for _, f := range folded {
		if err := f.settle(); err != nil {
			return run, err
		}
	}
	return run, nil
}

// chosen returns the form of the program that reads what it has to, with its parameters set. Documents whose parts
// were just put into them need none.
func (r *splitRun) chosen(h *hotProgram, folded []*fold) (*stmt.Program, error) {
	if h.combined == nil {
		return h.statement, nil
	}
	t, c := r.t, r.c
	past := t != nil && (t.At != 0 || t.Near || t.Past) || c.Steady
	args, needed := slices.Clip(c.Params), false
	for _, table := range h.tables {
		var parts []types.Datum
		if table.read {
			list, err := r.documents(table.def, table.reads, past)
			if err != nil {
				return nil, err
			}
			for _, d := range list {
				if slices.ContainsFunc(folded, func(f *fold) bool { return f.has(table.def, d) }) {
					continue
				}
				for _, k := range d.Parts {
					parts = append(parts, types.NewInt(k))
				}
			}
		}
		needed = needed || len(parts) > 0
		args = append(args, int8Array(parts))
	}
	if !needed {
		return h.statement, nil
	}
	c.Params = args
	return h.combined, nil
}

func int8Array(elems []types.Datum) types.Datum {
	if len(elems) == 0 {
		return types.NewArray(types.Int8, nil, nil, nil)
	}
	return types.NewArray(types.Int8, []int32{int32(len(elems))}, []int32{1}, elems)
}

// errSplitCursor refuses a cursor that would lock a split document whose parts are not empty: it reads what was there when it was opened, and putting
// the parts into the document changes that.
func errSplitCursor(t *catalog.Table) error {
	return pgerr.Unsupported("a cursor cannot lock rows of table %q while documents of it are split", t.Name).
		WithHint("Lock them with a SELECT of their own, or make the documents whole with sherd.hot_join().")
}
