package operator

import (
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// windowOp sorts its input for one window specification after the other, and computes the calls
// partition by partition.
type windowOp struct {
	child Op
	specs []*windowSpec
	width int // of the child's rows
	calls int
}

// windowSpec is a window with the calls over it.
type windowSpec struct {
	partition []expr.Eval
	order     []expr.Eval
	keys      Ordering // over the values of partition, then order, in rows of a windowStage
	nPart     int
	frame     *frame
	calls     []*windowCall
}

// windowCall is one function over a window; out is its slot.
type windowCall struct {
	out  int
	fn   builtin.WindowFunc
	agg  *aggCall
	args []expr.Eval
	site *builtin.Ctx
}

func (k *Compiler) window(n *plan.Window) (Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	o := &windowOp{child: child, width: len(n.Child.Output()), calls: len(n.Calls)}
	for _, s := range n.Specs {
		spec, err := k.windowSpec(s, o.width+o.calls)
		if err != nil {
			return nil, err
		}
		o.specs = append(o.specs, spec)
	}
	for i, c := range n.Calls {
		call, err := k.windowCall(c, o.width+i)
		if err != nil {
			return nil, err
		}
		spec := o.specs[c.Window]
		spec.calls = append(spec.calls, call)
	}
	return o, nil
}

// windowSpec compiles a specification, whose values to sort by are in slots from first on.
func (k *Compiler) windowSpec(s query.Window, first int) (*windowSpec, error) {
	w := &windowSpec{nPart: len(s.Partition)}
	var err error
	if w.partition, err = k.Exprs(s.Partition); err != nil {
		return nil, err
	}
	var keys []plan.SortKey
	for i, e := range s.Partition {
		keys = append(keys, plan.SortKey{Slot: first + i, Type: e.Type()})
	}
	for i, o := range s.Order {
		f, err := k.Expr(o.Expr)
		if err != nil {
			return nil, err
		}
		w.order = append(w.order, f)
		keys = append(
			keys,
			plan.SortKey{Slot: first + w.nPart + i, Type: o.Expr.Type(), Desc: o.Desc, NullsFirst: o.NullsFirst},
		)
	}
	w.keys = NewOrdering(keys)
	w.frame, err = k.frame(s)
	return w, err
}

func (k *Compiler) windowCall(n *query.WindowCall, out int) (*windowCall, error) {
	impl, ok := builtin.For(n.Proc)
	if !ok {
		return nil, expr.NotImplemented(n.Proc)
	}
	c := &windowCall{out: out, fn: impl.Window}
	var err error
	if impl.Agg != nil {
		c.agg, err = k.aggCall(
			&query.Agg{T: n.T, Proc: n.Proc, Args: n.Args, Star: n.Star, Filter: n.Filter},
			plan.AggComplete,
			out,
		)
		return c, err
	}
	if impl.Window == nil {
		return nil, expr.NotImplemented(n.Proc)
	}
	if c.args, err = k.Exprs(n.Args); err != nil {
		return nil, err
	}
	c.site = k.Site(&builtin.Ctx{RetType: n.Type(), ArgTypes: query.TypesOf(n.Args)})
	return c, nil
}

// Run implements Op.
func (o *windowOp) Run(c *Execution, emit Emit) error {
	var stages []*windowStage
	defer func() {
		for _, s := range stages {
			s.free()
		}
	}()
	for _, spec := range o.specs {
		if len(spec.calls) > 0 {
			stages = append(stages, newWindowStage(c, o, spec))
		}
	}
	if len(stages) == 0 {
		return o.child.Run(c, emit)
	}
	if err := o.child.Run(c, stages[0].add); err != nil {
		return err
	}
	for i, s := range stages {
		take := emit
		if i+1 < len(stages) {
			take = stages[i+1].add
		}
		if err := s.compute(take); err != nil {
			return err
		}
		s.free()
	}
	return nil
}

// windowStage sorts rows for a specification and computes its calls. Its rows have the child's slots,
// the results of all calls, the values to sort by, and the number of the row's group of peers.
type windowStage struct {
	c       *Execution
	spec    *windowSpec
	results int // slots of the child and of the calls
	sorter  *sorter
	row     types.Row // scratch space
}

func newWindowStage(c *Execution, o *windowOp, spec *windowSpec) *windowStage {
	n := o.width + o.calls
	return &windowStage{
		c: c, spec: spec, results: n, sorter: newSorter(c, spec.keys), row: make(types.Row, n+len(spec.keys)+1),
	}
}

func (s *windowStage) free() { s.sorter.free() }

// add keeps a copy of a row, which may lack results.
func (s *windowStage) add(row types.Row) error {
	clear(s.row)
	copy(s.row, row[:min(len(row), s.results)])
	in, vals := s.row[:s.results], s.row[s.results:]
	if err := expr.EvalInto(&s.c.Ctx, vals, s.spec.partition, in); err != nil {
		return err
	}
	if err := expr.EvalInto(&s.c.Ctx, vals[s.spec.nPart:], s.spec.order, in); err != nil {
		return err
	}
	return s.sorter.add(s.row)
}

// compute passes on the rows in order, with the results of the calls.
func (s *windowStage) compute(take Emit) error {
	in, err := s.sorter.open()
	if err != nil {
		return err
	}
	defer in.close()
	p := newWindowPartition(s, in.rows)
	defer p.free()
	for {
		if err := s.c.Tick(); err != nil {
			return err
		}
		row, ok, err := in.next()
		if err != nil {
			return err
		}
		if !ok || !p.has(row) {
			if err := p.compute(take); err != nil || !ok {
				return err
			}
			p.next()
		}
		if err := p.add(row); err != nil {
			return err
		}
	}
}

type windowStep func(i, start, end int, excluded func(int) bool) (types.Datum, error)

// begin prepares a call for a partition.
func (w *windowCall) begin(c *Execution, p *windowPartition) windowStep {
	if w.agg != nil {
		return w.aggregate(c, p)
	}
	r := &builtin.WindowRow{Rows: p.len(), NArgs: len(w.args)}
	r.Arg = func(row, i int) (types.Datum, error) {
		in, err := p.at(row)
		if err != nil {
			return types.Null, err
		}
		return w.args[i](&c.Ctx, in)
	}
	return func(i, start, end int, excluded func(int) bool) (types.Datum, error) {
		r.Pos, r.FrameStart, r.FrameEnd, r.Excluded = i, start, max(start, end), excluded
		r.PeerStart, r.PeerEnd = p.peers.start, p.peers.end
		c.Enter(w.site)
		return w.fn(w.site, r)
	}
}

// aggregate computes an aggregate over each frame. If a frame only grows at its end, the
// computation continues; otherwise it starts again.
func (w *windowCall) aggregate(c *Execution, p *windowPartition) windowStep {
	var state aggState
	from, to, fresh := 0, 0, true
	var last types.Datum
	return func(i, start, end int, excluded func(int) bool) (types.Datum, error) {
		end = max(start, end)
		if !fresh && excluded == nil && start == from && end == to {
			return last, nil
		}
		if fresh || excluded != nil || start != from || end < to {
			state = w.agg.newState(c.Mem)
			to = start
		}
		from, fresh = start, excluded != nil
		for ; to < end; to++ {
			if excluded != nil && excluded(to) {
				continue
			}
			in, err := p.at(to)
			if err == nil {
				err = w.agg.step(c, state, in)
			}
			if err != nil {
				return types.Null, err
			}
		}
		d, err := w.agg.result(c, state)
		last = d.Clone()
		return d, err
	}
}
