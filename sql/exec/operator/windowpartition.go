package operator

import (
	"sort"

	"github.com/sherddb/sherd/sql/types"
)

// windowPartition is the rows of one partition in order: those of the sorter, if it has them in
// memory, else a copy, a part of it in a file if it is large.
type windowPartition struct {
	*windowStage
	memory  []types.Row // all rows of the sorter; nil: the rows are in list
	first   int         // number of the partition's first row in memory
	count   int
	list    rowList
	readers [4]windowReader // of list: calls read at several places
	reads   int64
	keys    types.Row   // values to sort by of the last row
	group   int64       // number of its group of peers
	peers   windowPeers // of the row that is computed
}

// windowPeers is a group of peers: rows that are equal in ORDER BY.
type windowPeers struct{ start, end int }

func newWindowPartition(s *windowStage, memory []types.Row) *windowPartition {
	p := &windowPartition{windowStage: s, memory: memory, keys: make(types.Row, s.results+len(s.spec.keys))}
	if memory == nil {
		p.list.begin(s.c)
	}
	return p
}

// has reports whether a row, the next one in order, is of the partition.
func (p *windowPartition) has(row types.Row) bool {
	return p.count == 0 || p.spec.keys[:p.spec.nPart].Compare(p.keys, row) == 0
}

// add appends the next row.
func (p *windowPartition) add(row types.Row) error {
	if p.count == 0 || p.spec.keys[p.spec.nPart:].Compare(p.keys, row) != 0 {
		for i := p.results; i < len(p.keys); i++ {
			p.keys[i] = row[i].Clone()
		}
		p.group++
	}
	row[len(p.keys)] = types.NewInt(p.group)
	p.count++
	if p.memory != nil {
		return nil
	}
	return p.list.add(row)
}

// next forgets the rows, for the partition that follows.
func (p *windowPartition) next() {
	p.first += p.count
	p.count, p.peers = 0, windowPeers{}
	if p.memory == nil {
		p.free()
	}
}

func (p *windowPartition) free() {
	for i := range p.readers {
		p.readers[i].close()
	}
	p.list.free()
}

func (p *windowPartition) len() int { return p.count }

// at returns row i, which is valid until the next call.
func (p *windowPartition) at(i int) (types.Row, error) {
	if p.memory != nil {
		return p.memory[p.first+i], nil
	}
	if i < len(p.list.rows) {
		return p.list.rows[i], nil
	}
	r := &p.readers[0]
	for k := range p.readers {
		if q := &p.readers[k]; q.reaches(i) {
			r = q
			break
		} else if q.used < r.used {
			r = q
		}
	}
	p.reads++
	r.used = p.reads
	return r.read(&p.list, i)
}

// compute passes on the rows with the results of the calls.
func (p *windowPartition) compute(take Emit) error {
	if p.count == 0 {
		return nil
	}
	f, err := p.spec.frame.begin(p.c, p)
	if err != nil {
		return err
	}
	calls := make([]windowStep, len(p.spec.calls))
	for k, call := range p.spec.calls {
		calls[k] = call.begin(p.c, p)
	}
	var in windowReader // its row stays while calls read others
	defer in.close()
	for i := range p.count {
		if err := p.c.Tick(); err != nil {
			return err
		}
		row, err := p.current(&in, i)
		if err != nil {
			return err
		}
		start, end, err := f.bounds(i)
		if err != nil {
			return err
		}
		excluded := f.excluded(i)
		for k, call := range calls {
			d, err := call(i, start, end, excluded)
			if err != nil {
				return err
			}
			if p.memory == nil { // the next call may read over it
				d = d.Clone()
			}
			row[p.spec.calls[k].out] = d
		}
		if err := take(row[:p.results]); err != nil {
			return err
		}
	}
	return nil
}

// current returns row i and finds its peers. Rows come in order.
func (p *windowPartition) current(in *windowReader, i int) (types.Row, error) {
	var row types.Row
	var err error
	if p.memory != nil {
		row = p.memory[p.first+i]
	} else {
		row, err = in.read(&p.list, i)
	}
	if err == nil && i == p.peers.end {
		p.peers.start = i
		p.peers.end, err = p.firstOf(p.groupOf(row)+1, i)
	}
	return row, err
}

func (p *windowPartition) groupOf(row types.Row) int64 { return row[len(p.keys)].N }

// firstOf returns the first row of a group or of one behind it.
func (p *windowPartition) firstOf(group int64, near int) (int, error) {
	return p.search(near, func(row types.Row) bool { return p.groupOf(row) >= group })
}

// search returns the first row for which is returns true, as it does for all rows behind; if there is
// none, the number of rows. It begins near a row, in steps that grow.
func (p *windowPartition) search(near int, is func(types.Row) bool) (int, error) {
	var failed error
	at := func(i int) bool {
		row, err := p.at(i)
		if err != nil {
			failed = err
			return true
		}
		return is(row)
	}
	low, high := 0, p.count // the answer is in low to high
	near = min(max(near, 0), p.count)
	if near < p.count && !at(near) {
		low = near + 1
		for step := 1; low < p.count; step *= 2 {
			i := min(low+step-1, p.count-1)
			if at(i) {
				high = i
				break
			}
			low = i + 1
		}
	} else {
		high = near
		for step := 1; high > 0; step *= 2 {
			i := max(high-step, 0)
			if !at(i) {
				low = i + 1
				break
			}
			high = i
		}
	}
	n := low + sort.Search(high-low, func(i int) bool { return at(low + i) })
	return n, failed
}

// windowReader reads the rows of a list at one place.
type windowReader struct {
	in   rowReader
	open bool
	row  types.Row // the row before the next
	used int64
}

// skipped is how many rows a reader skips at most; for others it seeks.
const skipped = 32

// reaches reports whether row i is at the reader's place.
func (r *windowReader) reaches(i int) bool { return r.open && i+1 >= r.in.at && i <= r.in.at+skipped }

// read returns row i of a list, which is valid until the next call.
func (r *windowReader) read(l *rowList, i int) (row types.Row, err error) {
	if !r.reaches(i) {
		r.close()
		if r.in, err = l.from(i); err != nil {
			return nil, err
		}
		r.open = true
	}
	for r.in.at <= i {
		var ok bool
		if r.row, ok, err = r.in.next(); err != nil || !ok {
			return nil, err
		}
	}
	return r.row, nil
}

func (r *windowReader) close() {
	r.in.close()
	*r = windowReader{}
}
