package operator

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// setCall is a set-returning function with its arguments.
type setCall struct {
	fn     builtin.SetFunc
	site   *builtin.Ctx
	args   []expr.Eval
	vals   types.Row
	strict bool
	fields []types.OID // of a record result, if one value per row is wanted
	names  string      // of its fields
	packed types.Row
}

func (k *Compiler) setCall(n *query.Call, columns []query.Column) (*setCall, error) {
	impl, ok := builtin.For(n.Proc)
	if !ok || impl.Set == nil {
		return nil, expr.NotImplemented(n.Proc)
	}
	args, err := k.Exprs(n.Args)
	if err != nil {
		return nil, err
	}
	if columns == nil {
		columns = n.Columns
	}
	s := &setCall{
		fn:     impl.Set,
		site:   k.CallSite(n, columns),
		args:   args,
		vals:   make(types.Row, len(args)),
		strict: n.Proc.Strict,
	}
	if !packsRows(n) {
		s.fields = resultFields(n)
	}
	if n.Columns != nil && n.Type() == types.Record {
		s.names = recordNames(n.Columns)
	}
	k.Own(s)
	return s, nil
}

// packsRows reports whether a function returns values of a composite type: those that return sets of
// fields are the ones that populate rows from documents.
func packsRows(n *query.Call) bool {
	return types.IsComposite(n.Type()) && !strings.HasSuffix(n.Proc.Src, "_populate_recordset")
}

func recordNames(columns []query.Column) string {
	var out []string
	for _, c := range columns {
		out = append(out, c.Name)
	}
	return types.RecordNames(out)
}

