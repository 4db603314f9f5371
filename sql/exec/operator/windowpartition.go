package operator

import (
	"sort"

	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/types"
)

// windowPartition is the rows of one partition in order: those of the sorter, if it has them in
// memory, else a copy, a part of it in a file if it is large.
type windowPartition struct {
	*windowStage
	memory []types.Row // all rows of the sorter; nil: the rows are in list
	first  int         // number of the partition's first row in memory
	count  int
	list   spool.List
	places spool.Places // of list: calls read at several places
	keys   types.Row    // values to sort by of the last row
	group  int64        // number of its group of peers
	peers  windowPeers  // of the row that is computed
}

// windowPeers is a group of peers: rows that are equal in ORDER BY.
type windowPeers struct{ start, end int }

func newWindowPartition(s *windowStage, memory []types.Row) *windowPartition {
	p := &windowPartition{windowStage: s, memory: memory, keys: make(types.Row, s.results+len(s.spec.keys))}
	if p.places = p.list.Places(); memory == nil {
		p.list.Begin(s.c.Mem)
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
	return p.list.Add(row)
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
	p.places.Close()
	p.list.Free()
}

func (p *windowPartition) len() int { return p.count }

// at returns row i, which is valid until the next call.
func (p *windowPartition) at(i int) (types.Row, error) {
	if p.memory != nil {
		return p.memory[p.first+i], nil
	}
	return p.places.At(i)
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
	in, err := p.list.From(0) // its row stays while calls read others
	if err != nil {
		return err
	}
	defer in.Close()
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
func (p *windowPartition) current(in *spool.ListReader, i int) (row types.Row, err error) {
	if p.memory != nil {
		row = p.memory[p.first+i]
	} else if row, _, err = in.Next(); err != nil {
		return nil, err
	}
	if i == p.peers.end {
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
