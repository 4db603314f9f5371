package operator

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// subReads is what a subquery reads besides tables.
type subReads struct {
	outers []int // parameters, those that its binds set included
	ctes   []*cteStore
	row    types.Row
}

func (k *Compiler) subReads(n *plan.SubPlan) subReads {
	outers, ctes := map[int]bool{}, map[int]bool{}
	walk.FreeOuters(n.Plan, outers)
	for _, b := range n.Binds {
		outers[b.Param] = true
	}
	walk.FreeCTEs(n.Plan, ctes)
	r := subReads{outers: slices.Sorted(maps.Keys(outers))}
	for _, id := range slices.Sorted(maps.Keys(ctes)) {
		r.ctes = append(r.ctes, k.ctes[id])
	}
	return r
}

// appendTo appends the values of now: the same bytes stand for the same rows of the subquery.
func (r *subReads) appendTo(dst []byte, c *Execution) []byte {
	if len(r.outers) > 0 {
		r.row = r.row[:0]
		for _, n := range r.outers {
			r.row = append(r.row, c.Outer(n))
		}
		dst = types.AppendRow(dst, r.row)
	}
	for _, s := range r.ctes {
		dst = binary.AppendUvarint(dst, s.begun)
	}
	return dst
}

// subMemo keeps results of a correlated subquery by outer values, as long as they are few, because
// many rows often share them. The subquery reads one snapshot and calls no volatile function, so it
// would return the same again.
type subMemo struct {
	reads  subReads
	also   []expr.Eval // what its test reads of the row
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

// subMemo returns the memo of a subquery; nil if its test has subqueries.
func (k *Compiler) subMemo(n *plan.SubPlan, reads subReads) (*subMemo, error) {
	if walk.HasSubPlan(n.Test) {
		return nil, nil
	}
	m := &subMemo{reads: reads}
	var inputs []query.Expr
	walk.Visit(n.Test, func(x query.Expr) {
		switch x.(type) {
		case *query.Slot, *query.Outer:
			inputs = append(inputs, x)
		}
	})
	var err error
	m.also, err = k.Exprs(inputs)
	k.Own(m)
	return m, err
}

func (m *subMemo) free() {
	m.mem.Release(int64(m.bytes))
	m.bytes = 0
}

// find returns the result for the outer values that are bound now, and for row.
func (m *subMemo) find(c *Execution, row types.Row) (d types.Datum, ok bool, err error) {
	if m.run != c.Run {
		m.run, m.mem = c.Run, c.Mem
		m.values = map[string]types.Datum{}
	}
	m.row = m.row[:0]
	for _, f := range m.also {
		d, err := f(&c.Ctx, row)
		if err != nil {
			return d, false, err
		}
		m.row = append(m.row, d)
	}
	m.key = m.reads.appendTo(types.AppendRow(m.key[:0], m.row), c)
	d, ok = m.values[string(m.key)]
	return d, ok, nil
}

// keep stores the result for what find was asked for last. The subquery has not changed that, because
// it has outer parameters of its own.
func (m *subMemo) keep(c *Execution, d types.Datum) {
	size := len(m.key) + len(d.S) + memory.MapEntrySize
	if len(m.values) >= memoValues || m.bytes+size > memoBytes || c.Mem.Grow(int64(size)) != nil {
		return
	}
	m.bytes += size
	m.values[string(m.key)] = d
}

// hashedSub is the set of an uncorrelated IN, or of the values for which an EXISTS is true.
type hashedSub struct {
	left  *keyEncoder
	types []types.OID
	set   memory.KeySet
	nulls []types.Row // rows of IN with a null in them
	store memory.Arena
	buf   []byte
}

func (k *Compiler) hashedSub(n *plan.SubPlan) (*hashedSub, error) {
	right := colTypes(n.Plan)[:len(n.HashLeft)]
	left, err := k.keyEncoder(n.HashLeft, right)
	h := &hashedSub{left: left, types: right}
	k.Own(h)
	return h, err
}

func (h *hashedSub) build(c *Execution, rows *spool.List) error {
	h.begin(c)
	from, err := rows.From(0)
	if err != nil {
		return err
	}
	defer from.Close()
	for {
		if err := c.Tick(); err != nil {
			return err
		}
		r, ok, err := from.Next()
		if err != nil || !ok {
			return err
		}
		if err := h.add(r); err != nil {
			return err
		}
	}
}

func (h *hashedSub) add(r types.Row) error {
	for _, d := range r[:len(h.types)] {
		if d.IsNull() {
			kept, err := h.store.Clone(r)
			h.nulls = append(h.nulls, kept)
			return err
		}
	}
	return h.addKey(r)
}

// begin empties the set for an execution.
func (h *hashedSub) begin(c *Execution) {
	h.set.Free()
	h.store.Free()
	h.set.Mem, h.store.Mem, h.nulls = c.Mem, c.Mem, nil
}

// addKey adds the values of a row to the set.
func (h *hashedSub) addKey(r types.Row) error {
	h.buf = appendRowKey(h.buf[:0], r[:len(h.types)], nil, h.types)
	_, err := h.set.Add(h.buf)
	return err
}
