package operator

import (
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// dedup emits the first row of each key. The rows of keys that it has no room for go to partitions,
// which are processed afterwards.
type dedup struct {
	c     *Execution
	keys  []int // nil: all
	types []types.OID
	emit  Emit
	mem   memory.Account
	seen  memory.KeySet
	buf   []byte
	rest  *partitions // nil: there is room
	width int         // of the rows in rest
}

func newDedup(c *Execution, keys []int, oids []types.OID, emit Emit) *dedup {
	d := &dedup{c: c, keys: keys, types: oids, emit: emit}
	d.mem.Begin(c.Mem, memory.Hash)
	d.seen.Mem = &d.mem
	return d
}

func (d *dedup) take(row types.Row) error {
	d.buf = appendRowKey(d.buf[:0], row, d.keys, d.types)
	fresh, err := d.add()
	if err != nil {
		return err
	}
	if fresh {
		return d.emit(row)
	}
	if d.rest == nil || d.seen.Has(d.buf) {
		return nil
	}
	d.width = len(row)
	return d.rest.add(d.rest.number(d.buf), 0, row)
}

// add adds the key in buf, if there is room, and reports whether it is new.
func (d *dedup) add() (fresh bool, err error) {
	if d.rest != nil {
		return false, nil
	}
	fresh, err = d.seen.Add(d.buf)
	switch {
	case !memory.IsFull(err):
		return fresh, err
	case d.seen.Len() > 0:
		d.rest = newPartitions(d.c, &d.mem)
		return false, nil
	}
	err = d.mem.Exceed(func() error {
		fresh, err = d.seen.Add(d.buf)
		return err
	})
	return fresh, err
}

// finish processes the rest, one partition at a time.
func (d *dedup) finish() error {
	rest := d.rest
	if rest == nil {
		return nil
	}
	defer rest.close()
	d.rest = nil
	if err := rest.end(); err != nil {
		return err
	}
	for _, run := range rest.runs {
		d.seen.Free()
		err := rest.read(run, d.width, func(_ int, row types.Row) error { return d.take(row) })
		if err != nil {
			return err
		}
		if err := d.finish(); err != nil {
			return err
		}
	}
	return nil
}

func (d *dedup) free() {
	d.rest.close()
	d.rest = nil
	d.seen.Free()
}
