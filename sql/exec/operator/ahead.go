package operator

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// Ahead keeps the rows that a step returns for sets of outer values. A Batch has them read, many
// sets at once, before the step runs for each. They are kept while there is room, because later
// rows often have the same values, and all reads of an execution are of one snapshot.
type Ahead struct {
	params []int
	read   ReadAhead

	run     uint64
	mem     memory.Account
	store   memory.Arena
	counted int64            // bytes in mem besides those of store
	numbers map[string]int32 // of the sets, by their encoded values
	large   map[string]bool  // sets whose rows do not fit into memory: they are not read ahead
	wanted  []string         // sets that are to be read; they have the last numbers
	chains  []aheadChain     // by number
	rows    []types.Row
	next    []int32 // by row: the next one of the same set, -1: none
	key     []byte
}

// ReadAhead reads the rows of some sets of values, which are encoded by AppendSet, and calls keep
// with the position of a row's set.
type ReadAhead func(c *Execution, sets []string, keep func(set int, row types.Row) error) error

// aheadChain is the first and the last row of a set, -1: none.
type aheadChain struct{ first, last int32 }

const (
	aheadSetBytes = memory.MapEntrySize + 8
	aheadRowBytes = memory.RowSize + 4
)

// Ahead returns what is read ahead for the Gather with a number.
func (k *Compiler) Ahead(n int) *Ahead {
	if k.aheads == nil {
		k.aheads = map[int]*Ahead{}
	}
	if k.aheads[n] == nil {
		k.aheads[n] = &Ahead{}
	}
	return k.aheads[n]
}

// FillAhead has the Gather with a number read ahead by a function; params are the outer parameters
// that it reads.
func (k *Compiler) FillAhead(n int, params []int, read ReadAhead) *Ahead {
	a := k.Ahead(n)
	if a.read == nil {
		a.params, a.read = params, read
		k.Own(a)
		k.AtEnd(a.drop)
	}
	return a
}

// AppendSet appends the values of the outer parameters as they are now.
func AppendSet(dst []byte, c *Execution, params []int) []byte {
	for _, p := range params {
		dst = types.AppendDatum(dst, c.Outer(p))
	}
	return dst
}

// SetOuters sets the outer parameters to the values that b begins with, and returns the rest of b.
func SetOuters(c *Execution, params []int, b []byte) ([]byte, error) {
	for _, p := range params {
		d, rest, err := types.DecodeDatum(b)
		if err != nil {
			return nil, err
		}
		c.SetOuter(p, d)
		b = rest
	}
	return b, nil
}

// Find returns the number of the set of the present outer values; ok is false if it was not read.
func (a *Ahead) Find(c *Execution) (set int32, ok bool) {
	if a.run != c.Run {
		return 0, false
	}
	a.key = AppendSet(a.key[:0], c, a.params)
	set, ok = a.numbers[string(a.key)]
	return set, ok
}

