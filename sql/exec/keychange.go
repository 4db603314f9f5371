package exec

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// KeyChange is a change of a watched key: Old values that a row no longer has, or New values that a
// row now has. If Old values were watched, New are the values after the change; nil: the row was
// deleted.
type KeyChange struct {
	Old, New types.Row
	id       string // the same for the same change
}

// NewKeyChange returns a change that another node identifies by id.
func NewKeyChange(old, next types.Row, id string) KeyChange {
	return KeyChange{Old: old, New: next, id: id}
}

// ID is the same for the same change, on whatever node it was noted.
func (c *KeyChange) ID() string { return c.id }

// KeyChanges holds the changes of one statement, by KeyWatch.N, without duplicates.
type KeyChanges struct {
	lists [][]KeyChange
	seen  []map[string]struct{} // nil for a list with at most one change
	taken int64                 // of the query's memory
}

// Of returns the changes of one watched key.
func (k *KeyChanges) Of(watch int) []KeyChange {
	if watch >= len(k.lists) {
		return nil
	}
	return k.lists[watch]
}

// Len returns the number of all changes.
func (k *KeyChanges) Len() int {
	n := 0
	for _, list := range k.lists {
		n += len(list)
	}
	return n
}

// Leave replaces the changes of a watched key by those that are still to be checked.
func (k *KeyChanges) Leave(c *Ctx, watch int, left []KeyChange) {
	free := k.taken / int64(k.Len()) * int64(len(k.lists[watch])-len(left))
	c.Mem.Release(free)
	k.taken -= free
	k.lists[watch], k.seen[watch] = left, nil
	if len(left) > 1 {
		k.seen[watch] = make(map[string]struct{}, len(left))
		for _, ch := range left {
			k.seen[watch][ch.id] = struct{}{}
		}
	}
}

// Empty reports whether there are no changes.
func (k *KeyChanges) Empty() bool { return len(k.lists) == 0 }

func (k *KeyChanges) add(watch int, id []byte, change func() (KeyChange, error)) error {
	for len(k.lists) <= watch {
		k.lists, k.seen = append(k.lists, nil), append(k.seen, nil)
	}
	if _, ok := k.seen[watch][string(id)]; ok {
		return nil
	}
	ch, err := change()
	if err != nil {
		return err
	}
	ch.id = string(id)
	if k.seen[watch] == nil && len(k.lists[watch]) > 0 { // one change is common, and needs no map
		k.seen[watch] = map[string]struct{}{k.lists[watch][0].id: {}}
		return k.add(watch, id, func() (KeyChange, error) { return ch, nil })
	}
	if k.seen[watch] != nil {
		k.seen[watch][ch.id] = struct{}{}
	}
	k.lists[watch] = append(k.lists[watch], ch)
	return nil
}

// merge adds the changes that a task has recorded.
func (k *KeyChanges) merge(other [][]KeyChange) {
	for watch, list := range other {
		for _, ch := range list {
			_ = k.add(watch, []byte(ch.id), func() (KeyChange, error) { return ch, nil })
		}
	}
}

// Sort orders changes by key. The order of the rows has no meaning, because tasks end in any order.
func (k *KeyChanges) Sort() {
	for _, list := range k.lists {
		slices.SortFunc(list, func(a, b KeyChange) int { return cmp.Compare(a.id, b.id) })
	}
}

// keyWatcher notes watched keys of the rows that a statement writes.
type keyWatcher struct {
	table *table.Table
	watch []plan.KeyWatch
	id    []byte
}

// newKeyWatcher returns the keyWatcher of a Modify. touched reports which columns an update may
// change; nil means all.
func newKeyWatcher(t *table.Table, n *plan.Modify, touched func(col int) bool) *keyWatcher {
	w := &keyWatcher{table: t}
	for _, k := range n.Watch {
		if touched == nil || slices.ContainsFunc(k.Columns, touched) {
			w.watch = append(w.watch, k)
		}
	}
	return w
}

// touches returns a function that reports whether an update changes a column.
func touches(r *table.Rule, assign []assignment) func(col int) bool {
	return func(col int) bool {
		return slices.ContainsFunc(assign, func(a assignment) bool { return a.col == col }) ||
			slices.ContainsFunc(r.Generated, func(g table.GeneratedColumn) bool { return g.Col == col })
	}
}

// note records the changes of watched keys when a row changes. old is nil for a new row, next for a
// deleted one.
func (w *keyWatcher) note(c *Ctx, old, next types.Row) error {
	for i := range w.watch {
		k := &w.watch[i]
		of := next
		if k.Old {
			of = old
		}
		if of == nil || !counts(k, of) || old != nil && next != nil && w.same(k, old, next) {
			continue
		}
		w.id = w.appendKey(w.id[:0], k, of)
		if k.Old && next != nil {
			w.id = w.appendKey(w.id, k, next)
		}
		err := c.Keys.add(k.N, w.id, func() (KeyChange, error) { return w.change(c, k, old, next) })
		if err != nil {
			return err
		}
	}
	return nil
}

// counts reports whether a key with these values can refer to a row, or be referred to.
func counts(k *plan.KeyWatch, row types.Row) bool {
	nulls := 0
	for _, at := range k.Columns {
		if row[at].IsNull() {
			nulls++
		}
	}
	return nulls == 0 || k.Nulls && nulls < len(k.Columns)
}

func (w *keyWatcher) change(c *Ctx, k *plan.KeyWatch, old, next types.Row) (KeyChange, error) {
	var ch KeyChange
	size := int64(len(w.id)) + int64(len(k.Columns))*memory.DatumSize
	if err := c.Mem.Grow(size); err != nil {
		return ch, err
	}
	c.Keys.taken += size
	if k.Old {
		ch.Old = valuesOf(k, old)
	}
	if next != nil {
		ch.New = valuesOf(k, next)
	}
	return ch, nil
}

func valuesOf(k *plan.KeyWatch, row types.Row) types.Row {
	out := make(types.Row, len(k.Columns))
	for i, at := range k.Columns {
		out[i] = row[at].Clone()
	}
	return out
}

func (w *keyWatcher) same(k *plan.KeyWatch, a, b types.Row) bool {
	for _, at := range k.Columns {
		if w.table.CompareColumn(at, a, b) != 0 {
			return false
		}
	}
	return true
}

func (w *keyWatcher) appendKey(dst []byte, k *plan.KeyWatch, row types.Row) []byte {
	for _, at := range k.Columns {
		dst = types.AppendKey(dst, w.table.Def.Columns[at].Type, row[at], false)
	}
	return dst
}

// KeyID returns the same text for equal keys, and different texts for different ones.
func KeyID(columns []*catalog.Column, key types.Row) string {
	var id []byte
	for i, c := range columns {
		id = types.AppendKey(id, c.Type, key[i], false)
	}
	return string(id)
}
