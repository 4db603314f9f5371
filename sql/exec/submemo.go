package exec

import (
	"maps"
	"slices"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// subMemo keeps what a correlated subquery gave for outer values, as long as there are few: many rows often share them. It reads one snapshot, and
// calls nothing volatile, so that it would give the same again.
type subMemo struct {
	outers []int // the parameters that it reads
	run    uint64
	values map[string]types.Datum
	bytes  int     // taken of mem
	mem    *Memory // of the execution
	row    Row
	key    []byte // of the outer values looked for last
}

// Bounds of what is kept; what comes later is computed for each row.
const (
	memoValues = 16 << 10
	memoBytes  = 2 << 20
)

func newSubMemo(binds []plan.Bind, free map[int]bool) *subMemo {
	reads := maps.Clone(free)
	for _, b := range binds {
		reads[b.Param] = true
	}
	return &subMemo{outers: slices.Sorted(maps.Keys(reads))}
}

// find gives what the subquery gave for the outer values that are bound now.
func (m *subMemo) find(c *Ctx) (types.Datum, bool) {
	if m.run != c.run {
		m.run, m.mem = c.run, c.Mem
		m.values = map[string]types.Datum{}
	}
	m.row = m.row[:0]
	for _, n := range m.outers {
		m.row = append(m.row, c.outer(n))
	}
	m.key = types.AppendRow(m.key[:0], m.row)
	d, ok := m.values[string(m.key)]
	return d, ok
}

// keep remembers what it gives for those that find has looked for, which the subquery has not changed: its own are others.
func (m *subMemo) keep(c *Ctx, d types.Datum) {
	size := len(m.key) + len(d.S) + mapEntrySize
	if len(m.values) >= memoValues || m.bytes+size > memoBytes || c.Mem.Grow(int64(size)) != nil {
		return
	}
	m.bytes += size
	m.values[string(m.key)] = d
}
