package storage

import (
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// The list of ranges stays short, however many moves there were. What a piece says for reads below the watermark goes, for there are none; what then says
// the same of neighbours is one piece, with the larger of their move numbers: an entry of a step that is under way and has a smaller one is void then, so that
// its driver undoes it and tries again. A piece that is fenced or being received is left alone, and so a step that may have flipped is not concerned.

// untidy tells whether the list can be made shorter now: replicas of older releases do not know the entry.
func (r *Replica) untidy() bool {
	o := r.own.Load()
	return o != nil && r.cfg.knows(clusterversion.ShortLists) && len(tidied(o.applied, txn.Timestamp(r.watermark.Load()))) < len(o.applied)
}

// tidied gives a list as short as it can be where nobody reads below the watermark.
func tidied(list []ownRange, watermark txn.Timestamp) (out []ownRange) {
	for _, p := range list {
		p.settle(watermark)
		if n := len(out); n > 0 && out[n-1].Hi == p.Lo && out[n-1].joins(&p) {
			last := &out[n-1]
			last.Hi, last.Move, last.Arrival = p.Hi, max(last.Move, p.Move), max(last.Arrival, p.Arrival)
			continue
		}
		out = append(out, p)
	}
	return out
}

// settle forgets what only reads below the watermark would ask.
func (p *ownRange) settle(watermark txn.Timestamp) {
	if p.State != Owned && p.State != Gone || p.left {
		return
	}
	if p.Since <= watermark {
		p.Since = 0
	}
	if p.edge <= watermark {
		p.edge = 0
	}
	if p.State == Gone && p.F < watermark {
		p.F = 0
	}
}

// joins tells whether a piece and its neighbour can be one. Of what is gone the arrival matters no more, but that a later one is larger.
func (p *ownRange) joins(q *ownRange) bool {
	settled := func(x *ownRange) bool { return !x.left && x.F == 0 && x.Since == 0 && x.edge == 0 }
	if p.State != q.State || !settled(p) || !settled(q) {
		return false
	}
	return p.State == Gone || p.State == Owned && p.Arrival == q.Arrival
}

// nextArrival gives the arrival with which ranges can be received: larger than any that they have had, and where it can be that of their neighbours, with
// whom they are one piece then.
func (o *ownership) nextArrival(ranges []BucketRange) uint32 {
	next := uint32(1)
	for _, p := range piecesOf(o.applied, ranges, o.first) {
		next = max(next, p.Arrival+1)
	}
	for _, r := range ranges {
		for _, p := range o.applied {
			if p.State == Owned && (p.Hi == r.Lo || p.Lo == r.Hi) {
				next = max(next, p.Arrival)
			}
		}
	}
	return next
}

// LastArrival gives the largest number of the moves that have brought something here, or have tried to; quiet tells whether none is under way.
func (r *Replica) LastArrival() (move uint64, quiet bool) {
	o := r.own.Load()
	if o == nil {
		return 0, true
	}
	return lastArrival(o.list)
}

func lastArrival(list []ownRange) (move uint64, quiet bool) {
	quiet = true
	for _, p := range list {
		if p.Arrival > 0 {
			move = max(move, p.Move)
		}
		quiet = quiet && (p.State == Owned || p.State == Gone)
	}
	return move, quiet
}

// Stay gives the arrival of a bucket that is owned here.
func (r *Replica) Stay(bucket uint32) (arrival uint32, owned bool) {
	p := r.own.Load().orFirst().find(bucket)
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
	t := r.db.NewTransactionAt(uint64(txn.MaxTimestamp), false)
	defer t.Discard()
	err = eachIndex(t, func(x logentry.Index) error {
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
	t := r.db.NewTransactionAt(uint64(txn.MaxTimestamp), false)
	defer t.Discard()
	c := newCursor(t, span, false)
	defer c.it.Close()
	return c.valid(), nil
}
