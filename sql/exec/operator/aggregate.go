package operator

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// aggregateOp groups its input in a hash table. Groups are returned in the order of their first
// row.
type aggregateOp struct {
	child   Op
	mode    plan.AggMode
	keys    *keyEncoder
	sets    [][]int // nil: one set with all keys
	numbers bool    // each output row ends with the number of its set
	aggs    []*aggCall
	out     types.Row
	lookup  lookupKind
}

// lookupKind is how a group is found.
type lookupKind uint8

const (
	lookupBytes lookupKind = iota // by the encoded keys
	lookupInt                     // by the N of the only key
	lookupText                    // by the S of the only key
	lookupNone                    // there is one group
)

// group is one group's state.
type group struct {
	keys   types.Row
	set    int
	states []aggState
}

func (k *Compiler) aggregate(n *plan.Aggregate) (Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	o := &aggregateOp{
		child:   child,
		mode:    n.Mode,
		sets:    n.Sets,
		numbers: n.Sets != nil,
		out:     make(types.Row, len(n.Output())),
	}
	keys, oids := n.Keys, query.TypesOf(n.Keys)
	if n.Mode == plan.AggFinal {
		keys = slotsOf(n.Child, len(n.Keys))
	}
	if o.keys, err = k.keyEncoder(keys, oids); err != nil {
		return nil, err
	}
	for i, a := range n.Aggs {
		call, err := k.aggCall(a, n.Mode, len(n.Keys)+i)
		if err != nil {
			return nil, err
		}
		o.aggs = append(o.aggs, call)
	}
	o.lookup = lookupFor(n, oids)
	return o, nil
}

func lookupFor(n *plan.Aggregate, oids []types.OID) lookupKind {
	switch {
	case n.Sets != nil || len(oids) > 1:
		return lookupBytes
	case len(oids) == 0:
		return lookupNone
	case oids[0] == types.BPChar:
		return lookupBytes
	}
	switch types.KindOf(oids[0]) {
	case types.KindInt, types.KindOid, types.KindBool, types.KindDate, types.KindTime, types.KindTimestamp:
		return lookupInt
	case types.KindText, types.KindBytes, types.KindUUID:
		return lookupText
	}
	return lookupBytes
}

// grouping is the hash table of one execution.
type grouping struct {
	o      *aggregateOp
	c      *Execution
	store  memory.Arena
	groups []*group
	bytes  map[string]*group
	ints   map[int64]*group
	null   *group    // of the only key
	masked types.Row // keys of the grouping set at hand
	extra  int64
}

// Run implements Op.
func (o *aggregateOp) Run(c *Execution, emit Emit) error {
	g := &grouping{o: o, c: c, store: memory.Arena{Mem: c.Mem}}
	defer g.free()
	take := g.take
	switch {
	case o.lookup == lookupInt:
		g.ints = map[int64]*group{}
	case o.lookup != lookupNone:
		g.bytes = map[string]*group{}
	}
	if o.sets != nil {
		take = g.takeSets
		if o.mode == plan.AggFinal {
			take = g.takeNumbered
		}
	}
	if err := g.emptySets(); err != nil {
		return err
	}
	if err := o.child.Run(c, take); err != nil {
		return err
	}
	for _, gr := range g.groups {
		if err := o.finish(c, gr); err != nil {
			return err
		}
		if err := emit(o.out); err != nil {
			return err
		}
	}
	return nil
}

// emptySets creates the groups that exist without rows: those of sets without keys.
func (g *grouping) emptySets() error {
	if g.o.lookup == lookupNone {
		_, err := g.newGroup(nil, 0)
		return err
	}
	for i, set := range g.o.sets {
		if len(set) == 0 {
			gr, err := g.newGroup(make(types.Row, len(g.o.keys.evals)), i)
			if err != nil {
				return err
			}
			g.bytes[string(setPrefix(nil, i))] = gr
		}
	}
	return nil
}

func setPrefix(dst []byte, set int) []byte { return append(dst, byte(set), byte(set>>8)) }

func (g *grouping) free() {
	g.store.Mem.Release(g.extra)
	g.store.Free()
}

func (g *grouping) take(row types.Row) error {
	gr, err := g.find(row)
	if err != nil {
		return err
	}
	return g.step(gr, row)
}

func (g *grouping) step(gr *group, row types.Row) error {
	for i, a := range g.o.aggs {
		if err := a.step(g.c, gr.states[i], row); err != nil {
			return err
		}
	}
	return nil
}