// resultFields returns the types of a function's OUT columns, nil if it returns single values.
func resultFields(n *query.Call) []types.OID {
	var out []types.OID
	for _, c := range n.Columns {
		out = append(out, c.Type)
	}
	if out != nil {
		return out
	}
	for i, t := range n.Proc.AllArgTypes {
		if i < len(n.Proc.ArgModes) && strings.IndexByte("tob", n.Proc.ArgModes[i]) >= 0 {
			out = append(out, fieldType(n, t))
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// fieldType returns the type of an OUT column in this call; polymorphic types follow from the
// arguments.
func fieldType(n *query.Call, t types.OID) types.OID {
	if t != types.AnyElement && t != types.AnyArray {
		return t
	}
	for i, declared := range n.Proc.ArgTypes {
		if i >= len(n.Args) || declared != types.AnyElement && declared != types.AnyArray {
			continue
		}
		actual := n.Args[i].Type()
		switch {
		case declared == t:
			return actual
		case t == types.AnyElement:
			return types.ElemOf(actual)
		}
		return types.ArrayTypeOf(actual)
	}
	return t
}

// run emits the function's rows for one input row.
func (s *setCall) run(c *Execution, row types.Row, emit Emit) error {
	if err := expr.EvalInto(&c.Ctx, s.vals, s.args, row); err != nil {
		return err
	}
	if s.strict {
		for _, d := range s.vals {
			if d.IsNull() {
				return nil
			}
		}
	}
	c.Enter(s.site)
	return s.fn(s.site, s.vals, func(r types.Row) error {
		if err := c.Tick(); err != nil {
			return err
		}
		return emit(r)
	})
}

// values emits one value per row, a record if the function has several columns.
func (s *setCall) values(c *Execution, row types.Row, emit Emit) error {
	if s.fields == nil {
		return s.run(c, row, emit)
	}
	if s.packed == nil {
		s.packed = make(types.Row, 1)
	}
	return s.run(c, row, func(r types.Row) error {
		s.packed[0] = types.NewNamedRecord(s.fields[:len(r)], r, s.names)
		return emit(s.packed)
	})
}

// extendOp is PostgreSQL's ProjectSet: each input row is emitted once per row of its set-returning
// functions, which advance together; functions that have ended return null.
type extendOp struct {
	child Op
	calls []*setCall
	width int
	out   types.Row
}

// Run implements Op.
func (o *extendOp) Run(c *Execution, emit Emit) error {
	return o.child.Run(c, func(row types.Row) error {
		copy(o.out, row)
		if len(o.calls) == 1 {
			return o.calls[0].values(c, row, func(r types.Row) error {
				o.out[o.width] = r[0]
				return emit(o.out)
			})
		}
		return o.lockStep(c, row, emit)
	})
}

func (o *extendOp) lockStep(c *Execution, row types.Row, emit Emit) error {
	store := &memory.Arena{Mem: c.Mem}
	defer store.Free()
	columns, longest := make([][]types.Datum, len(o.calls)), 0
	for i, call := range o.calls {
		err := call.values(c, row, func(r types.Row) error {
			d, err := store.Datum(r[0])
			columns[i] = append(columns[i], d)
			return err
		})
		if err != nil {
			return err
		}
		longest = max(longest, len(columns[i]))
	}
	for n := range longest {
		for i, col := range columns {
			o.out[o.width+i] = types.Null
			if n < len(col) {
				o.out[o.width+i] = col[n]
			}
		}
		if err := emit(o.out); err != nil {
			return err
		}
	}
	return nil
}

// projectSet splits the set-returning calls out of a projection, innermost first, into extendOps below it.
func (k *Compiler) projectSet(n *plan.Project, child Op) (Op, error) {
	width := len(n.Child.Output())
	exprs := append([]query.Expr{}, n.Exprs...)
	for {
		var calls []*query.Call
		for i, e := range exprs {
			exprs[i] = replaceSets(e, width, &calls)
		}
		if len(calls) == 0 {
			break
		}
		ext := &extendOp{child: child, width: width, out: make(types.Row, width+len(calls))}
		for _, call := range calls {
			s, err := k.setCall(call, nil)
			if err != nil {
				return nil, err
			}
			ext.calls = append(ext.calls, s)
		}
		k.Own(ext)
		child, width = ext, width+len(calls)
	}
	fs, err := k.Exprs(exprs)
	if err != nil {
		return nil, err
	}
	o := &projectOp{child: child, exprs: fs, out: make(types.Row, len(fs))}
	o.step = o.take
	return o, nil
}

// replaceSets replaces the set-returning calls of e that have none in their arguments by slots from width on.
func replaceSets(e query.Expr, width int, calls *[]*query.Call) query.Expr {
	return query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		call, ok := x.(*query.Call)
		if !ok || !call.Proc.RetSet || hasSet(call.Args) {
			return nil, false
		}
		at := slices.IndexFunc(*calls, func(c *query.Call) bool { return query.Equal(c, call) })
		if at < 0 { // equal calls are one
			at = len(*calls)
			*calls = append(*calls, call)
		}
		return &query.Slot{
			T:    query.T{OID: call.Type(), Mod: call.Typmod()},
			N:    width + at,
			Name: call.Proc.Name,
		}, true
	})
}

func hasSet(es []query.Expr) bool {
	for _, e := range es {
		if query.Contains(e, func(x query.Expr) bool {
			c, ok := x.(*query.Call)
			return ok && c.Proc.RetSet
		}) {
			return true
		}
	}
	return false
}

// functionScanOp is functions in FROM.
type functionScanOp struct {
	items      []functionItem
	ordinality bool
	out        types.Row
}

// functionItem is one function: a set, or a scalar that returns one row.
type functionItem struct {
	set    *setCall
	scalar expr.Eval
	width  int
	packed bool // its rows are values of a composite type
	row    types.Row
}

func (k *Compiler) functionScan(n *plan.FunctionScan) (Op, error) {
	o := &functionScanOp{ordinality: n.Ordinality, out: make(types.Row, len(n.Output()))}
	for _, f := range n.Functions {
		it := functionItem{width: len(f.Columns)}
		if call, ok := f.Call.(*query.Call); ok {
			it.packed = packsRows(call)
		}
		var err error
		if call, ok := f.Call.(*query.Call); ok && call.Proc.RetSet {
			it.set, err = k.setCall(call, f.Columns)
		} else if ok && types.KindOf(call.Type()) == types.KindRecord {
			it.scalar, err = k.RecordCall(call, f.Columns)
		} else {
			it.scalar, err = k.Expr(f.Call)
		}
		if err != nil {
			return nil, err
		}
		it.row = k.Space(it.width)
		o.items = append(o.items, it)
	}
	return o, nil
}

// each emits the item's rows, all of its width.
func (it *functionItem) each(c *Execution, emit Emit) error {
	if it.set != nil {
		return it.set.run(c, nil, func(r types.Row) error {
			if len(r) == 1 && (it.width > 1 || it.packed && r[0].K == types.KindRecord) {
				if err := it.unpack(r[0]); err != nil {
					return err
				}
				return emit(it.row)
			}
			return emit(r)
		})
	}
	d, err := it.scalar(&c.Ctx, nil)
	if err != nil {
		return err
	}
	if it.width == 1 && d.K != types.KindRecord {
		it.row[0] = d
		return emit(it.row)
	}
	if err := it.unpack(d); err != nil {
		return err
	}
	return emit(it.row)
}

// unpack spreads a record over the item's columns.
func (it *functionItem) unpack(d types.Datum) error {
	clear(it.row)
	if d.IsNull() {
		return nil
	}
	r, err := types.RecordOf(d)
	if err != nil {
		return err
	}
	for i := range min(r.Len(), it.width) {
		it.row[i] = r.At(i)
	}
	return nil
}

// Run implements Op.
func (o *functionScanOp) Run(c *Execution, emit Emit) error {
	if len(o.items) > 1 {
		return o.zip(c, emit)
	}
	n := int64(0)
	return o.items[0].each(c, func(r types.Row) error {
		n++
		copy(o.out, r)
		if o.ordinality {
			o.out[len(o.out)-1] = types.NewInt(n)
		}
		return emit(o.out)
	})
}

// zip is ROWS FROM: the functions' rows side by side, shorter ones filled with null.
func (o *functionScanOp) zip(c *Execution, emit Emit) error {
	store := &memory.Arena{Mem: c.Mem}
	defer store.Free()
	lists, longest := make([][]types.Row, len(o.items)), 0
	for i := range o.items {
		err := o.items[i].each(c, func(r types.Row) error {
			kept, err := store.Clone(r)
			lists[i] = append(lists[i], kept)
			return err
		})
		if err != nil {
			return err
		}
		longest = max(longest, len(lists[i]))
	}
	for n := range longest {
		clear(o.out)
		at := 0
		for i, it := range o.items {
			if n < len(lists[i]) {
				copy(o.out[at:at+it.width], lists[i][n])
			}
			at += it.width
		}
		if o.ordinality {
			o.out[at] = types.NewInt(int64(n) + 1)
		}
		if err := emit(o.out); err != nil {
			return err
		}
	}
	return nil
}