// Emit emits the rows of a set.
func (a *Ahead) Emit(c *Execution, set int32, emit Emit) error {
	for i := a.chains[set].first; i >= 0; i = a.next[i] {
		if err := c.Tick(); err != nil {
			return err
		}
		if err := emit(a.rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// want notes the set of the present outer values. The error is 53200 (memory.IsFull) if there is no
// room.
func (a *Ahead) want(c *Execution) error {
	if a.run != c.Run {
		a.run, a.numbers, a.large = c.Run, map[string]int32{}, map[string]bool{}
		a.mem.Begin(c.Mem, memory.Work)
		a.store.Mem = &a.mem
	}
	if _, known := a.Find(c); known || a.large[string(a.key)] {
		return nil
	}
	if err := a.count(2*int64(len(a.key)) + aheadSetBytes); err != nil {
		return err
	}
	key := strings.Clone(string(a.key))
	a.numbers[key] = int32(len(a.chains))
	a.wanted, a.chains = append(a.wanted, key), append(a.chains, aheadChain{-1, -1})
	return nil
}

func (a *Ahead) count(n int64) error {
	err := a.mem.Grow(n)
	if err == nil {
		a.counted += n
	}
	return err
}

// fetch reads the sets that were noted. After an error nothing is kept.
func (a *Ahead) fetch(c *Execution) error {
	if len(a.wanted) == 0 {
		return nil
	}
	before := len(a.chains) - len(a.wanted)
	saved := make(types.Row, len(a.params))
	for i, p := range a.params {
		saved[i] = c.Outer(p)
	}
	err := a.read(c, a.wanted, func(set int, row types.Row) error { return a.keep(before+set, row) })
	for i, p := range a.params {
		c.SetOuter(p, saved[i])
	}
	if memory.IsFull(err) && len(a.wanted) == 1 {
		a.large[a.wanted[0]] = true
		a.drop()
		return nil
	}
	a.wanted = a.wanted[:0]
	return err
}

func (a *Ahead) keep(set int, row types.Row) error {
	if err := a.count(aheadRowBytes); err != nil {
		return err
	}
	kept, err := a.store.Clone(row)
	if err != nil {
		return err
	}
	at, chain := int32(len(a.rows)), &a.chains[set]
	a.rows, a.next = append(a.rows, kept), append(a.next, -1)
	if chain.first < 0 {
		chain.first = at
	} else {
		a.next[chain.last] = at
	}
	chain.last = at
	return nil
}

// drop forgets all sets and returns their memory.
func (a *Ahead) drop() {
	a.store.Free()
	a.mem.Release(a.counted)
	clear(a.numbers)
	clear(a.rows)
	a.wanted, a.chains, a.rows, a.next, a.counted = a.wanted[:0], a.chains[:0], a.rows[:0], a.next[:0], 0
}

// batchOp passes on rows in batches, and has Gathers read ahead for each batch.
type batchOp struct {
	child Op
	reads []batchRead
	most  int // rows of a batch, by the room that there is
}

type batchRead struct {
	into  *Ahead
	binds []bindEval
	need  expr.Eval // nil: every row needs it
}

func (k *Compiler) batch(n *plan.Batch) (Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	o := &batchOp{child: child}
	for _, r := range n.Reads {
		read := batchRead{into: k.Ahead(r.Gather)}
		if read.binds, err = k.binds(r.Binds); err != nil {
			return nil, err
		}
		if read.need, err = k.Optional(r.Need); err != nil {
			return nil, err
		}
		o.reads = append(o.reads, read)
	}
	return o, nil
}

// Run implements Op.
func (o *batchOp) Run(c *Execution, emit Emit) error {
	b := &lookupBatch{store: memory.Arena{Mem: c.Mem}}
	defer b.free()
	size := firstLookupBatch
	o.most = lastLookupBatch
	pass := func() error {
		err := o.pass(c, b.rows, emit)
		b.free()
		return err
	}
	err := o.child.Run(c, func(row types.Row) error {
		kept, err := b.store.Clone(row)
		if err != nil {
			return err
		}
		if b.rows = append(b.rows, kept); len(b.rows) < size {
			return nil
		}
		err = pass()
		size = min(size*lookupBatchStep, o.most)
		return err
	})
	if err != nil {
		return err
	}
	return pass()
}

// pass passes on the rows of a batch. If there is not enough room for what is read ahead, it reads
// ahead for each half of the rows by itself.
func (o *batchOp) pass(c *Execution, rows []types.Row, emit Emit) error {
	if len(rows) > 1 {
		err := o.readAhead(c, rows)
		if memory.IsFull(err) {
			half := len(rows) / 2
			o.most = min(o.most, half)
			if err := o.pass(c, rows[:half], emit); err != nil {
				return err
			}
			return o.pass(c, rows[half:], emit)
		}
		if err != nil {
			return err
		}
	}
	for _, row := range rows {
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}

// readAhead reads what rows need. What fails because of a row's values is not there then, and
// fails again if the row comes to be evaluated, which PostgreSQL may not do.
func (o *batchOp) readAhead(c *Execution, rows []types.Row) error {
	for _, r := range o.reads {
		earlier := len(r.into.chains) > 0
		err := r.readAhead(c, rows)
		if earlier && memory.IsFull(err) {
			err = r.readAhead(c, rows) // the sets of earlier batches are dropped now
		}
		if err != nil && (memory.IsFull(err) || !byValues(err)) {
			return err
		}
	}
	return nil
}

func (r *batchRead) readAhead(c *Execution, rows []types.Row) error {
	err := r.wantAll(c, rows)
	if err == nil {
		err = r.into.fetch(c)
	}
	if err != nil {
		r.into.drop()
	}
	return err
}

func (r *batchRead) wantAll(c *Execution, rows []types.Row) error {
	for _, row := range rows {
		if err := c.Tick(); err != nil {
			return err
		}
		err := r.want(c, row)
		if err != nil && (memory.IsFull(err) || !byValues(err)) {
			return err
		}
	}
	return nil
}

func (r *batchRead) want(c *Execution, row types.Row) error {
	if ok, err := r.need.Holds(&c.Ctx, row); err != nil || !ok {
		return err
	}
	if err := bind(c, r.binds, row); err != nil {
		return err
	}
	return r.into.want(c)
}

// byValues reports whether an error is one of the values that were evaluated, not of the
// transaction, the connection or the system.
func byValues(err error) bool {
	switch pgerr.Code(err)[:2] {
	case "08", "25", "40", "53", "57", "58", "XX":
		return false
	}
	return true
}
