package operator

import (
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// nestBlock is left rows that a nested loop pairs with a right side that is in a file: it reads the
// right side once for each block of left rows.
type nestBlock struct {
	o       *nestLoopOp
	c       *Execution
	right   *spool.List
	met     bitmap // numbers of right rows that a left row has met
	mem     memory.Account
	store   memory.Arena
	rows    []types.Row
	matched []bool // by left row
}

// inBlocks pairs the rows of both sides, block by block.
func (o *nestLoopOp) inBlocks(c *Execution, right *spool.List) error {
	b := &nestBlock{o: o, c: c, right: right, met: make(bitmap, right.Len()/64+1)}
	b.mem.Begin(c.Mem, memory.Work)
	b.store.Mem = &b.mem
	size := int64(len(b.met)) * 8
	b.mem.Force(size)
	defer func() {
		b.store.Free()
		b.mem.Release(size)
	}()
	if err := o.left.Run(c, b.add); err != nil {
		return err
	}
	if err := b.pair(); err != nil {
		return err
	}
	return b.unmatched()
}

// blockRows bounds a block whose rows are small.
const blockRows = 4096

func (b *nestBlock) add(row types.Row) error {
	err := b.keep(row)
	if !memory.IsFull(err) {
		return err
	}
	if err := b.pair(); err != nil {
		return err
	}
	return b.mem.Exceed(func() error { return b.keep(row) })
}

func (b *nestBlock) keep(row types.Row) error {
	if len(b.rows) == blockRows {
		if err := b.pair(); err != nil {
			return err
		}
	}
	r, err := b.store.Clone(row)
	if err != nil {
		return err
	}
	b.rows, b.matched = append(b.rows, r), append(b.matched, false)
	return nil
}

// each passes on the right rows with their numbers.
func (b *nestBlock) each(fn func(n int64, row types.Row) error) error {
	from, err := b.right.From(0)
	if err != nil {
		return err
	}
	defer from.Close()
	for n := int64(0); ; n++ {
		row, ok, err := from.Next()
		if err != nil || !ok {
			return err
		}
		if err := b.c.Tick(); err != nil {
			return err
		}
		if err := fn(n, row); err != nil {
			return err
		}
	}
}

// pair pairs the left rows of the block with all right rows, and empties the block.
func (b *nestBlock) pair() error {
	if len(b.rows) == 0 {
		return nil
	}
	o := b.o
	err := b.each(func(n int64, row types.Row) error {
		for i, left := range b.rows {
			if b.matched[i] && o.enough() {
				continue
			}
			if err := b.c.Tick(); err != nil {
				return err
			}
			o.setLeft(left)
			ok, err := o.match(row)
			if err != nil {
				return err
			}
			if ok {
				b.matched[i] = true
				b.met.add(n)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, left := range b.rows {
		o.setLeft(left)
		if err := o.endLeft(b.matched[i]); err != nil {
			return err
		}
	}
	clear(b.rows)
	b.rows, b.matched = b.rows[:0], b.matched[:0]
	b.store.Free()
	return nil
}

// unmatched emits the right rows that no left row met, for right and full joins.
func (b *nestBlock) unmatched() error {
	o := b.o
	if o.kind != query.Right && o.kind != query.Full {
		return nil
	}
	clear(o.pair[:o.nl])
	return b.each(func(n int64, row types.Row) error {
		if b.met.has(n) {
			return nil
		}
		copy(o.pair[o.nl:], row)
		return o.emit(o.pair)
	})
}
