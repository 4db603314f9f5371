package operator

import (
	"unsafe"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// aggregateOp groups its input in a hash table, and returns groups in the order of their first row.
// Groups whose rows are neighbours need no table.
type aggregateOp struct {
	child   Op
	mode    plan.AggMode
	keys    *keyEncoder
	sets    [][]int // nil: one set with all keys
	numbers bool    // each output row ends with the number of its set
	aggs    []*aggCall
	out     types.Row
	lookup  lookupKind
	sorted  bool // the rows of a group are neighbours
	// An aggregate sorts or deduplicates rows before it steps them.
	keepsRows bool
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
		sorted:  n.Sorted,
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
		o.keepsRows = o.keepsRows || call.keepsRows()
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
	case types.KindText, types.KindBytes, types.KindUUID, types.KindEnum:
		return lookupText
	}
	return lookupBytes
}

// grouping is the hash table of one execution. If its share of memory is full, it takes no more
// groups: the rows of further ones go to partitions, which are grouped afterwards.
type grouping struct {
	o      *aggregateOp
	c      *Execution
	mem    memory.Account
	store  memory.Arena
	groups []*group
	bytes  map[string]*group
	ints   map[int64]*group
	null   *group    // of the only key
	masked types.Row // keys of the grouping set at hand
	extra  int64
	rest   *partitions // nil: the table has room
	width  int         // of the rows in rest
	text   []byte      // of the keys of a group whose rows are neighbours
	empty  int64       // extra of such a group before its first row
	kept   []*keptFile // by aggregate, of those whose kept rows have no room; nil: of none
}

// Run implements Op.
func (o *aggregateOp) Run(c *Execution, emit Emit) error {
	g := &grouping{o: o, c: c}
	g.mem.Begin(c.Mem, memory.Hash)
	g.store.Mem = &g.mem
	defer g.free()
	if o.sorted {
		return g.neighbours(emit)
	}
	g.begin()
	if err := g.emptySets(); err != nil {
		return err
	}
	if err := o.child.Run(c, g.taker()); err != nil {
		return err
	}
	return g.finish(emit)
}

// neighbours keeps one group at a time, because the rows of each are neighbours.
func (g *grouping) neighbours(emit Emit) error {
	var last []byte
	err := g.o.child.Run(g.c, func(row types.Row) error {
		key, _, err := g.o.keys.encode(g.c, row)
		if err != nil {
			return err
		}
		if len(g.groups) == 0 || string(key) != string(last) {
			if err := g.endNeighbours(emit); err != nil {
				return err
			}
			if err := g.beginNeighbours(); err != nil {
				return err
			}
			last = append(last[:0], key...)
		}
		return g.step(g.groups[0], row)
	})
	if err != nil {
		return err
	}
	return g.endNeighbours(emit)
}

// beginNeighbours begins a group with the keys that were encoded last. It uses the memory of the
// group before.
func (g *grouping) beginNeighbours() error {
	if len(g.groups) == 0 {
		_, err := g.surely(g.o.keys.vals, 0)
		g.empty = g.extra
		return err
	}
	gr := g.groups[0]
	g.text = g.text[:0]
	for i, d := range g.o.keys.vals {
		if d.S != "" {
			from := len(g.text)
			g.text = append(g.text, d.S...)
			d.S = unsafe.String(&g.text[from], len(d.S))
		}
		gr.keys[i] = d
	}
	for i, a := range g.o.aggs {
		gr.states[i] = a.newState(&g.mem)
	}
	return nil
}

// endNeighbours emits the group that there is.
func (g *grouping) endNeighbours(emit Emit) error {
	if len(g.groups) == 0 {
		return nil
	}
	if g.o.keepsRows {
		if err := g.finish(emit); err != nil {
			return err
		}
		g.free()
		return nil
	}
	err := g.result(g.groups[0])
	g.mem.Release(g.extra - g.empty)
	g.extra = g.empty
	if err != nil {
		return err
	}
	return emit(g.o.out)
}

// begin makes the table, which is empty.
func (g *grouping) begin() {
	switch {
	case g.o.lookup == lookupInt:
		g.ints = map[int64]*group{}
	case g.o.lookup != lookupNone:
		g.bytes = map[string]*group{}
	}
}

