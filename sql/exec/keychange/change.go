package keychange

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// Change is a change of a watched key: Old values that a row no longer has, or New values that a
// row now has. If Old values were watched, New are the values after the change; nil: the row was
// deleted.
type Change struct {
	Old, New types.Row
	id       string // the same for the same change
}

// New returns a change that another node identifies by id.
func New(old, next types.Row, id string) Change {
	return Change{Old: old, New: next, id: id}
}

// ID is the same for the same change, on whatever node it was noted.
func (c *Change) ID() string { return c.id }

// Set holds the changes of one statement, by KeyWatch.N, without duplicates.
type Set struct {
	lists [][]Change
	seen  []map[string]struct{} // nil for a list with at most one change
	taken int64                 // of the query's memory
}

// Of returns the changes of one watched key.
func (k *Set) Of(watch int) []Change {
	if watch >= len(k.lists) {
		return nil
	}
	return k.lists[watch]
}

// Len returns the number of all changes.
func (k *Set) Len() int {
	n := 0
	for _, list := range k.lists {
		n += len(list)
	}
	return n
}

// Lists returns the changes of all watched keys.
func (k *Set) Lists() [][]Change { return k.lists }

// Leave replaces the changes of a watched key by those that are still to be checked.
func (k *Set) Leave(mem *memory.Account, watch int, left []Change) {
	free := k.taken / int64(k.Len()) * int64(len(k.lists[watch])-len(left))
	mem.Release(free)
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
func (k *Set) Empty() bool { return len(k.lists) == 0 }

// Add adds a change of a watched key, unless one with the same id is there. It counts the change
// with size bytes.
func (k *Set) Add(mem *memory.Account, watch int, id []byte, size int64, change func() Change) error {
	if k.has(watch, id) {
		return nil
	}
	if err := mem.Grow(size); err != nil {
		return err
	}
	k.taken += size
	ch := change()
	ch.id = string(id)
	k.put(watch, ch)
	return nil
}

func (k *Set) has(watch int, id []byte) bool {
	switch {
	case watch >= len(k.lists) || len(k.lists[watch]) == 0:
		return false
	case k.seen[watch] == nil: // one change is common, and needs no map
		return k.lists[watch][0].id == string(id)
	}
	_, ok := k.seen[watch][string(id)]
	return ok
}

// put adds a change that is not there.
func (k *Set) put(watch int, ch Change) {
	for len(k.lists) <= watch {
		k.lists, k.seen = append(k.lists, nil), append(k.seen, nil)
	}
	list := k.lists[watch]
	if k.seen[watch] == nil && len(list) > 0 {
		k.seen[watch] = map[string]struct{}{list[0].id: {}}
	}
	if k.seen[watch] != nil {
		k.seen[watch][ch.id] = struct{}{}
	}
	k.lists[watch] = append(list, ch)
}

// Merge adds the changes that a task has recorded.
func (k *Set) Merge(other [][]Change) {
	for watch, list := range other {
		for _, ch := range list {
			if !k.has(watch, []byte(ch.id)) {
				k.put(watch, ch)
			}
		}
	}
}

// Sort orders changes by key. The order of the rows has no meaning, because tasks end in any order.
func (k *Set) Sort() {
	for _, list := range k.lists {
		slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.id, b.id) })
	}
}

// ID returns the same text for equal keys, and different texts for different ones.
func ID(columns []*catalog.Column, key types.Row) string {
	var id []byte
	for i, c := range columns {
		id = types.AppendKey(id, c.Type, key[i], false)
	}
	return string(id)
}
