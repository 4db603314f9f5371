package table

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/types"
)

// EntryReader reads all slots of a scan from the entries of the index that it reads, so that the
// rows are not read.
type EntryReader struct {
	t          *Table
	index, key []entryPart
}

// entryPart is a column of an entry, or of the primary key.
type entryPart struct {
	slot int // -1: the scan does not need it
	oid  types.OID
	desc bool
}

// NewEntryReader returns a reader for columns in the order of plan.Scan.EntryColumns. x is nil for
// the index in primary key order.
func NewEntryReader(t *Table, x *Index, columns []plan.EntryColumn) (*EntryReader, error) {
	r := &EntryReader{t: t}
	for _, c := range columns {
		if c.Key {
			for i := len(r.key); i <= c.Of; i++ {
				r.key = append(r.key, entryPart{slot: -1, oid: t.Def.Columns[t.Key[i]].Type})
			}
			r.key[c.Of].slot = c.Slot
			continue
		}
		if x == nil || c.Of >= len(x.Types) {
			return nil, pgerr.New(pgerr.InternalError,
				"a scan of table %q reads columns that its index has not", t.Def.Name)
		}
		for i := len(r.index); i <= c.Of; i++ {
			desc := x.Def.OrderOf(i)&catalog.KeyDesc != 0
			r.index = append(r.index, entryPart{slot: -1, oid: x.Types[i], desc: desc})
		}
		r.index[c.Of].slot = c.Slot
	}
	return r, nil
}

// Read reads an entry with its primary key into the slots. key is nil for the index in primary key
// order.
func (r *EntryReader) Read(slots types.Row, key, primaryKey []byte) error {
	if len(r.index) > 0 {
		if len(key) < entryAt {
			return r.t.DamagedEntry(key)
		}
		if err := readParts(slots, r.index, key[entryAt:]); err != nil {
			return r.t.DamagedEntry(key)
		}
	}
	if err := readParts(slots, r.key, primaryKey); err != nil {
		return r.t.DamagedEntry(primaryKey)
	}
	return nil
}

func readParts(slots types.Row, parts []entryPart, b []byte) error {
	for _, p := range parts {
		d, rest, err := types.DecodeKey(p.oid, b, p.desc)
		if err != nil {
			return err
		}
		if b = rest; p.slot >= 0 {
			slots[p.slot] = d
		}
	}
	return nil
}
