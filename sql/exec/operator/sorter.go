package operator

import (
	"slices"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/types"
)

// sorter sorts rows; equal ones keep their order. It keeps them in memory while they fit into the
// operation's share. Then it writes them to a file in sorted runs, and merges those.
type sorter struct {
	c      *Execution
	keys   Ordering
	mem    memory.Account
	store  memory.Arena
	rows   []types.Row
	listed int64 // bytes of rows that are counted
	width  int
	file   *spool.File // nil: all rows are in memory
	runs   []*spool.Run
}

func newSorter(c *Execution, keys Ordering) *sorter {
	s := &sorter{c: c, keys: keys}
	s.mem.Begin(c.Mem, memory.Work)
	s.store.Mem = &s.mem
	return s
}

// add keeps a copy of a row.
func (s *sorter) add(row types.Row) error {
	err := s.keep(row)
	if !memory.IsFull(err) {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.mem.Exceed(func() error { return s.keep(row) })
}

func (s *sorter) keep(row types.Row) error {
	if n := len(s.rows); n == cap(s.rows) {
		more := max(n, 4)
		if err := s.mem.Grow(int64(more) * memory.RowSize); err != nil {
			return err
		}
		s.listed += int64(more) * memory.RowSize
		s.rows = slices.Grow(s.rows, more)
	}
	r, err := s.store.Clone(row)
	if err != nil {
		return err
	}
	s.rows = append(s.rows, r)
	return nil
}

// sort sorts the rows in memory. It notices that the statement was cancelled.
func (s *sorter) sort() error {
	var stop error
	n := 0
	slices.SortStableFunc(s.rows, func(a, b types.Row) int {
		if n++; n&4095 == 0 && stop == nil {
			stop = s.c.Cancelled()
		}
		if stop != nil {
			return 0
		}
		return s.keys.Compare(a, b)
	})
	return stop
}

// flush writes the rows in memory to a run of their own.
func (s *sorter) flush() error {
	if len(s.rows) == 0 {
		return nil
	}
	if err := s.sort(); err != nil {
		return err
	}
	if s.file == nil {
		s.file = spool.NewFile(&s.mem)
	}
	s.width = len(s.rows[0])
	run := s.file.NewRun(spool.BlockSize(&s.mem))
	for _, r := range s.rows {
		if err := s.c.Tick(); err != nil {
			return err
		}
		if err := run.AddRow(r); err != nil {
			return err
		}
	}
	s.runs = append(s.runs, run)
	clear(s.rows)
	s.rows = s.rows[:0]
	s.store.Free()
	return run.End()
}

// emitAll emits the rows in order.
func (s *sorter) emitAll(emit Emit) error {
	in, err := s.open()
	if err != nil {
		return err
	}
	defer in.close()
	return in.emitAll(s.c, emit)
}

// open returns the rows in order. No more can be added.
func (s *sorter) open() (sortedRows, error) {
	if s.file == nil {
		return sortedRows{rows: s.rows}, s.sort()
	}
	if err := s.flush(); err != nil {
		return sortedRows{}, err
	}
	s.mem.Release(s.listed)
	s.rows, s.listed = nil, 0
	for len(s.runs) > s.fanIn() {
		if err := s.pass(); err != nil {
			return sortedRows{}, err
		}
	}
	return s.merge(s.runs)
}

const maxFanIn = 256

// fanIn returns how many runs are merged at once: their buffers fit into the share.
func (s *sorter) fanIn() int {
	return int(min(max(s.mem.Size()/int64(spool.BlockSize(&s.mem))-1, 2), maxFanIn))
}

// pass merges neighbouring runs to fewer and longer ones in a new file.
func (s *sorter) pass() error {
	out := spool.NewFile(&s.mem)
	var runs []*spool.Run
	for group := range slices.Chunk(s.runs, s.fanIn()) {
		run := out.NewRun(spool.BlockSize(&s.mem))
		err := s.mergeTo(group, run)
		if err != nil {
			out.Close()
			return err
		}
		runs = append(runs, run)
	}
	s.file.Close()
	s.file, s.runs = out, runs
	return nil
}

// mergeTo merges sorted runs to one.
func (s *sorter) mergeTo(runs []*spool.Run, to *spool.Run) error {
	in, err := s.merge(runs)
	if err != nil {
		return err
	}
	defer in.close()
	if err := in.emitAll(s.c, to.AddRow); err != nil {
		return err
	}
	return to.End()
}

// merge returns the rows of sorted runs in order.
func (s *sorter) merge(runs []*spool.Run) (sortedRows, error) {
	m := &merger{keys: s.keys}
	for i, run := range runs {
		in := &mergeInput{place: i, from: run.Reader(), row: make(types.Row, s.width)}
		m.all = append(m.all, in)
		ok, err := in.from.Row(in.row)
		if err != nil {
			m.close()
			return sortedRows{}, err
		}
		if ok {
			m.heap = append(m.heap, in)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return sortedRows{merger: m}, nil
}

// work returns how it has sorted.
func (s *sorter) work() SortWork {
	if s.file != nil {
		return SortWork{Method: "external merge", Bytes: s.file.Size(), Disk: true}
	}
	return SortWork{Method: "quicksort", Bytes: s.mem.Used()}
}

// free deletes the file and returns the memory.
func (s *sorter) free() {
	if s.file != nil {
		s.file.Close()
	}
	s.store.Free()
	s.mem.Release(s.listed)
	s.rows, s.runs, s.listed = nil, nil, 0
}

// sortedRows are the rows of a sorter, to be read once.
type sortedRows struct {
	rows   []types.Row // in memory
	merger *merger     // nil: all are in memory
	begun  bool
}

// next returns the next row, which is valid until the next call; ok is false behind the last.
func (r *sortedRows) next() (row types.Row, ok bool, err error) {
	m := r.merger
	if m == nil {
		if len(r.rows) == 0 {
			return nil, false, nil
		}
		row, r.rows = r.rows[0], r.rows[1:]
		return row, true, nil
	}
	if r.begun && len(m.heap) > 0 {
		if err := m.advance(); err != nil {
			return nil, false, err
		}
	}
	if r.begun = true; len(m.heap) == 0 {
		return nil, false, nil
	}
	return m.heap[0].row, true, nil
}

func (r *sortedRows) emitAll(c *Execution, emit Emit) error {
	if r.merger == nil {
		return emitAll(c, r.rows, emit)
	}
	for {
		if err := c.Tick(); err != nil {
			return err
		}
		row, ok, err := r.next()
		if err != nil || !ok {
			return err
		}
		if err := emit(row); err != nil {
			return err
		}
	}
}

func (r *sortedRows) close() {
	if r.merger != nil {
		r.merger.close()
	}
}

// merger merges sorted runs with a heap, whose root is the input with the first row. Equal rows are
// in the order of their runs.
type merger struct {
	keys Ordering
	all  []*mergeInput
	heap []*mergeInput
}

type mergeInput struct {
	place int
	from  *spool.Reader
	row   types.Row
}

func (m *merger) less(a, b *mergeInput) bool {
	if c := m.keys.Compare(a.row, b.row); c != 0 {
		return c < 0
	}
	return a.place < b.place
}

// advance replaces the row of the root by the next one of its run.
func (m *merger) advance() error {
	ok, err := m.heap[0].from.Row(m.heap[0].row)
	if err != nil {
		return err
	}
	if !ok {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.sink(0)
	return nil
}

func (m *merger) sink(i int) {
	for {
		next := 2*i + 1
		if next >= len(m.heap) {
			return
		}
		if next+1 < len(m.heap) && m.less(m.heap[next+1], m.heap[next]) {
			next++
		}
		if !m.less(m.heap[next], m.heap[i]) {
			return
		}
		m.heap[i], m.heap[next] = m.heap[next], m.heap[i]
		i = next
	}
}

func (m *merger) close() {
	for _, in := range m.all {
		in.from.Close()
	}
}
