package storage

import (
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// A transaction's write buffer, locks and tracked reads belong to the ownership of their buckets:
// before anything of it goes into the log, all of them must be owned, unfenced, and at the
// generation that they had. If ownership has not changed since the transaction began here, that is
// one comparison.

// place returns the stored form of a caller's key that is to be locked or read in its newest state.
func (t *Tx) place(ctx context.Context, key []byte) ([]byte, error) {
	return t.placed.Place(ctx, t.r.Owned, t.r.Globals, key)
}

// storedNow returns the stored form of a caller's key by the present ownership.
func (t *Tx) storedNow(key []byte) []byte { return t.r.Owned.Stored(t.r.Globals, key) }

// Generation returns the generation with which local index entries of a bucket are written now.
func (t *Tx) WriteGeneration(bucket uint32) uint32 { return t.r.Owned.WriteGeneration(bucket) }

// Owned checks that all that the transaction has buffered, locked and (SERIALIZABLE) read here is
// still the fragment's; if not, RowsMoved(err) is true. A fence does not matter, because it may be
// lifted.
func (t *Tx) Owned() error {
	o := t.r.Owned.Load()
	if o == nil {
		return nil
	}
	v, err := t.look(o)
	if err == nil && v == ownership.Elsewhere {
		return errRowsMoved
	}
	return err
}

// awaitIntact waits until all that the transaction has here is owned and unfenced, and returns the
// ownership by which it is. t is nil for an entry that belongs to no transaction.
func (t *Tx) awaitIntact(ctx context.Context) (*owned.Buckets, error) {
	if t == nil || t.r.Owned.Load() == nil {
		return nil, nil
	}
	var failed error
	o, err := t.r.Owned.Await(ctx, 0, func(o *owned.Buckets) (ownership.Verdict, ownership.Piece) {
		v, err := t.look(o)
		failed = err
		if err != nil {
			v = ownership.Elsewhere
		}
		return v, ownership.Piece{}
	})
	var moved *txn.MovedError
	switch {
	case failed != nil:
		return nil, failed
	case errors.As(err, &moved) || pgerr.Is(err, pgerr.CannotConnectNow) && t.r.proposer.Term() != 0:
		return nil, errRowsMoved
	}
	return o, err
}

// look returns the verdict of o on all that the transaction has here: here, wait or elsewhere.
func (t *Tx) look(o *owned.Buckets) (ownership.Verdict, error) {
	if !rule.MoveBuffer {
		return ownership.Here, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	worst, err := t.placed.Check(o, func(placed []*owned.Buckets) (ownership.Verdict, error) {
		return t.lookAtKeys(o, placed)
	})
	if err == nil && worst != ownership.Elsewhere && t.reads != nil {
		worst = max(worst, t.reads.Verdict(o))
	}
	return worst, err
}

// lookAtKeys is called with mu held.
func (t *Tx) lookAtKeys(o *owned.Buckets, placed []*owned.Buckets) (worst ownership.Verdict, err error) {
	worst = ownership.Here
	add := func(key []byte) {
		worst = max(worst, o.HoldsKey(key, t.r.Globals))
	}
	err = t.buffer.Each(func(key []byte) bool {
		add(key)
		return worst != ownership.Elsewhere
	})
	t.locks.Each(func(l *locktable.Lock, _ bool) bool {
		add([]byte(l.Key()))
		return worst != ownership.Elsewhere
	})
	if span := t.locks.Span(); span != nil && worst != ownership.Elsewhere {
		for _, then := range placed {
			worst = max(worst, o.Unmoved(&then.OrFirst().Map, keyspace.BucketsOf(*span), func(p *ownership.Piece) bool {
				return p.State == Owned || p.State == Fenced
			}))
		}
	}
	return worst, err
}

// releaseGone ends the waits for locks of buckets that have moved away: no transaction will get
// these rows here.
func (r *Replica) releaseGone(ranges []BucketRange) {
	r.locks.Fail(&txn.MovedError{Fragment: r.cfg.Fragment}, func(key []byte) bool {
		if keyspace.IndexOf(key) != keyspace.Rows && !r.Globals.Has(key) {
			return false
		}
		b, _, ok := keyspace.Place(key)
		return ok && slices.ContainsFunc(ranges, func(r BucketRange) bool { return r.Contains(shardmap.Bucket(b)) })
	})
}

// Global registers an index as global (keyspace.Globals.Add).
func (t *Tx) Global(table, index uint32) { t.r.Globals.Add(table, index) }

// given returns the caller's form of any stored key.
func (r *Replica) given(key []byte) []byte {
	if r.Owned.Load() == nil || !keyspace.IsRow(key) && !r.Globals.Has(key) {
		return key
	}
	return keyspace.AppendGiven(nil, key)
}
