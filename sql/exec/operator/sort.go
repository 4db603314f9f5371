package operator

import (
	"container/heap"
	"math"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
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
	sorted        SortWork
}

// Sorted implements Sorting.
func (o *sortOp) Sorted() SortWork { return o.sorted }

func (k *Compiler) sort(n *plan.Sort) (Op, error) {
	child, err := k.Node(n.Child)
	if err != nil {
		return nil, err
	}
	o := &sortOp{child: child, keys: NewOrdering(n.Keys)}
	if o.count, err = k.Optional(n.Limit); err != nil {
		return nil, err
	}
	if o.offset, err = k.Optional(n.Offset); err != nil || n.Presorted == 0 {
		return o, err
	}
	if n.Presorted < 0 || n.Presorted > len(n.Keys) { // a damaged task of another node
		return nil, pgerr.New(pgerr.InternalError, "%d of %d sort keys are presorted", n.Presorted, len(n.Keys))
	}
	return &incrementalSortOp{sortOp: o, first: o.keys[:n.Presorted], rest: o.keys[n.Presorted:]}, nil
}

// maxTopN is the largest limit for which a heap is used; above it all rows are sorted.
const maxTopN = 100_000

// Run implements Op.
func (o *sortOp) Run(c *Execution, emit Emit) error {
	n, err := o.wanted(c)
	if err != nil {
		return err
	}
	if n >= 0 && n <= maxTopN {
		return o.topN(c, int(n), emit)
	}
	s := newSorter(c, o.keys)
	defer s.free()
	if err := o.child.Run(c, s.add); err != nil {
		return err
	}
	err = s.emitAll(emit)
	o.sorted = s.work()
	return err
}

// wanted returns how many rows are wanted, -1 for all.
func (o *sortOp) wanted(c *Execution) (int64, error) {
	limit, skip, err := Bounds(c, o.count, o.offset)
	if err != nil || limit < 0 || limit > math.MaxInt64-skip {
		return -1, err
	}
	return limit + skip, nil
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

// topN returns the first n rows.
func (o *sortOp) topN(c *Execution, n int, emit Emit) error {
	if o.sorted = (SortWork{}); n == 0 {
		return nil
	}
	t := newTopRows(c, o.keys, n)
	defer t.free()
	if err := o.child.Run(c, t.add); err != nil {
		return err
	}
	err := t.emitAll(emit)
	o.sorted = t.work()
	return err
}

// topRows keeps the first n rows in a heap, or, if they exceed the operation's share, sorts all rows
// that come from then on with them.
type topRows struct {
	topHeap
	c      *Execution
	n      int
	mem    memory.Account
	place  int
	sorter *sorter // nil: the heap has room
}

func newTopRows(c *Execution, keys Ordering, n int) *topRows {
	t := &topRows{topHeap: topHeap{keys: keys}, c: c, n: n}
	t.mem.Begin(c.Mem, memory.Work)
	return t
}

// work returns how it has sorted.
func (t *topRows) work() SortWork {
	if t.sorter != nil {
		return t.sorter.work()
	}
	return SortWork{Method: "top-N heapsort", Bytes: t.mem.Used()}
}

func (t *topRows) add(row types.Row) error {
	if t.sorter != nil {
		return t.sorter.add(row)
	}
	t.place++
	if len(t.rows) == t.n && t.keys.Compare(row, t.rows[0].row) >= 0 {
		return nil
	}
	store := &memory.Arena{Mem: &t.mem, Exact: true}
	r, err := store.Clone(row)
	if memory.IsFull(err) {
		store.Free()
		return t.overflow(row)
	}
	if err != nil {
		return err
	}
	if len(t.rows) < t.n {
		heap.Push(&t.topHeap, topRow{r, t.place, store})
		return nil
	}
	t.rows[0].store.Free()
	t.rows[0] = topRow{r, t.place, store}
	heap.Fix(&t.topHeap, 0)
	return nil
}

// overflow has a sorter go on with the rows of the heap and the next one.
func (t *topRows) overflow(next types.Row) error {
	t.sorter = newSorter(t.c, t.keys)
	slices.SortFunc(t.rows, func(a, b topRow) int { return a.place - b.place })
	for _, r := range t.rows {
		if err := t.sorter.add(r.row); err != nil {
			return err
		}
		r.store.Free()
	}
	t.rows = nil
	return t.sorter.add(next)
}

func (t *topRows) emitAll(emit Emit) error {
	if t.sorter != nil {
		return t.emitFirst(emit)
	}
	slices.SortFunc(t.rows, t.compare)
	for _, r := range t.rows {
		if err := emit(r.row); err != nil {
			return err
		}
	}
	return nil
}

// emitFirst emits the first n rows of the sorter.
func (t *topRows) emitFirst(emit Emit) error {
	left := t.n
	err := t.sorter.emitAll(func(row types.Row) error {
		if err := emit(row); err != nil {
			return err
		}
		if left--; left == 0 {
			return ErrStop
		}
		return nil
	})
	if err == ErrStop && left == 0 {
		return nil
	}
	return err
}

func (t *topRows) free() {
	if t.sorter != nil {
		t.sorter.free()
	}
	for _, r := range t.rows {
		r.store.Free()
	}
}
