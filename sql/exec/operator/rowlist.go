package operator

import (
	"slices"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/types"
)

// rowList keeps rows in their order, to be read any number of times, also while it grows: in memory
// while they fit into the operation's share, then in a file. The zero rowList has to begin.
type rowList struct {
	c      *Execution
	mem    memory.Account
	store  memory.Arena
	rows   []types.Row // the first ones
	listed int64       // bytes of rows that are counted
	width  int
	file   *spool.File
	run    *spool.Run // the others; nil: there are none
}

func (l *rowList) begin(c *Execution) {
	l.c = c
	l.mem.Begin(c.Mem, memory.Work)
	l.store.Mem = &l.mem
}

// add keeps a copy of a row.
func (l *rowList) add(row types.Row) error {
	if l.run == nil {
		err := l.keep(row)
		if !memory.IsFull(err) {
			return err
		}
		l.width = len(row)
		l.file = spool.NewFile(&l.mem)
		size := min(max(l.mem.Size()/32, minBlock), spool.BufferSize)
		l.run = l.file.NewRun(int(size))
	}
	return l.run.AddRow(row)
}

func (l *rowList) keep(row types.Row) error {
	if n := len(l.rows); n == cap(l.rows) {
		more := max(n, 4)
		if err := l.mem.Grow(int64(more) * rowHeader); err != nil {
			return err
		}
		l.listed += int64(more) * rowHeader
		l.rows = slices.Grow(l.rows, more)
	}
	r, err := l.store.Clone(row)
	if err != nil {
		return err
	}
	l.rows = append(l.rows, r)
	return nil
}

// len returns the number of rows.
func (l *rowList) len() int {
	if l.run == nil {
		return len(l.rows)
	}
	return len(l.rows) + int(l.run.Len())
}

// from returns a reader of the rows from number n on.
func (l *rowList) from(n int) (rowReader, error) {
	r := rowReader{list: l, at: n}
	if past := int64(n - len(l.rows)); past > 0 && l.run != nil && past < l.run.Len() {
		r.in = l.run.Reader()
		return r, r.in.SeekTo(past)
	}
	return r, nil
}

// free deletes the file and returns the memory.
func (l *rowList) free() {
	if l.file != nil {
		l.file.Close()
	}
	l.store.Free()
	l.mem.Release(l.listed)
	l.rows, l.file, l.run, l.listed = nil, nil, nil, 0
}

// rowReader reads a list in order.
type rowReader struct {
	list *rowList
	at   int           // number of the next row
	in   *spool.Reader // nil: it has not read the file
	row  types.Row
}

// next returns the next row, which is valid until the next call; ok is false behind the last.
func (r *rowReader) next() (row types.Row, ok bool, err error) {
	l := r.list
	if r.at < len(l.rows) {
		r.at++
		return l.rows[r.at-1], true, nil
	}
	if l.run == nil {
		return nil, false, nil
	}
	if r.in == nil {
		r.in = l.run.Reader()
	}
	if r.row == nil {
		r.row = make(types.Row, l.width)
	}
	if ok, err = r.in.Row(r.row); ok {
		r.at++
	}
	return r.row, ok, err
}

// close returns the reader's buffer.
func (r *rowReader) close() {
	if r.in != nil {
		r.in.Close()
	}
}
