package operator

import (
	"maps"
	"slices"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// subMemo keeps results of a correlated subquery by outer values, as long as they are few, because
// many rows often share them. The subquery reads one snapshot and calls no volatile function, so it
// would return the same again.
type subMemo struct {
	outers []int // the parameters that it reads
	run    uint64
	values map[string]types.Datum
	bytes  int             // counted in mem
	mem    *memory.Account // of the execution
	row    types.Row
	key    []byte // of the outer values looked for last
}

// Limits for what is kept; further values are computed for each row.
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

// find returns the result for the outer values that are bound now.
func (m *subMemo) find(c *Execution) (types.Datum, bool) {
	if m.run != c.Run {
		m.run, m.mem = c.Run, c.Mem
		m.values = map[string]types.Datum{}
	}
	m.row = m.row[:0]
	for _, n := range m.outers {
		m.row = append(m.row, c.Outer(n))
	}
	m.key = types.AppendRow(m.key[:0], m.row)
	d, ok := m.values[string(m.key)]
	return d, ok
}

// keep stores the result for the outer values of the last find. The subquery has not changed them,
// because it has outer parameters of its own.
func (m *subMemo) keep(c *Execution, d types.Datum) {
	size := len(m.key) + len(d.S) + memory.MapEntrySize
	if len(m.values) >= memoValues || m.bytes+size > memoBytes || c.Mem.Grow(int64(size)) != nil {
		return
	}
	m.bytes += size
	m.values[string(m.key)] = d
}
