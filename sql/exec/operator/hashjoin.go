package operator

import (
	"slices"

	"github.com/sherddb/sherd/sql/exec/keyfilter"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// hashJoinOp builds a table of the right side and probes it with the left. If the right side exceeds
// the operation's share of memory, both sides are divided by their keys, in files, and joined
// partition by partition.
type hashJoinOp struct {
	joiner
	left, right         Op
	leftKeys, rightKeys *keyEncoder
	strict              []bool // by key: null equals nothing
	ints                bool   // there is one key, an integer or what is stored as one
	filter              *keyFilter
}

func (k *Compiler) hashJoin(n *plan.HashJoin) (Op, error) {
	o := &hashJoinOp{}
	var err error
	if o.left, err = k.Node(n.Left); err != nil {
		return nil, err
	}
	if o.right, err = k.Node(n.Right); err != nil {
		return nil, err
	}
	if o.joiner, err = k.joiner(n.Kind, n.Left, n.Right, n.On); err != nil {
		return nil, err
	}
	if o.leftKeys, err = k.keyEncoder(n.LeftKeys, n.KeyTypes); err != nil {
		return nil, err
	}
	if o.rightKeys, err = k.keyEncoder(n.RightKeys, n.KeyTypes); err != nil {
		return nil, err
	}
	o.strict = make([]bool, len(n.KeyTypes))
	for i := range o.strict {
		o.strict[i] = i >= len(n.NullsEqual) || !n.NullsEqual[i]
	}
	o.ints = len(n.KeyTypes) == 1 && o.strict[0] && storedAsInt(n.LeftKeys[0].Type()) &&
		types.KindOf(n.LeftKeys[0].Type()) == types.KindOf(n.RightKeys[0].Type())
	o.filter, err = k.keyFilter(n)
	return o, err
}

// storedAsInt reports whether the values of a type are equal if and only if their integers are.
func storedAsInt(t types.OID) bool {
	switch types.KindOf(t) {
	case types.KindInt, types.KindOid, types.KindBool, types.KindDate, types.KindTime, types.KindTimestamp:
		return true
	}
	return false
}

// joinKey is the key of a row: its integer, or its bytes, which are valid until the next key.
type joinKey struct {
	n     int64
	bytes []byte
}

// key evaluates the key of a row.
func (o *hashJoinOp) key(e *keyEncoder, row types.Row) (k joinKey, null bool, err error) {
	if !o.ints {
		k.bytes, null, err = e.encode(o.c, row)
		return k, null, err
	}
	d, err := e.evals[0](&o.c.Ctx, row)
	e.vals[0] = d
	return joinKey{n: d.N}, d.K == types.KindNull, err
}

// encoded returns the bytes of the last key.
func (o *hashJoinOp) encoded(e *keyEncoder, k joinKey) []byte {
	if o.ints {
		e.buf = types.AppendKey(e.buf[:0], e.types[0], e.vals[0], false)
		return e.buf
	}
	return k.bytes
}

// matchable reports whether the encoder's last key, which contains a null, can match.
func (o *hashJoinOp) matchable(e *keyEncoder) bool {
	for i, d := range e.vals {
		if d.K == types.KindNull && o.strict[i] {
			return false
		}
	}
	return true
}

// joinTable is the built side: rows chained by key in their order.
type joinTable struct {
	store memory.Arena
	rows  []types.Row
	next  []int32
	chain map[string]joinChain
	ints  map[int64]joinChain // instead of chain
	met   []bool
	extra int64 // bytes besides those of the rows
}

type joinChain struct{ first, last int32 }

// chainedRow is the bytes of a row in the lists of a table.
const chainedRow = memory.RowSize + 4 + 1

// find returns the rows of a key.
func (t *joinTable) find(key joinKey) (ch joinChain, ok bool) {
	if t.ints != nil {
		ch, ok = t.ints[key.n]
	} else {
		ch, ok = t.chain[string(key.bytes)]
	}
	return ch, ok
}

func (t *joinTable) link(key joinKey, ch joinChain) {
	if t.ints != nil {
		t.ints[key.n] = ch
	} else {
		t.chain[string(key.bytes)] = ch
	}
}

// add keeps a copy of a row; linked rows can be found by their key.
func (t *joinTable) add(row types.Row, key joinKey, linked bool) error {
	ch, known := t.find(key)
	if linked && !known {
		if err := t.grow(int64(len(key.bytes)) + memory.MapEntrySize); err != nil {
			return err
		}
	}
	at := int32(len(t.rows))
	if len(t.rows) == cap(t.rows) {
		more := max(len(t.rows), 4)
		if err := t.grow(int64(more) * chainedRow); err != nil {
			return err
		}
		t.rows, t.next = slices.Grow(t.rows, more), slices.Grow(t.next, more)
	}
	kept, err := t.store.Clone(row)
	if err != nil {
		return err
	}
	t.rows, t.next = append(t.rows, kept), append(t.next, -1)
	switch {
	case !linked:
	case known:
		t.next[ch.last] = at
		t.link(key, joinChain{ch.first, at})
	default:
		t.link(key, joinChain{at, at})
	}
	return nil
}

func (t *joinTable) grow(n int64) error {
	if err := t.store.Mem.Grow(n); err != nil {
		return err
	}
	t.extra += n
	return nil
}

// free forgets the rows.
func (t *joinTable) free() {
	t.store.Mem.Release(t.extra)
	t.store.Free()
	*t = joinTable{store: t.store}
}

// begin makes the table, which is empty.
func (t *joinTable) begin(ints bool) {
	if ints {
		t.ints = map[int64]joinChain{}
	} else {
		t.chain = map[string]joinChain{}
	}
}

// hashJoin is one execution.
type hashJoin struct {
	*hashJoinOp
	mem   memory.Account
	table joinTable
	rest  *restOfSides // nil: the table has room
	whole bool         // without enough room it stops, and is full, instead of dividing the sides
	full  bool
}

// Run implements Op.
func (o *hashJoinOp) Run(c *Execution, emit Emit) error {
	o.c, o.emit = c, emit
	j := o.begin(c)
	defer j.free()
	if err := o.right.Run(c, j.takeRight); err != nil {
		return err
	}
	if j.rest == nil && j.decided() {
		return nil
	}
	if err := j.setFilter(); err != nil {
		return err
	}
	j.table.met = make([]bool, len(j.table.rows))
	if err := o.left.Run(c, j.takeLeft); err != nil {
		return err
	}
	return j.finish()
}

// begin returns a join without rows.
func (o *hashJoinOp) begin(c *Execution) *hashJoin {
	j := &hashJoin{hashJoinOp: o}
	j.mem.Begin(c.Mem, memory.Hash)
	j.table.store.Mem = &j.mem
	j.table.begin(o.ints)
	return j
}

// decided reports whether there are no rows to join, whatever is on the left.
func (j *hashJoin) decided() bool {
	return len(j.table.rows) == 0 && !j.keepsLeft()
}

// takeRight takes a row of the right side.
func (j *hashJoin) takeRight(row types.Row) error {
	key, null, err := j.key(j.rightKeys, row)
	if err != nil {
		return err
	}
	linked := !null || j.matchable(j.rightKeys)
	if !linked && !j.keepsRight() {
		return nil
	}
	if j.rest == nil {
		err := j.table.add(row, key, linked)
		switch {
		case !memory.IsFull(err):
			return err
		case len(j.table.rows) == 0:
			return j.mem.Exceed(func() error { return j.table.add(row, key, linked) })
		case j.whole:
			j.full = true
			return ErrStop
		}
		if err := j.divide(); err != nil {
			return err
		}
		if key, _, err = j.key(j.rightKeys, row); err != nil {
			return err
		}
	}
	return j.rest.right.add(j.rest.right.number(j.encoded(j.rightKeys, key)), 0, row)
}

// divide moves the rows of the table to partitions.
func (j *hashJoin) divide() error {
	j.rest = &restOfSides{newPartitions(j.c, &j.mem), newPartitions(j.c, &j.mem)}
	right := j.rest.right
	for _, row := range j.table.rows {
		if err := j.c.Tick(); err != nil {
			return err
		}
		key, _, err := j.rightKeys.encode(j.c, row)
		if err != nil {
			return err
		}
		if err := right.add(right.number(key), 0, row); err != nil {
			return err
		}
	}
	j.table.free()
	return nil
}

// takeLeft takes a row of the left side, after all of the right one.
func (j *hashJoin) takeLeft(row types.Row) error {
	if err := j.c.Tick(); err != nil {
		return err
	}
	key, null, err := j.key(j.leftKeys, row)
	if err != nil {
		return err
	}
	j.setLeft(row)
	matchable := !null || j.matchable(j.leftKeys)
	if j.rest != nil && matchable {
		if n := j.rest.right.number(j.encoded(j.leftKeys, key)); j.rest.right.runs[n] != nil {
			return j.rest.left.add(n, 0, row)
		}
	}
	matched := false
	if matchable {
		if matched, err = j.probe(key); err != nil {
			return err
		}
	}
	return j.endLeft(matched)
}

// probe offers the rows of a key to the left row.
func (j *hashJoin) probe(key joinKey) (matched bool, err error) {
	t := &j.table
	ch, ok := t.find(key)
	if !ok {
		return false, nil
	}
	for at := ch.first; at >= 0; at = t.next[at] {
		if j.once() && t.met[at] {
			continue
		}
		ok, err := j.match(t.rows[at])
		if err != nil {
			return false, err
		}
		if ok {
			matched, t.met[at] = true, true
			if j.enough() {
				return true, nil
			}
		}
	}
	return matched, nil
}

// finish ends the join of the table and the left rows, and joins the rest, one pair of partitions at
// a time.
func (j *hashJoin) finish() error {
	rest := j.rest
	if rest == nil {
		return j.unmatched(j.table.rows, j.table.met)
	}
	defer rest.close()
	j.rest = nil
	total := int64(0)
	for _, p := range []*partitions{rest.right, rest.left} {
		if err := p.end(); err != nil {
			return err
		}
	}
	for _, run := range rest.right.runs {
		if run != nil {
			total += run.Size()
		}
	}
	for i, right := range rest.right.runs {
		left := rest.left.runs[i]
		if right == nil || left == nil && !j.keepsRight() {
			continue
		}
		j.table.free()
		j.table.begin(j.ints)
		join := j.pair
		if right.Size() > total/2 {
			join = j.chunks // most rows have the same key: dividing them does not help
		}
		if err := join(rest, right, left); err != nil {
			return err
		}
	}
	return nil
}

// pair joins a pair of partitions as Run does the whole inputs.
func (j *hashJoin) pair(from *restOfSides, right, left *spool.Run) error {
	err := from.right.read(right, j.nr, func(_ int, row types.Row) error { return j.takeRight(row) })
	if err != nil {
		return err
	}
	j.table.met = make([]bool, len(j.table.rows))
	err = from.left.read(left, j.nl, func(_ int, row types.Row) error { return j.takeLeft(row) })
	if err != nil {
		return err
	}
	return j.finish()
}

// chunks joins a pair of partitions in which a key may have more rows than there is room for: it
// reads the left one for each part of the right one that fits.
func (j *hashJoin) chunks(from *restOfSides, right, left *spool.Run) error {
	var matched bitmap
	if left != nil {
		matched = make(bitmap, left.Len()/64+1)
		size := int64(len(matched)) * 8
		j.mem.Force(size)
		defer j.mem.Release(size)
	}
	err := from.right.read(right, j.nr, func(_ int, row types.Row) error {
		err := j.addChunk(row)
		if !memory.IsFull(err) {
			return err
		}
		if len(j.table.rows) > 0 {
			if err := j.probeChunk(from, left, matched); err != nil {
				return err
			}
		}
		return j.mem.Exceed(func() error { return j.addChunk(row) })
	})
	if err != nil {
		return err
	}
	if err := j.probeChunk(from, left, matched); err != nil {
		return err
	}
	if !j.keepsLeft() && j.kind != query.Semi {
		return nil
	}
	n := int64(-1)
	return from.left.read(left, j.nl, func(_ int, row types.Row) error {
		n++
		j.setLeft(row)
		return j.endLeft(matched.has(n))
	})
}

func (j *hashJoin) addChunk(row types.Row) error {
	key, null, err := j.key(j.rightKeys, row)
	if err != nil {
		return err
	}
	return j.table.add(row, key, !null || j.matchable(j.rightKeys))
}

// probeChunk probes the table with all left rows, and empties it.
func (j *hashJoin) probeChunk(from *restOfSides, left *spool.Run, matched bitmap) error {
	j.table.met = make([]bool, len(j.table.rows))
	n := int64(-1)
	err := from.left.read(left, j.nl, func(_ int, row types.Row) error {
		if n++; j.enough() && matched.has(n) {
			return nil
		}
		key, _, err := j.key(j.leftKeys, row) // no null: it would not be in the partition
		if err != nil {
			return err
		}
		j.setLeft(row)
		ok, err := j.probe(key)
		if ok {
			matched.add(n)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := j.unmatched(j.table.rows, j.table.met); err != nil {
		return err
	}
	j.table.free()
	j.table.begin(j.ints)
	return nil
}

func (j *hashJoin) free() {
	j.rest.close()
	j.rest = nil
	j.table.free()
}

// keyFilter makes the runtime filter of a hash join: of the keys of its right rows.
type keyFilter struct {
	param int
	keys  *keyEncoder // of the right row
}

// keyFilter compiles the runtime filter that a join makes; nil is none.
func (k *Compiler) keyFilter(n *plan.HashJoin) (*keyFilter, error) {
	if n.KeyFilter == nil {
		return nil, nil
	}
	f := &keyFilter{param: n.KeyFilter.Param}
	var keys []query.Expr
	for _, at := range n.KeyFilter.Keys {
		keys = append(keys, n.RightKeys[at])
	}
	var err error
	f.keys, err = k.keyEncoder(keys, n.KeyFilter.Types)
	return f, err
}

// setFilter sets the join's runtime filter, after the right rows and before the left ones. It has
// all keys if there is not enough room for it.
func (j *hashJoin) setFilter() error {
	if j.filter == nil {
		return nil
	}
	d, err := j.filterOfKeys()
	if err == nil {
		err = j.table.grow(int64(len(d.S)))
	}
	if memory.IsFull(err) {
		d, err = types.Null, nil
	}
	if err != nil {
		return err
	}
	j.c.SetOuter(j.filter.param, d)
	return nil
}

// filterOfKeys returns the runtime filter, null if there are too many keys.
func (j *hashJoin) filterOfKeys() (types.Datum, error) {
	if j.rest != nil {
		return types.Null, nil
	}
	set := keyfilter.Set{Mem: &j.mem}
	defer set.Free()
	for _, row := range j.table.rows {
		if set.Full() {
			return types.Null, nil
		}
		key, null, err := j.filter.keys.encode(j.c, row)
		if err != nil {
			return types.Null, err
		}
		if null { // it equals nothing
			continue
		}
		if err := set.Add(key); err != nil {
			return types.Null, err
		}
	}
	return set.Filter()
}

// bitmap is a set of numbers.
type bitmap []uint64

func (b bitmap) has(n int64) bool { return b[n/64]&(1<<(n%64)) != 0 }
func (b bitmap) add(n int64)      { b[n/64] |= 1 << (n % 64) }
