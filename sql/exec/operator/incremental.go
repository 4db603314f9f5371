package operator

import (
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// incrementalSortOp sorts rows that come in the order of the first keys: those that are equal in
// them, group by group. With a limit it stops its input after the group that completes it.
type incrementalSortOp struct {
	*sortOp
	first, rest Ordering
}

// Run implements Op.
func (o *incrementalSortOp) Run(c *Execution, emit Emit) error {
	o.sorted = SortWork{}
	n, err := o.wanted(c)
	if err != nil || n == 0 {
		return err
	}
	g := &sortedGroups{o: o, c: c, emit: emit, left: n}
	g.mem.Begin(c.Mem, memory.Work)
	g.free()
	defer g.free()
	err = o.child.Run(c, g.add)
	if err == nil {
		err = g.end()
	}
	if err == ErrStop && g.left == 0 {
		return nil
	}
	return err
}

// sortedGroups sorts one group after the other. The first row of a group is kept apart, so that a
// group of one row is not sorted.
type sortedGroups struct {
	o     *incrementalSortOp
	c     *Execution
	emit  Emit
	left  int64 // number of rows that are still wanted; -1: all
	mem   memory.Account
	store memory.Arena
	head  types.Row // of the group; nil: there is none yet
	rows  groupRows // of the group; nil: it has one row
}

// groupRows are the rows of a group.
type groupRows interface {
	add(row types.Row) error
	emitAll(emit Emit) error
	work() SortWork
	free()
}

func (g *sortedGroups) add(row types.Row) error {
	if g.head != nil && g.o.first.Compare(g.head, row) != 0 {
		if err := g.end(); err != nil {
			return err
		}
	}
	if g.head == nil {
		return g.mem.Exceed(func() (err error) {
			g.head, err = g.store.Clone(row)
			return err
		})
	}
	if g.rows == nil {
		g.rows = g.newRows()
		if err := g.rows.add(g.head); err != nil {
			return err
		}
	}
	return g.rows.add(row)
}

func (g *sortedGroups) newRows() groupRows {
	if g.left < 0 || g.left > maxTopN {
		return newSorter(g.c, g.o.rest)
	}
	return newTopRows(g.c, g.o.rest, int(g.left))
}

// end emits the rows of the group.
func (g *sortedGroups) end() error {
	if g.head == nil {
		return nil
	}
	defer g.free()
	if g.rows == nil {
		return g.take(g.head)
	}
	err := g.rows.emitAll(g.take)
	w := g.rows.work()
	w.Groups, w.Sum = 1, w.Bytes
	g.o.sorted = g.o.sorted.most(w)
	return err
}

// take emits a row, and stops after the last that is wanted.
func (g *sortedGroups) take(row types.Row) error {
	if err := g.emit(row); err != nil {
		return err
	}
	if g.left--; g.left == 0 {
		return ErrStop
	}
	g.left = max(g.left, -1)
	return nil
}

func (g *sortedGroups) free() {
	if g.rows != nil {
		g.rows.free()
	}
	g.mem.Release(g.mem.Used())
	g.store = memory.Arena{Mem: &g.mem, Exact: true}
	g.head, g.rows = nil, nil
}