// find returns the group of a row.
func (g *grouping) find(row types.Row) (*group, error) {
	switch g.o.lookup {
	case lookupNone:
		return g.groups[0], nil
	case lookupBytes:
		key, _, err := g.o.keys.encode(g.c, row)
		if err != nil {
			return nil, err
		}
		if gr := g.bytes[string(key)]; gr != nil {
			return gr, nil
		}
		return g.add(key, g.o.keys.vals, 0)
	}
	d, err := g.o.keys.evals[0](&g.c.Ctx, row)
	if err != nil {
		return nil, err
	}
	return g.findOne(d)
}

// findOne finds by a single key that is an integer or text.
func (g *grouping) findOne(d types.Datum) (*group, error) {
	var gr *group
	switch {
	case d.K == types.KindNull:
		gr = g.null
	case g.o.lookup == lookupInt:
		gr = g.ints[d.N]
	default:
		gr = g.bytes[d.S]
	}
	if gr != nil {
		return gr, nil
	}
	g.o.keys.vals[0] = d
	gr, err := g.newGroup(g.o.keys.vals, 0)
	if err != nil {
		return nil, err
	}
	switch {
	case d.K == types.KindNull:
		g.null = gr
	case g.o.lookup == lookupInt:
		g.ints[d.N] = gr
	default:
		g.bytes[gr.keys[0].S] = gr
	}
	return gr, nil
}

func (g *grouping) add(key []byte, vals types.Row, set int) (*group, error) {
	gr, err := g.newGroup(vals, set)
	if err != nil {
		return nil, err
	}
	if err := g.grow(int64(len(key))); err != nil {
		return nil, err
	}
	g.bytes[string(key)] = gr
	return gr, nil
}

const groupSize = 128 // of a group's bookkeeping
const stateSize = 64  // of an aggregate's state, roughly

func (g *grouping) newGroup(vals types.Row, set int) (*group, error) {
	if err := g.grow(groupSize + stateSize*int64(len(g.o.aggs))); err != nil {
		return nil, err
	}
	keys, err := g.store.Clone(vals)
	if err != nil {
		return nil, err
	}
	gr := &group{keys: keys, set: set, states: make([]aggState, len(g.o.aggs))}
	for i, a := range g.o.aggs {
		gr.states[i] = a.newState(g.c.Mem)
	}
	g.groups = append(g.groups, gr)
	return gr, nil
}

func (g *grouping) grow(n int64) error {
	if err := g.c.Mem.Grow(n); err != nil {
		return err
	}
	g.extra += n
	return nil
}

// takeSets steps a row into its group of every grouping set.
func (g *grouping) takeSets(row types.Row) error {
	e := g.o.keys
	if err := expr.EvalInto(&g.c.Ctx, e.vals, e.evals, row); err != nil {
		return err
	}
	if g.masked == nil {
		g.masked = make(types.Row, len(e.vals))
	}
	for n, set := range g.o.sets {
		e.buf = setPrefix(e.buf[:0], n)
		clear(g.masked)
		for _, i := range set {
			e.buf = types.AppendKey(e.buf, e.types[i], e.vals[i], false)
			g.masked[i] = e.vals[i]
		}
		if err := g.stepKey(e.buf, g.masked, n, row); err != nil {
			return err
		}
	}
	return nil
}

// takeNumbered merges a partial row, which ends with its set's number.
func (g *grouping) takeNumbered(row types.Row) error {
	e, n := g.o.keys, int(row[len(row)-1].N)
	if n < 0 || n >= len(g.o.sets) {
		return pgerr.New(pgerr.InternalError, "grouping set %d", n)
	}
	copy(e.vals, row)
	e.buf = setPrefix(e.buf[:0], n)
	for _, i := range g.o.sets[n] {
		e.buf = types.AppendKey(e.buf, e.types[i], e.vals[i], false)
	}
	return g.stepKey(e.buf, e.vals, n, row)
}

func (g *grouping) stepKey(key []byte, vals types.Row, set int, row types.Row) error {
	gr := g.bytes[string(key)]
	if gr == nil {
		var err error
		if gr, err = g.add(key, vals, set); err != nil {
			return err
		}
	}
	return g.step(gr, row)
}

// finish computes the output row of a group.
func (o *aggregateOp) finish(c *Execution, gr *group) error {
	n := copy(o.out, gr.keys)
	for i, a := range o.aggs {
		d, err := a.result(c, gr.states[i])
		if err != nil {
			return err
		}
		o.out[n+i] = d
	}
	if o.numbers {
		o.out[len(o.out)-1] = types.NewInt(int64(gr.set))
	}
	return nil
}
