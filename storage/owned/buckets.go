package owned

import (
	"time"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
)

// Buckets is which buckets a fragment owns at one moment. It is immutable; a change replaces it.
// Methods may be called with nil, unless they are those of the embedded map.
type Buckets struct {
	ownership.Map                // applied, with the proposed changes
	Applied       ownership.List // without the proposed changes
	pending       []Pending
	// since when a move has fenced something, as far as this process knows
	fenced  map[uint64]time.Time
	keep    txn.Timestamp
	changed chan struct{} // closed when another has replaced it
}

// Logged returns what the log says, without the proposed changes.
func (o *Buckets) Logged() *ownership.Map { return &ownership.Map{First: o.First, List: o.Applied} }

// OrFirst returns o, or if it is nil, the Buckets of a fragment before its first move.
func (o *Buckets) OrFirst() *Buckets {
	if o == nil {
		return &Buckets{Map: ownership.Map{First: ownership.Owned}}
	}
	return o
}

// Fences reports whether anything is fenced.
func (o *Buckets) Fences() bool { return len(o.fenced) > 0 }

// Generation returns the generation of a bucket.
func (o *Buckets) Generation(bucket uint32) uint32 {
	if o == nil {
		return 0
	}
	return o.Find(bucket).Generation
}

// FencedBy returns the F of a fence of a move around ranges that is applied.
func (o *Buckets) FencedBy(move uint64, ranges []ownership.BucketRange) (F txn.Timestamp, ok bool) {
	if o == nil {
		return 0, false
	}
	now := o.Logged().Pieces(ranges...)
	for _, p := range now {
		if p.State != ownership.Fenced || p.Move != move {
			return 0, false
		}
		F = p.F
	}
	return F, len(now) > 0
}

// HoldsKey returns the verdict on a stored key: here if its bucket is owned at its generation.
func (o *Buckets) HoldsKey(key []byte, global *keyspace.Globals) ownership.Verdict {
	if keyspace.IndexOf(key) != keyspace.Rows && !global.Has(key) {
		return ownership.Here // its row is checked too
	}
	b, a, ok := keyspace.Place(key)
	if !ok {
		return ownership.Here
	}
	return o.Holds(b, a)
}

// Change names a change that a move makes: that of a Fence, an Own or a MovedAway.
type Change struct {
	Kind logentry.Kind
	Move uint64
}

// Pending is a change between its proposal and its application.
type Pending struct {
	Change
	Ranges []ownership.BucketRange
	F      txn.Timestamp // fence: its stamp; own: the source's
	Since  txn.Timestamp // own: reads below it are refused
	Edge   txn.Timestamp // own: its stamp
}

// show makes of a piece what it will be when the change is applied.
func (c *Pending) show(p *ownership.Piece) {
	switch {
	case c.Kind == logentry.KindFence && p.State == ownership.Owned:
		p.State, p.F, p.Move = ownership.Fenced, c.F, c.Move
	case c.Kind == logentry.KindOwn && p.State == ownership.Receiving && p.Move == c.Move:
		p.State, p.Since, p.F, p.Edge = ownership.Owned, c.Since, c.F, c.Edge
	case c.Kind == logentry.KindMovedAway && p.State == ownership.Fenced && p.Move == c.Move:
		// counted until the entry is applied, which is above the low-water timestamp
		p.State, p.Edge = ownership.Gone, txn.MaxTimestamp
	}
}
