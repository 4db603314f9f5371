package storage

import (
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// untidy tells whether the list can be made shorter now: replicas of older releases do not know the entry.
func (r *Replica) untidy() bool {
	o := r.own.Load()
	return o != nil && r.cfg.knows(clusterversion.ShortLists) && len(o.applied.Tidied(txn.Timestamp(r.watermark.Load()))) < len(o.applied)
}

// LastArrival gives the largest number of the moves that have brought something here, or have tried to; quiet tells whether none is under way.
func (r *Replica) LastArrival() (move uint64, quiet bool) {
	o := r.own.Load()
	if o == nil {
		return 0, true
	}
	return o.List.LastArrival()
}

// Stay gives the arrival of a bucket that is owned here.
func (r *Replica) Stay(bucket uint32) (arrival uint32, owned bool) {
	p := r.own.Load().orFirst().Find(bucket)
	return p.Arrival, p.State == Owned
}

// StoredIndex names an index, or the rows (0), of a table, by storage ids.
type StoredIndex struct{ Table, Index uint32 }

// Indexes lists the indexes of which there are keys here, deleted ones included, in order.
func (r *Replica) Indexes() (out []StoredIndex, err error) {
	if !r.beginReading() {
		return nil, errNoLeader
	}
	defer r.done.Done()
	t := r.db.At(txn.MaxTimestamp)
	defer t.Close()
	err = t.EachIndex(func(x logentry.Index) error {
		out = append(out, StoredIndex{x.Table, x.Index})
		return nil
	})
	return out, err
}

// Stores tells whether there is a key of a span that nothing has deleted, wherever its bucket is.
func (r *Replica) Stores(span txn.Span) (bool, error) {
	if !r.beginReading() {
		return false, errNoLeader
	}
	defer r.done.Done()
	t := r.db.At(txn.MaxTimestamp)
	defer t.Close()
	c := t.Scan(span, false)
	defer c.Close()
	return c.Valid(), nil
}
