package storage

import (
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// StoredIndex names an index, or the rows (0), of a table, by storage ids.
type StoredIndex struct{ Table, Index uint32 }

// Indexes returns, in order, the indexes that have keys here, including deleted ones.
func (i *Inspector) Indexes() (out []StoredIndex, err error) {
	if !i.r.stopper.Begin() {
		return nil, proposer.ErrNotLeader
	}
	defer i.r.stopper.End()
	t := i.r.db.At(txn.MaxTimestamp)
	defer t.Close()
	err = t.EachIndex(func(x logentry.Index) error {
		out = append(out, StoredIndex{x.Table, x.Index})
		return nil
	})
	return out, err
}

// Stores reports whether the span has a key that is not deleted, even if its bucket is elsewhere.
func (i *Inspector) Stores(span txn.Span) (bool, error) {
	if !i.r.stopper.Begin() {
		return false, proposer.ErrNotLeader
	}
	defer i.r.stopper.End()
	t := i.r.db.At(txn.MaxTimestamp)
	defer t.Close()
	c := t.Scan(span, false)
	defer c.Close()
	return c.Valid(), nil
}
