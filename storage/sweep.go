package storage

import (
	"context"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// Keys of local index entries contain no bucket, and a bucket that comes back brings entries with
// the same keys, at the versions of its rows. A newer deletion would hide them, and the order of
// Badger's tables rules out one at an entry's own version. So what a bucket that is elsewhere has
// left is deleted below the watermark, where no reader reads. A later move brings no entry below
// the watermark of its beginning (M8, rebalance/move): of the versions of a row up to there the
// newest counts, and its entries are put there. Each replica sweeps at the same place in its log.

// sweepBytes bounds the keys of an entry.
const sweepBytes = 256 << 10

// sweep applies the entry, unless a move has come since its keys were looked at: that move may have
// brought entries of these keys below the entry's timestamp.
func (m *machine) sweep(e *logentry.Sweep) (result, error) {
	if move, quiet := m.s.own.List.LastIngest(); move != e.Move || !quiet || e.At >= m.s.watermark {
		return resVoid, nil
	}
	m.kvs.Again = true // it may be swept twice
	for _, k := range e.Keys {
		if err := m.kvs.Remove(k, e.At); err != nil {
			return 0, err
		}
	}
	m.r.Moves.swept.Store(uint64(m.s.stamp))
	return resDone, nil
}

// LongGone returns the largest number among the moves whose remains Sweep would remove now, or 0 if
// there are none.
func (r *Mover) LongGone() (move uint64) { return r.Owned.LongGone(r.sweepAt()) }

// sweepAt returns the timestamp at which entries can be deleted now, or 0 if they cannot.
func (r *Mover) sweepAt() txn.Timestamp {
	if W := r.pins.Watermark(); W > 0 && r.cfg.knows(clusterversion.SweptEntries) {
		return W - 1
	}
	return 0
}

// Sweep removes entries of a span of a local index that buckets left behind when they moved away
// long ago. bucketOf reads the bucket from the value of an entry.
func (r *Mover) Sweep(ctx context.Context, span txn.Span, bucketOf func(value []byte) (bucket uint32, ok bool)) error {
	T := r.sweepAt()
	move, quiet := r.Owned.LastImport() // before its entries are looked at
	if T == 0 || !quiet {
		return nil
	}
	for len(span.Start) > 0 {
		keys, next, err := r.sweepable(ctx, span, T, bucketOf)
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			res, _, err := r.log.run((&logentry.Sweep{At: T, Move: move, Keys: keys}).Encode(), 0)
			if err != nil || res == resVoid {
				return err
			}
		}
		span.Start = next
	}
	return nil
}

// sweepable gathers the keys of an entry of the log; next is where to go on, nil at the end.
func (r *Mover) sweepable(
	ctx context.Context, span txn.Span, T txn.Timestamp, bucketOf func([]byte) (uint32, bool),
) (keys [][]byte, next []byte, err error) {
	if !r.stopper.Begin() {
		return nil, nil, proposer.ErrNotLeader
	}
	defer r.stopper.End()
	own := r.Owned.Load().OrFirst()
	t := r.db.At(txn.MaxTimestamp)
	defer t.Close()
	c := t.Scan(span, false)
	defer c.Close()
	size := 0
	for n := 1; c.Valid(); n++ {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		item := c.Item()
		if size >= sweepBytes {
			return keys, item.KeyCopy(), nil
		}
		gone := false
		err := item.Stored(func(value []byte) error {
			bucket, ok := bucketOf(value)
			p := own.Find(bucket)
			p.Lo = bucket
			gone = ok && p.LongGone(T)
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		if gone && item.At() < T {
			keys = append(keys, item.KeyCopy())
			size += len(item.Key())
		}
		c.Next()
	}
	return keys, nil, nil
}