// taker returns what takes the rows of the input.
func (g *grouping) taker() Emit {
	switch {
	case g.o.sets == nil:
		return g.take
	case g.o.mode == plan.AggFinal:
		return g.takeNumbered
	}
	return g.takeSets
}

// finish emits the groups of the table, and then those of the rest, one partition at a time.
func (g *grouping) finish(emit Emit) error {
	for _, gr := range g.groups {
		if err := g.c.Tick(); err != nil {
			return err
		}
		before := g.extra
		if err := g.result(gr); err != nil {
			return err
		}
		if err := emit(g.o.out); err != nil {
			return err
		}
		gr.states = nil
		g.mem.Release(g.extra - before)
		g.extra = before
	}
	rest := g.rest
	if rest == nil {
		return nil
	}
	defer rest.close()
	g.rest = nil
	if err := rest.end(); err != nil {
		return err
	}
	take := g.taker()
	for _, run := range rest.runs {
		if run == nil {
			continue
		}
		g.free()
		g.begin()
		err := rest.read(run, g.width, func(set int, row types.Row) error {
			if g.o.sets != nil && g.o.mode != plan.AggFinal {
				return g.takeSet(row, set)
			}
			return take(row)
		})
		if err != nil {
			return err
		}
		if err := g.finish(emit); err != nil {
			return err
		}
	}
	return nil
}

// spill puts a row whose group is not in the table into the partition of its key.
func (g *grouping) spill(key []byte, set int, row types.Row) error {
	g.width = len(row)
	return g.rest.add(g.rest.number(key), set, row)
}

// emptySets creates the groups that exist without rows: those of sets without keys.
func (g *grouping) emptySets() error {
	if g.o.lookup == lookupNone {
		_, err := g.surely(nil, 0)
		return err
	}
	for i, set := range g.o.sets {
		if len(set) == 0 {
			gr, err := g.surely(make(types.Row, len(g.o.keys.evals)), i)
			if err != nil {
				return err
			}
			g.bytes[string(setPrefix(nil, i))] = gr
		}
	}
	return nil
}

func setPrefix(dst []byte, set int) []byte { return append(dst, byte(set), byte(set>>8)) }

// free forgets the groups.
func (g *grouping) free() {
	g.rest.close()
	for _, f := range g.kept {
		if f != nil {
			f.free()
		}
	}
	if g.o.keepsRows {
		for _, gr := range g.groups {
			for _, s := range gr.states {
				if s.kept != nil {
					s.kept.free()
				}
			}
		}
	}
	g.rest, g.kept = nil, nil
	g.mem.Release(g.extra)
	g.store.Free()
	g.groups, g.bytes, g.ints, g.null, g.extra = nil, nil, nil, nil, 0
}

func (g *grouping) take(row types.Row) error {
	gr, err := g.find(row)
	if err != nil || gr == nil {
		return err
	}
	return g.step(gr, row)
}

