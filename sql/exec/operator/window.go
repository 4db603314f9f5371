package operator

import (
	"slices"

	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// windowOp keeps its input, sorts it once for each window specification, and computes the calls partition by partition.
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
	keys      Ordering // over the values of partition, then order
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
		spec, err := k.windowSpec(s)
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

func (k *Compiler) windowSpec(s query.Window) (*windowSpec, error) {
	w := &windowSpec{nPart: len(s.Partition)}
	var err error
	if w.partition, err = k.Exprs(s.Partition); err != nil {
		return nil, err
	}
	var keys []plan.SortKey
	for i, e := range s.Partition {
		keys = append(keys, plan.SortKey{Slot: i, Type: e.Type()})
	}
	for i, o := range s.Order {
		f, err := k.Expr(o.Expr)
		if err != nil {
			return nil, err
		}
		w.order = append(w.order, f)
		keys = append(
			keys,
			plan.SortKey{Slot: w.nPart + i, Type: o.Expr.Type(), Desc: o.Desc, NullsFirst: o.NullsFirst},
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

// windowRow is a kept row with its sort values for the specification at work.
type windowRow struct {
	row  types.Row // the child's slots, then the calls' results
	vals types.Row
}

// Run implements Op.
func (o *windowOp) Run(c *Execution, emit Emit) error {
	store := &memory.Arena{Mem: c.Mem}
	defer store.Free()
	var rows []windowRow
	err := o.child.Run(c, func(row types.Row) error {
		r, err := store.Row(o.width + o.calls)
		if err != nil {
			return err
		}
		for i, d := range row {
			if r[i], err = store.Datum(d); err != nil {
				return err
			}
		}
		rows = append(rows, windowRow{row: r})
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range o.specs {
		if err := s.compute(c, store, rows); err != nil {
			return err
		}
	}
	for i := range rows {
		if err := emit(rows[i].row); err != nil {
			return err
		}
	}
	return nil
}

// compute sorts the rows for a specification and evaluates its calls.
func (s *windowSpec) compute(c *Execution, store *memory.Arena, rows []windowRow) error {
	if len(s.calls) == 0 {
		return nil
	}
	for i := range rows {
		vals, err := store.Row(len(s.partition) + len(s.order))
		if err != nil {
			return err
		}
		if err := expr.EvalInto(&c.Ctx, vals, s.partition, rows[i].row); err != nil {
			return err
		}
		if err := expr.EvalInto(&c.Ctx, vals[s.nPart:], s.order, rows[i].row); err != nil {
			return err
		}
		for j, d := range vals { // they may alias the expressions' scratch space
			if vals[j], err = store.Datum(d); err != nil {
				return err
			}
		}
		rows[i].vals = vals
	}
	slices.SortStableFunc(rows, func(a, b windowRow) int { return s.keys.Compare(a.vals, b.vals) })
	part := s.keys[:s.nPart]
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && part.Compare(rows[from].vals, rows[to].vals) == 0 {
			to++
		}
		if err := s.partitionRows(c, store, rows[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// partitionRows evaluates the calls over one partition.
func (s *windowSpec) partitionRows(c *Execution, store *memory.Arena, rows []windowRow) error {
	p := &windowPartition{spec: s, rows: rows, peers: s.peers(rows)}
	f, err := s.frame.begin(c, p)
	if err != nil {
		return err
	}
	for _, call := range s.calls {
		run := call.begin(c, p)
		for i := range rows {
			if err := c.Tick(); err != nil {
				return err
			}
			start, end, err := f.bounds(i)
			if err != nil {
				return err
			}
			d, err := run(i, start, end, f.excluded(i))
			if err != nil {
				return err
			}
			if rows[i].row[call.out], err = store.Datum(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// windowPartition is the rows of one partition in order.
type windowPartition struct {
	spec  *windowSpec
	rows  []windowRow
	peers []int // for each row the number of its group of peers
}

// peers numbers the groups of rows that are equal in ORDER BY.
func (s *windowSpec) peers(rows []windowRow) []int {
	out := make([]int, len(rows))
	order := s.keys[s.nPart:]
	for i := 1; i < len(rows); i++ {
		out[i] = out[i-1]
		if order.Compare(rows[i-1].vals, rows[i].vals) != 0 {
			out[i]++
		}
	}
	return out
}

// peerRange returns the half-open range of row i's peers.
func (p *windowPartition) peerRange(i int) (int, int) {
	return p.groupRange(p.peers[i])
}

// groupRange returns the rows of group n; beyond the ends it is empty.
func (p *windowPartition) groupRange(n int) (int, int) {
	from, _ := slices.BinarySearch(p.peers, n)
	to, _ := slices.BinarySearch(p.peers, n+1)
	return from, to
}

type windowStep func(i, start, end int, excluded func(int) bool) (types.Datum, error)

// begin prepares a call for a partition.
func (w *windowCall) begin(c *Execution, p *windowPartition) windowStep {
	if w.agg != nil {
		return w.aggregate(c, p)
	}
	r := &builtin.WindowRow{Rows: len(p.rows), NArgs: len(w.args)}
	r.Arg = func(row, i int) (types.Datum, error) { return w.args[i](&c.Ctx, p.rows[row].row) }
	return func(i, start, end int, excluded func(int) bool) (types.Datum, error) {
		r.Pos, r.FrameStart, r.FrameEnd, r.Excluded = i, start, max(start, end), excluded
		r.PeerStart, r.PeerEnd = p.peerRange(i)
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
			if err := w.agg.step(c, state, p.rows[to].row); err != nil {
				return types.Null, err
			}
		}
		d, err := w.agg.result(c, state)
		last = d.Clone()
		return d, err
	}
}
