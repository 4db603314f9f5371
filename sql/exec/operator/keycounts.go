package operator

import (
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// keyCounts computes INTERSECT and EXCEPT: how often each key occurs on the right, and what that
// makes of the rows on the left. The rows of keys that it has no room for go to partitions of both
// sides, which are processed afterwards.
type keyCounts struct {
	o      *setOp
	c      *Execution
	emit   Emit
	mem    memory.Account
	counts map[string]*keyCount
	taken  int64
	buf    []byte
	rest   *restOfSides // nil: there is room
}

// keyCount is the state of one key.
type keyCount struct {
	right   int64 // rows on the right, minus those that rows on the left have met
	emitted bool
}

// restOfSides are the partitions of both sides, divided by one hash.
type restOfSides struct{ left, right *partitions }

func newKeyCounts(c *Execution, o *setOp, emit Emit) *keyCounts {
	k := &keyCounts{o: o, c: c, emit: emit, counts: map[string]*keyCount{}}
	k.mem.Begin(c.Mem, memory.Hash)
	return k
}

// takeRight takes a row of the right side.
func (k *keyCounts) takeRight(row types.Row) error {
	n, err := k.find(row, true)
	if err != nil {
		return err
	}
	if n == nil {
		return k.rest.right.add(k.rest.right.number(k.buf), 0, row)
	}
	n.right++
	return nil
}

// takeLeft takes a row of the left side, after all of the right one.
func (k *keyCounts) takeLeft(row types.Row) error {
	intersect := k.o.kind == query.Intersect
	n, err := k.find(row, !intersect && !k.o.all)
	if err != nil {
		return err
	}
	if n == nil {
		if k.rest != nil {
			return k.rest.left.add(k.rest.right.number(k.buf), 0, row)
		}
		if intersect {
			return nil
		}
		return k.emit(row) // EXCEPT ALL
	}
	if k.o.all {
		if n.right > 0 {
			if n.right--; intersect {
				return k.emit(row)
			}
			return nil
		}
		if intersect {
			return nil
		}
		return k.emit(row)
	}
	if n.emitted || (n.right > 0) != intersect {
		return nil
	}
	n.emitted = true
	return k.emit(row)
}

// find returns the state of the row's key, nil if there is none. With create it makes one if there
// is room, and otherwise has the rest take the key.
func (k *keyCounts) find(row types.Row, create bool) (*keyCount, error) {
	k.buf = appendRowKey(k.buf[:0], row, nil, k.o.types)
	n := k.counts[string(k.buf)]
	if n != nil || !create || k.rest != nil {
		return n, nil
	}
	size := int64(len(k.buf)) + memory.MapEntrySize
	err := k.mem.Grow(size)
	if memory.IsFull(err) && len(k.counts) > 0 {
		k.rest = &restOfSides{newPartitions(k.c, &k.mem), newPartitions(k.c, &k.mem)}
		return nil, nil
	}
	if memory.IsFull(err) {
		err = k.mem.Exceed(func() error { return k.mem.Grow(size) })
	}
	if err != nil {
		return nil, err
	}
	k.taken += size
	n = &keyCount{}
	k.counts[string(k.buf)] = n
	return n, nil
}

// finish processes the rest, one pair of partitions at a time.
func (k *keyCounts) finish() error {
	rest := k.rest
	if rest == nil {
		return nil
	}
	defer rest.close()
	k.rest = nil
	for _, p := range []*partitions{rest.right, rest.left} {
		if err := p.end(); err != nil {
			return err
		}
	}
	width := len(k.o.types)
	for i, left := range rest.left.runs {
		if left == nil {
			continue
		}
		k.clear()
		err := rest.right.read(rest.right.runs[i], width, func(_ int, row types.Row) error { return k.takeRight(row) })
		if err != nil {
			return err
		}
		err = rest.left.read(left, width, func(_ int, row types.Row) error { return k.takeLeft(row) })
		if err != nil {
			return err
		}
		if err := k.finish(); err != nil {
			return err
		}
	}
	return nil
}

func (r *restOfSides) close() {
	if r != nil {
		r.left.close()
		r.right.close()
	}
}

func (k *keyCounts) clear() {
	k.mem.Release(k.taken)
	k.counts, k.taken = map[string]*keyCount{}, 0
}

func (k *keyCounts) free() {
	k.rest.close()
	k.rest = nil
	k.clear()
}
