package spool

import (
	"slices"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// List keeps rows in their order, to be read any number of times, also while it grows: in memory
// while they fit into an operation's share, then in a file. The zero List has to begin.
type List struct {
	mem    memory.Account
	store  memory.Arena
	rows   []types.Row // the first ones
	listed int64       // bytes of rows that are counted
	width  int
	file   *File
	run    *Run // the others; nil: there are none
}

// Begin has the list keep rows of a query.
func (l *List) Begin(query *memory.Account) {
	l.mem.Begin(query, memory.Work)
	l.store.Mem = &l.mem
}

// Add keeps a copy of a row.
func (l *List) Add(row types.Row) error {
	if l.run == nil {
		err := l.Keep(row)
		if !memory.IsFull(err) {
			return err
		}
		l.width = len(row)
		l.file = NewFile(&l.mem)
		l.run = l.file.NewRun(BlockSize(&l.mem))
	}
	return l.run.AddRow(row)
}

// Keep keeps a copy of a row in memory. It returns 53200 (memory.IsFull) if the share is full.
func (l *List) Keep(row types.Row) error {
	if n := len(l.rows); n == cap(l.rows) {
		more := max(n, 4)
		if err := l.mem.Grow(int64(more) * memory.RowSize); err != nil {
			return err
		}
		l.listed += int64(more) * memory.RowSize
		l.rows = slices.Grow(l.rows, more)
	}
	r, err := l.store.Clone(row)
	if err != nil {
		return err
	}
	l.rows = append(l.rows, r)
	return nil
}

// Len returns the number of rows.
func (l *List) Len() int {
	if l.run == nil {
		return len(l.rows)
	}
	return len(l.rows) + int(l.run.Len())
}

// InMemory returns the first rows, those that are in memory.
func (l *List) InMemory() []types.Row { return l.rows }

// InFile reports whether others are in a file.
func (l *List) InFile() bool { return l.run != nil }

// From returns a reader of the rows from number n on.
func (l *List) From(n int) (ListReader, error) {
	r := ListReader{list: l}
	return r, r.Seek(n)
}

// Free deletes the file and returns the memory. The list is empty then.
func (l *List) Free() {
	if l.file != nil {
		l.file.Close()
	}
	l.store.Free()
	l.mem.Release(l.listed)
	l.rows, l.file, l.run, l.listed = nil, nil, nil, 0
}

// ListReader reads a list in order.
type ListReader struct {
	list *List
	at   int     // number of the next row
	in   *Reader // nil: it has not read the file
	row  types.Row
}

// Seek has the reader go on with row n, at most the number of rows.
func (r *ListReader) Seek(n int) error {
	r.at = n
	past, run := n-len(r.list.rows), r.list.run
	if run == nil || past <= 0 && r.in == nil {
		return nil
	}
	if r.in == nil {
		r.in = run.Reader()
	}
	return r.in.SeekTo(int64(max(past, 0)))
}

// Next returns the next row, which is valid until the next call; ok is false behind the last.
func (r *ListReader) Next() (row types.Row, ok bool, err error) {
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

// Close returns the reader's buffer.
func (r *ListReader) Close() {
	if r.in != nil {
		r.in.Close()
	}
	r.in = nil
}

// Places reads a list at several places, each mostly in order.
type Places struct {
	list   *List
	places [4]place
	reads  int64
}

// place is where a list is read. Its reader has returned the row before the next.
type place struct {
	ListReader
	last types.Row
	used int64 // when, in reads
}

// Places returns a reader of the list at several places.
func (l *List) Places() Places { return Places{list: l} }

// At returns row n, which must be there. It is valid until the next call.
func (p *Places) At(n int) (types.Row, error) {
	if n < len(p.list.rows) {
		return p.list.rows[n], nil
	}
	best := &p.places[0]
	for i := range p.places {
		if at := &p.places[i]; at.reaches(n) {
			best = at
			break
		} else if at.used < best.used {
			best = at
		}
	}
	p.reads++
	best.used, best.list = p.reads, p.list
	return best.read(n)
}

// Close returns the buffers.
func (p *Places) Close() {
	for i := range p.places {
		p.places[i].Close()
		p.places[i] = place{}
	}
}

// skipped is how many rows a place skips at most; for others it seeks.
const skipped = 32

func (p *place) reaches(n int) bool {
	return p.last != nil && n+1 >= p.at && n <= p.at+skipped
}

func (p *place) read(n int) (types.Row, error) {
	if !p.reaches(n) {
		if err := p.Seek(n); err != nil {
			return nil, err
		}
	}
	for p.at <= n {
		row, ok, err := p.Next()
		if err != nil {
			return nil, err
		}
		if !ok {
			panic("spool: a list has no such row")
		}
		p.last = row
	}
	return p.last, nil
}
