package operator

import (
	"container/heap"
	"slices"

	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// sortOp sorts its input. With a limit it keeps only the first rows, in a heap with the last of
// them at its root.
type sortOp struct {
	child         Op
	keys          Ordering
	count, offset expr.Eval
}

func (k *Compiler) sort(n *plan.Sort) (Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	o := &sortOp{child: child, keys: NewOrdering(n.Keys)}
	if o.count, err = k.Optional(n.Limit); err != nil {
		return nil, err
	}
	o.offset, err = k.Optional(n.Offset)
	return o, err
}

// maxTopN is the largest limit for which a heap is used; above it all rows are sorted.
const maxTopN = 100_000

// Run implements Op.
func (o *sortOp) Run(c *Execution, emit Emit) error {
	limit, skip, err := Bounds(c, o.count, o.offset)
	if err != nil {
		return err
	}
	if limit >= 0 && limit+skip <= maxTopN {
		return o.topN(c, int(limit+skip), emit)
	}
	store := &memory.Arena{Mem: c.Mem}
	defer store.Free()
	var rows []types.Row
	err = o.child.Run(c, func(row types.Row) error {
		r, err := store.Clone(row)
		if err != nil {
			return err
		}
		rows = append(rows, r)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(rows, o.keys.Compare)
	return emitAll(c, rows, emit)
}

func emitAll(c *Execution, rows []types.Row, emit Emit) error {
	for _, r := range rows {
		if err := c.Tick(); err != nil {
			return err
		}
		if err := emit(r); err != nil {
			return err
		}
	}
	return nil
}

// topRow has its position in the input, so that equal rows keep their order.
type topRow struct {
	row   types.Row
	place int
	store *memory.Arena
}

// topHeap has the last of the kept rows at its root.
type topHeap struct {
	rows []topRow
	keys Ordering
}

func (h *topHeap) Len() int           { return len(h.rows) }
func (h *topHeap) Less(i, j int) bool { return h.compare(h.rows[i], h.rows[j]) > 0 }
func (h *topHeap) Swap(i, j int)      { h.rows[i], h.rows[j] = h.rows[j], h.rows[i] }
func (h *topHeap) Push(x any)         { h.rows = append(h.rows, x.(topRow)) }
func (h *topHeap) Pop() any {
	last := h.rows[len(h.rows)-1]
	h.rows = h.rows[:len(h.rows)-1]
	return last
}

func (h *topHeap) compare(a, b topRow) int {
	if c := h.keys.Compare(a.row, b.row); c != 0 {
		return c
	}
	return a.place - b.place
}

func (o *sortOp) topN(c *Execution, n int, emit Emit) error {
	if n == 0 {
		return nil
	}
	h := &topHeap{keys: o.keys}
	defer func() {
		for _, r := range h.rows {
			r.store.Free()
		}
	}()
	place := 0
	err := o.child.Run(c, func(row types.Row) error {
		place++
		if len(h.rows) == n && h.keys.Compare(row, h.rows[0].row) >= 0 {
			return nil
		}
		store := &memory.Arena{Mem: c.Mem, Exact: true}
		r, err := store.Clone(row)
		if err != nil {
			return err
		}
		if len(h.rows) < n {
			heap.Push(h, topRow{r, place, store})
			return nil
		}
		h.rows[0].store.Free()
		h.rows[0] = topRow{r, place, store}
		heap.Fix(h, 0)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(h.rows, h.compare)
	for _, r := range h.rows {
		if err := emit(r.row); err != nil {
			return err
		}
	}
	return nil
}
