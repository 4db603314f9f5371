package table

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/rebalance/rows"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Deriver computes the local index entries that follow from rows copied to another fragment,
// version by version: those of the index in primary key order and of all local secondary indexes,
// public or being built. It uses the definitions of one view of the catalog. It must not be used by
// several goroutines.
type Deriver struct {
	view   *catalog.View
	tables map[uint32]*derivation // by storage id
}

// derivation holds a Deriver's data about a table.
type derivation struct {
	Table  *Table
	rules  []*Index
	ctx    expr.Ctx
	reader types.RowReader
	row    types.Row
	order  []byte
	sides  [2][][]Entry // by rule, of a version and of the next
	bufs   [2][]byte
	value  []byte
}

var _ rows.Deriver = (*Deriver)(nil)

// NewDeriver returns a Deriver for the tables of a view.
func NewDeriver(view *catalog.View) *Deriver {
	return &Deriver{view: view, tables: map[uint32]*derivation{}}
}

// View returns the view whose definitions are used.
func (d *Deriver) View() *catalog.View { return d.view }

// Tables returns the tables whose rows were derived so far, by OID. The derived entries are
// valid while these definitions are in force.
func (d *Deriver) Tables() []*catalog.Table {
	var out []*catalog.Table
	for _, t := range d.tables {
		if t != nil {
			out = append(out, t.Table.Def)
		}
	}
	slices.SortFunc(out, func(a, b *catalog.Table) int { return cmp.Compare(a.OID, b.OID) })
	return out
}

// Knows reports whether the view has the table of a row. Rows of other tables have no entries.
func (d *Deriver) Knows(storageID uint32) (bool, error) {
	t, err := d.derivation(storageID)
	return t != nil, err
}

func (d *Deriver) derivation(storageID uint32) (*derivation, error) {
	if t, ok := d.tables[storageID]; ok {
		return t, nil
	}
	def := d.view.TableByStorage(storageID)
	if def == nil || def.Kind == catalog.KindView {
		d.tables[storageID] = nil
		return nil, nil
	}
	t := &derivation{ctx: expr.Ctx{Run: 1}}
	var err error
	if t.Table, err = New(def); err != nil {
		return nil, err
	}
	list, err := secondaryIndexes(d.view, def)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(x query.Index) bool { return x.Def.Global })
	if t.rules, err = NewIndexes(&expr.Compiler{}, t.Table, list); err != nil {
		return nil, err
	}
	t.row = make(types.Row, len(t.Table.Kinds))
	for i := range t.sides {
		t.sides[i] = make([][]Entry, len(t.rules))
	}
	d.tables[storageID] = t
	return t, nil
}

// Row calls f with the changes that follow from versions of the row under key, oldest first;
// generation is the one that the bucket gets. before is the value before the first version if
// that was copied earlier, otherwise nil. If the view does not have the table, nothing follows.
func (d *Deriver) Row(
	key []byte, generation uint32, before []byte, versions []rows.Version, f func(rows.Change) error,
) error {
	if len(key) < KeyAt {
		return corrupted("%s is too short for a row's", KeyName(key))
	}
	t, err := d.derivation(storageOf(key))
	if err != nil || t == nil {
		return err
	}
	side := 0
	if err := t.entries(side, key, before, false); err != nil {
		return err
	}
	for i, v := range versions {
		if err := t.changeOrder(key, generation, before != nil, v, f); err != nil {
			return err
		}
		if err := t.entries(1-side, key, v.Value, i == len(versions)-1); err != nil {
			return err
		}
		if err := t.change(t.sides[side], t.sides[1-side], generation, v.At, f); err != nil {
			return err
		}
		side, before = 1-side, v.Value
	}
	return nil
}

// storageOf reads the table in any key.
func storageOf(key []byte) uint32 {
	return uint32(key[0])<<24 | uint32(key[1])<<16 | uint32(key[2])<<8 | uint32(key[3])
}

// changeOrder is Row for the index in primary key order, in which a row has the same entry as long
// as it exists.
func (t *derivation) changeOrder(
	key []byte, generation uint32, there bool, v rows.Version, f func(rows.Change) error,
) error {
	if t.Table.Order == 0 || there == (v.Value != nil) {
		return nil
	}
	t.order = t.Table.AppendOrderKey(t.order[:0], key[KeyAt:])
	c := rows.Change{At: v.At, Key: t.order}
	if v.Value != nil {
		t.value = AppendOrderValue(t.value[:0], key, generation)
		c.Value = t.value
	}
	return f(c)
}

// entries computes the index entries of a value, into a side. If an index cannot have an entry for
// the value (its expression fails, or the key is too long), the value is older than the index, and
// there is none. That is an error only for the newest version and a public index.
func (t *derivation) entries(side int, key, value []byte, newest bool) error {
	list, buf := t.sides[side], t.bufs[side][:0]
	for i := range list {
		list[i] = list[i][:0]
	}
	if value == nil {
		return nil
	}
	if err := t.Table.Decode(&t.reader, t.row, value); err != nil {
		return err
	}
	for i, x := range t.rules {
		entries, rest, err := x.Entries(&t.ctx, t.row, key, list[i], buf)
		buf = rest
		switch {
		case err == nil:
			list[i] = entries
		case newest && x.Def.State == catalog.IndexPublic:
			return err
		}
	}
	t.bufs[side] = buf
	return nil
}

// change calls f with the differences between the entries.
func (t *derivation) change(
	old, next [][]Entry, generation uint32, at txn.Timestamp, f func(rows.Change) error,
) error {
	for i := range next {
		for was, now := old[i], next[i]; len(was) > 0 || len(now) > 0; {
			order := orderOf(was, now)
			var err error
			switch {
			case order < 0:
				err = f(rows.Change{At: at, Key: was[0].Key, Yields: was[0].Exclusive})
			case order > 0 || !bytes.Equal(was[0].Value, now[0].Value):
				t.value = AppendMoved(t.value[:0], now[0].Value, generation)
				err = f(rows.Change{At: at, Key: now[0].Key, Value: t.value, Yields: now[0].Exclusive})
			}
			if err != nil {
				return err
			}
			if order <= 0 {
				was = was[1:]
			}
			if order >= 0 {
				now = now[1:]
			}
		}
	}
	return nil
}
