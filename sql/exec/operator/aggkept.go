package operator

import (
	"slices"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// keptRows holds the arguments of the rows of a group until the end, direct arguments included.
type keptRows struct {
	store   memory.Arena
	seen    memory.KeySet
	rows    []types.Row
	group   int       // number of the group
	outside *keptFile // nil: the rows are here
}

// keep keeps the evaluated arguments of a row.
func (a *aggCall) keep(k *keptRows) error {
	if k.outside != nil {
		return k.outside.add(k.group, a.vals)
	}
	if a.distinct {
		key := appendRowKey(nil, a.vals[len(a.direct):len(a.direct)+a.own], nil, a.types)
		if fresh, err := k.seen.Add(key); err != nil || !fresh {
			return err
		}
	}
	r, err := k.store.Clone(a.vals)
	if err != nil {
		return err
	}
	k.rows = append(k.rows, r)
	return nil
}

func (k *keptRows) free() {
	k.seen.Free()
	k.store.Free()
	k.rows = nil
}

// replay steps the kept rows in order.
func (a *aggCall) replay(c *Execution, s aggState) error {
	k := s.kept
	if k.outside != nil {
		return k.outside.replay(c, s)
	}
	if len(a.order) > 0 {
		slices.SortStableFunc(k.rows, a.order.Compare)
	}
	for _, r := range k.rows {
		if err := a.stepRow(c, s, r); err != nil {
			return err
		}
	}
	k.free()
	return nil
}

// keptFile holds the kept rows of all groups for one aggregate, because they exceed the operation's
// share: a sorter of rows that begin with the number of their group.
type keptFile struct {
	call *aggCall
	rows *sorter
	row  types.Row // scratch space; in the end the next row
	in   sortedRows
	open bool
	ok   bool // there is a next row
	key  []byte
	last []byte // key of the row before, for DISTINCT
}

func newKeptFile(c *Execution, a *aggCall) *keptFile {
	keys := Ordering{{slot: 0, compare: types.Comparer(types.Int8)}}
	for _, k := range a.order {
		k.slot++
		keys = append(keys, k)
	}
	if a.distinct { // equal rows become neighbours
		for i, t := range a.types[:a.own] {
			keys = append(keys, NewOrdering([]plan.SortKey{{Slot: 1 + len(a.direct) + i, Type: t}})...)
		}
	}
	return &keptFile{call: a, rows: newSorter(c, keys), row: make(types.Row, 1+len(a.vals))}
}

// take moves the rows of a group to the file.
func (f *keptFile) take(k *keptRows) error {
	for _, r := range k.rows {
		if err := f.add(k.group, r); err != nil {
			return err
		}
	}
	k.free()
	k.outside = f
	return nil
}

func (f *keptFile) add(group int, vals types.Row) error {
	f.row[0] = types.NewInt(int64(group))
	copy(f.row[1:], vals)
	return f.rows.add(f.row)
}

// replay steps the rows of a group. Groups come in the order of their numbers.
func (f *keptFile) replay(c *Execution, s aggState) (err error) {
	if !f.open {
		f.open = true
		if f.in, err = f.rows.open(); err != nil {
			return err
		}
		if f.row, f.ok, err = f.in.next(); err != nil {
			return err
		}
	}
	a, first := f.call, true
	for f.ok && f.row[0].N == int64(s.kept.group) {
		vals := f.row[1:]
		same := false
		if a.distinct {
			f.key = appendRowKey(f.key[:0], vals[len(a.direct):len(a.direct)+a.own], nil, a.types)
			same = !first && string(f.key) == string(f.last)
			f.key, f.last = f.last, f.key
		}
		if !same {
			if err := a.stepRow(c, s, vals); err != nil {
				return err
			}
		}
		first = false
		if f.row, f.ok, err = f.in.next(); err != nil {
			return err
		}
	}
	return nil
}

func (f *keptFile) free() {
	f.in.close()
	f.rows.free()
}