func (g *grouping) step(gr *group, row types.Row) error {
	for i, a := range g.o.aggs {
		s := gr.states[i]
		err := a.step(g.c, s, row)
		if memory.IsFull(err) && s.kept != nil && s.kept.outside == nil {
			if err = g.keepOutside(); err == nil {
				err = a.step(g.c, s, row)
			}
		}
		if err == nil && a.added > 0 {
			err = g.added(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// added counts what the state of an aggregate has kept.
func (g *grouping) added(a *aggCall) error {
	n := a.added
	a.added = 0
	return g.mem.Exceed(func() error { return g.grow(n) })
}

// find returns the group of a row, or nil if the row has been spilled.
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
		return g.add(key, g.o.keys.vals, 0, row)
	}
	d, err := g.o.keys.evals[0](&g.c.Ctx, row)
	if err != nil {
		return nil, err
	}
	return g.findOne(d, row)
}

// findOne finds by a single key that is an integer or text.
func (g *grouping) findOne(d types.Datum, row types.Row) (*group, error) {
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
	e := g.o.keys
	e.vals[0] = d
	gr, err := g.newGroup(e.vals, 0)
	if err != nil {
		return nil, err
	}
	switch {
	case gr == nil:
		e.buf = types.AppendKey(e.buf[:0], e.types[0], d, false)
		return nil, g.spill(e.buf, 0, row)
	case d.K == types.KindNull:
		g.null = gr
	case g.o.lookup == lookupInt:
		g.ints[d.N] = gr
	default:
		g.bytes[gr.keys[0].S] = gr
	}
	return gr, nil
}

// add returns a new group, or nil if the row has been spilled.
func (g *grouping) add(key []byte, vals types.Row, set int, row types.Row) (*group, error) {
	gr, err := g.newGroup(vals, set)
	if err != nil {
		return nil, err
	}
	if gr == nil {
		return nil, g.spill(key, set, row)
	}
	n := int64(len(key))
	g.mem.Force(n)
	g.extra += n
	g.bytes[string(key)] = gr
	return gr, nil
}

const groupSize = 128 // of a group's bookkeeping
const stateSize = 64  // of an aggregate's state, roughly

// newGroup returns a group, or nil if there is no room for it.
func (g *grouping) newGroup(vals types.Row, set int) (*group, error) {
	if g.rest != nil {
		return nil, nil
	}
	gr, err := g.tryGroup(vals, set)
	switch {
	case !memory.IsFull(err):
		return gr, err
	case len(g.groups) == 0:
		return g.surely(vals, set)
	}
	g.rest = newPartitions(g.c, &g.mem)
	return nil, nil
}

// surely returns a group even if the share is full.
func (g *grouping) surely(vals types.Row, set int) (gr *group, err error) {
	err = g.mem.Exceed(func() error {
		gr, err = g.tryGroup(vals, set)
		return err
	})
	return gr, err
}

func (g *grouping) tryGroup(vals types.Row, set int) (*group, error) {
	if err := g.grow(groupSize + stateSize*int64(len(g.o.aggs))); err != nil {
		return nil, err
	}
	keys, err := g.store.Clone(vals)
	if err != nil {
		return nil, err
	}
	gr := &group{keys: keys, set: set, states: make([]aggState, len(g.o.aggs))}
	for i, a := range g.o.aggs {
		gr.states[i] = a.newState(&g.mem)
		if k := gr.states[i].kept; k != nil {
			k.group = len(g.groups)
			if g.kept != nil {
				k.outside = g.kept[i]
			}
		}
	}
	g.groups = append(g.groups, gr)
	return gr, nil
}

// keepOutside moves the kept rows of all groups to files, because they have no room.
func (g *grouping) keepOutside() error {
	g.kept = make([]*keptFile, len(g.o.aggs))
	for i, a := range g.o.aggs {
		if !a.keepsRows() {
			continue
		}
		g.kept[i] = newKeptFile(g.c, a)
		for _, gr := range g.groups {
			if err := g.c.Tick(); err != nil {
				return err
			}
			if err := g.kept[i].take(gr.states[i].kept); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *grouping) grow(n int64) error {
	if err := g.mem.Grow(n); err != nil {
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
	for n := range g.o.sets {
		if err := g.stepSet(row, n); err != nil {
			return err
		}
	}
	return nil
}

// takeSet steps a row into its group of one grouping set.
func (g *grouping) takeSet(row types.Row, n int) error {
	e := g.o.keys
	if err := expr.EvalInto(&g.c.Ctx, e.vals, e.evals, row); err != nil {
		return err
	}
	return g.stepSet(row, n)
}

// stepSet steps a row, whose keys are evaluated, into its group of a grouping set.
func (g *grouping) stepSet(row types.Row, n int) error {
	e := g.o.keys
	if g.masked == nil {
		g.masked = make(types.Row, len(e.vals))
	}
	e.buf = setPrefix(e.buf[:0], n)
	clear(g.masked)
	for _, i := range g.o.sets[n] {
		e.buf = types.AppendKey(e.buf, e.types[i], e.vals[i], false)
		g.masked[i] = e.vals[i]
	}
	return g.stepKey(e.buf, g.masked, n, row)
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
		if gr, err = g.add(key, vals, set, row); err != nil || gr == nil {
			return err
		}
	}
	return g.step(gr, row)
}

// result computes the output row of a group.
func (g *grouping) result(gr *group) error {
	o := g.o
	n := copy(o.out, gr.keys)
	for i, a := range o.aggs {
		d, err := a.result(g.c, gr.states[i])
		if err == nil && a.added > 0 {
			err = g.added(a)
		}
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
