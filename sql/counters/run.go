package counters

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// run is a run of a program with a step.
type run struct {
	x *stmt.Executor
	t *tx.Tx
	c *exec.Ctx
}

// evaluate returns the value of an expression that is rowless.
func (r *run) evaluate(e query.Expr) (types.Datum, error) {
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

// documents returns the split documents of a table that keys name, all of them for a nil list. With
// past it includes those that are whole again.
func (r *run) documents(def *catalog.Table, list []keys, past bool) ([]*catalog.HotDocument, error) {
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
		key, err := table.EncodedKey(def, row)
		if err != nil {
			return err
		}
		for i := range def.Hot.Documents {
			d := &def.Hot.Documents[i]
			if wanted(d) && string(d.Key) == string(key) && !slices.Contains(out, d) {
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

func (r *run) eachKey(k keys, f func(types.Row) error) error {
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
func (s *step) Run(x *stmt.Executor, t *tx.Tx, c *exec.Ctx, emit exec.Emit) (*stmt.Program, error) {
	r := &run{x, t, c}
	if s.increment != nil {
		done, err := r.add(s.increment)
		if err != nil || done {
			return s.statement, err
		}
	}
	folded, err := r.foldFor(s)
	if err != nil {
		return s.statement, err
	}
	form, err := r.chosen(s, folded)
	if err != nil {
		return s.statement, err
	}
	if err := form.Exec.Run(c, emit); err != nil {
		return form, err
	}
	for _, f := range folded {
		if err := f.updateBases(); err != nil {
			return form, err
		}
	}
	return form, nil
}

// chosen returns the form of the program that reads the parts that are needed, and sets its
// parameters. Parts that were just put into their documents are not needed.
func (r *run) chosen(s *step, folded []*fold) (*stmt.Program, error) {
	if s.combined == nil {
		return s.statement, nil
	}
	t, c := r.t, r.c
	past := t != nil && (t.At != 0 || t.Near || t.Past) || c.Steady
	args, needed := slices.Clip(c.Params), false
	for _, table := range s.tables {
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
		return s.statement, nil
	}
	c.Params = args
	return s.combined, nil
}

func int8Array(elems []types.Datum) types.Datum {
	if len(elems) == 0 {
		return types.NewArray(types.Int8, nil, nil, nil)
	}
	return types.NewArray(types.Int8, []int32{int32(len(elems))}, []int32{1}, elems)
}

// errSplitCursor refuses a cursor that would lock a split document whose parts are not empty: the
// cursor reads what was there when it was opened, and folding the parts changes that.
func errSplitCursor(t *catalog.Table) error {
	return pgerr.Unsupported("a cursor cannot lock rows of table %q while documents of it are split", t.Name).
		WithHint("Lock them with a SELECT of their own, or make the documents whole with sherd.hot_join().")
}
