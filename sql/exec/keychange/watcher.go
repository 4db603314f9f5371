package keychange

import (
	"slices"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// Watcher notes watched keys of the rows that a statement writes.
type Watcher struct {
	table *table.Table
	watch []plan.KeyWatch
	id    []byte
}

// NewWatcher returns the Watcher of a Modify. touched reports which columns an update may
// change; nil means all.
func NewWatcher(t *table.Table, n *plan.Modify, touched func(col int) bool) *Watcher {
	w := &Watcher{table: t}
	for _, k := range n.Watch {
		if touched == nil || slices.ContainsFunc(k.Columns, touched) {
			w.watch = append(w.watch, k)
		}
	}
	return w
}

// None reports whether no key is watched.
func (w *Watcher) None() bool { return len(w.watch) == 0 }

// Note adds the changes of watched keys when a row changes. old is nil for a new row, next for a
// deleted one.
func (w *Watcher) Note(to *Set, mem *memory.Account, old, next types.Row) error {
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
		size := int64(len(w.id)) + int64(len(k.Columns))*memory.DatumSize
		if err := to.Add(mem, k.N, w.id, size, func() Change { return changeOf(k, old, next) }); err != nil {
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

func changeOf(k *plan.KeyWatch, old, next types.Row) (ch Change) {
	if k.Old {
		ch.Old = valuesOf(k, old)
	}
	if next != nil {
		ch.New = valuesOf(k, next)
	}
	return ch
}

func valuesOf(k *plan.KeyWatch, row types.Row) types.Row {
	out := make(types.Row, len(k.Columns))
	for i, at := range k.Columns {
		out[i] = row[at].Clone()
	}
	return out
}

func (w *Watcher) same(k *plan.KeyWatch, a, b types.Row) bool {
	for _, at := range k.Columns {
		if w.table.CompareColumn(at, a, b) != 0 {
			return false
		}
	}
	return true
}

func (w *Watcher) appendKey(dst []byte, k *plan.KeyWatch, row types.Row) []byte {
	for _, at := range k.Columns {
		dst = types.AppendKey(dst, w.table.Def.Columns[at].Type, row[at], false)
	}
	return dst
}
