package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// The steps of a move, as its driver takes them. Each may be repeated, doubled, late, or come from two drivers at once: what is of an older move,
// or out of its turn, answers ErrMoveVoid and changes nothing; what was done already is done.

// ErrMoveVoid says that a step of a move has no effect: a later move of the ranges has begun, or this one was undone, or an earlier step is missing.
var ErrMoveVoid = errors.New("the step of the move is void")

// ErrUnsettled says that transactions which write to the ranges of a fence are prepared and still undecided. The fence stands: the driver has the
// move declared aborted, or given another number, and lifts it.
var ErrUnsettled = errors.New("transactions in the ranges are prepared and undecided")

// HeldError says that a transaction held by PREPARE TRANSACTION has changed or locked rows of the ranges that shall move.
type HeldError struct{ GID string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("prepared transaction %q has changed or locked rows of the buckets", e.GID)
}

// Unwrap gives what a client would see.
func (e *HeldError) Unwrap() error {
	return pgerr.New(pgerr.ObjectInUse, "prepared transaction \"%s\" has changed or locked rows of the buckets", e.GID).
		WithHint("Use COMMIT PREPARED or ROLLBACK PREPARED.")
}

// BeginReceive starts a new arrival of the ranges at the target, and gives its number; since is the watermark of the source, or below. What an
// undone move of them has left goes.
func (r *Replica) BeginReceive(ctx context.Context, move uint64, ranges []BucketRange, since txn.Timestamp) (arrival uint32, err error) {
	if err := r.nothingThere(ranges); err != nil {
		return 0, err
	}
	globals, err := r.globals()
	if err != nil {
		return 0, err
	}
	err = r.step(&entry{kind: kindReceive, moving: moving{move: move, ranges: ranges, since: since, globals: globals}}, since)
	if err != nil {
		return 0, err
	}
	o := r.own.Load()
	if o == nil {
		return 0, errTermEnded
	}
	p := o.find(ranges[0].Lo)
	if p.State != Receiving || p.Move != move {
		return 0, ErrMoveVoid // a later one has begun meanwhile
	}
	return p.Arrival, nil
}

// nothingThere makes sure that a fragment which was never told of ranges has no rows of them: in a fragment of the first hour the log does not say
// which buckets it began with.
func (r *Replica) nothingThere(ranges []BucketRange) error {
	if r.term.Load() == 0 {
		return errNoLeader
	}
	if r.cfg.Added {
		return nil
	}
	o := r.own.Load().orFirst()
	for _, asked := range ranges {
		for _, p := range o.pieces(asked) {
			if p.State != Owned || p.Move != 0 {
				continue
			}
			n, _, err := r.countRows([]leftRange{{p.BucketRange, 0}}, 1)
			if err != nil {
				return err
			}
			if n > 0 {
				return pgerr.New(pgerr.InternalError, "fragment %d has rows in buckets %s, which it shall receive", r.cfg.Fragment, p.BucketRange)
			}
		}
	}
	return nil
}

// step puts an entry of a move into the log; ErrMoveVoid where it has no effect.
func (r *Replica) step(e *entry, above txn.Timestamp) error {
	if e.kind != kindCarry && !checkRanges(e.moving.ranges) {
		return pgerr.New(pgerr.InternalError, "the bucket ranges of a move are not in order")
	}
	res, _, err := r.run(e, above)
	r.fault("move.step")
	if err == nil && res == resVoid {
		err = ErrMoveVoid
	}
	return err
}

// Fence stops the ranges at the source: from its proposal on there is no lock, commit, prepare, check and no current timestamp for them, and no
// read above F, which it gives. What is prepared in the ranges is waited for, no longer than settle: ErrUnsettled, *HeldError; where one of these was
// there already nothing is fenced, and otherwise the fence stands. A move that was fenced and unfenced may not be fenced again by the same number,
// but by a newer one, which need not be that of the target's.
func (r *Replica) Fence(ctx context.Context, move uint64, ranges []BucketRange, settle time.Duration) (F txn.Timestamp, err error) {
	if r.term.Load() == 0 {
		return 0, errNoLeader
	}
	F, ok := r.fencedBy(move, ranges)
	if !ok {
		if err := r.settled(ctx, ranges, settle); err != nil { // better now than with everybody waiting
			return 0, err
		}
		if F, err = r.fence(ctx, move, ranges); err != nil {
			return 0, err
		}
	}
	return F, r.settled(ctx, ranges, settle)
}

// fencedBy gives the F of a fence that is applied.
func (r *Replica) fencedBy(move uint64, ranges []BucketRange) (F txn.Timestamp, ok bool) {
	o := r.own.Load()
	if o == nil {
		return 0, false
	}
	now := piecesOf(o.applied, ranges, o.first)
	for _, p := range now {
		if p.State != Fenced || p.Move != move {
			return 0, false
		}
		F = p.F
	}
	return F, len(now) > 0
}

func (r *Replica) fence(ctx context.Context, move uint64, ranges []BucketRange) (txn.Timestamp, error) {
	if !checkRanges(ranges) {
		return 0, pgerr.New(pgerr.InternalError, "the bucket ranges of a move are not in order")
	}
	e := &entry{kind: kindFence, moving: moving{move: move, ranges: ranges}}
	o := offer{body: e.encode(), fence: func(F txn.Timestamp) {
		if rule.MoveProposed {
			r.addPending(move, ranges, F)
		}
	}}
	p, F, err := r.offer(ctx, o)
	if err != nil {
		return 0, err
	}
	r.fault("move.fencing")
	res, err := await(p)
	r.fault("move.fenced")
	if err != nil {
		return 0, errors.Join(err, r.forgetFence(move))
	}
	if res == resVoid {
		return 0, ErrMoveVoid
	}
	if at, ok := r.fencedBy(move, ranges); ok {
		F = at // of the first, where it was doubled
	}
	return F, nil
}

// forgetFence has nobody wait for a proposed fence that got no answer, unless it is in the log; behind another entry of the term that is known.
func (r *Replica) forgetFence(move uint64) error {
	if r.term.Load() == 0 {
		return nil // the next term begins without it
	}
	if _, _, err := r.run(&entry{kind: kindCeiling}, 0); err != nil {
		return err
	}
	m := r.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	r.publishOwners(&m.s.own, []uint64{move})
	return nil
}

// settled waits until nothing that is prepared or installed writes to ranges, or locks there; held transactions are not waited for.
func (r *Replica) settled(ctx context.Context, ranges []BucketRange, settle time.Duration) error {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for {
		p, h, err := r.inTheWay(ranges)
		switch {
		case err != nil:
			return err
		case h != nil:
			return &HeldError{GID: h.hold.req.GID}
		case p == nil:
			return nil
		}
		select {
		case <-p.settled:
		case <-timer.C:
			return ErrUnsettled
		case <-ctx.Done():
			return ctx.Err()
		case <-r.stop:
			return errNoLeader
		}
	}
}

// inTheWay gives a transaction that has something in ranges: one that is prepared or being installed, or held.
func (r *Replica) inTheWay(ranges []BucketRange) (*preparedTxn, *heldTxn, error) {
	type open struct {
		p    *preparedTxn
		h    *heldTxn
		each func(fn func(key []byte, mode txn.LockMode) error) error
	}
	for again := 0; ; again++ {
		var all []open
		r.smu.RLock()
		for _, p := range r.prepared {
			all = append(all, open{p: p, each: p.each})
		}
		for _, p := range r.installing {
			all = append(all, open{p: p})
		}
		for _, h := range r.held {
			all = append(all, open{h: h, each: h.locked.each})
		}
		r.smu.RUnlock()
		var failed error
		for _, x := range all {
			hit, err := false, error(nil)
			if x.h != nil && r.spansTouch(x.h.hold.reads, ranges) {
				hit = true
			} else if x.each == nil {
				hit = r.summaryTouches(x.p.summary, ranges)
			} else {
				err = x.each(func(key []byte, _ txn.LockMode) error {
					if r.inRanges(key, ranges) {
						hit = true
						return ErrStop
					}
					return nil
				})
			}
			if hit {
				return x.p, x.h, nil
			}
			if err != nil {
				failed = err // its writes may have gone elsewhere, or to their rows, meanwhile
			}
		}
		if failed == nil || again == 3 {
			return nil, nil, failed
		}
	}
}

// inRanges tells whether a stored key is of some buckets.
func (r *Replica) inRanges(key []byte, ranges []BucketRange) bool {
	if IndexOf(key) != rowIndex && !r.isGlobal(key) {
		return false
	}
	b, _, ok := placeOf(key)
	return ok && slices.ContainsFunc(ranges, func(m BucketRange) bool { return m.Contains(shardmap.Bucket(b)) })
}

// spansTouch tells whether spans of stored keys may have something of some buckets.
func (r *Replica) spansTouch(spans []txn.Span, ranges []BucketRange) bool {
	return slices.ContainsFunc(spans, func(s txn.Span) bool {
		of := r.bucketsOf(s)
		return slices.ContainsFunc(ranges, func(m BucketRange) bool { return !m.Intersect(of).Empty() })
	})
}

// summaryTouches is inRanges for a large write set.
func (r *Replica) summaryTouches(k *keySummary, ranges []BucketRange) bool {
	for _, s := range k.spans {
		if IndexOf(s.Start) != rowIndex && !r.isGlobal(s.Start) {
			continue
		}
		lo, _, _ := placeOf(s.Start)
		hi, _, _ := placeOf(s.End)
		if lo > hi {
			lo, hi = 0, shardmap.BucketCount-1 // arrivals of a global index
		}
		if slices.ContainsFunc(ranges, func(m BucketRange) bool { return !m.Intersect(BucketRange{Lo: lo, Hi: hi + 1}).Empty() }) {
			return true
		}
	}
	return false
}

// Unfence lifts the fence of a move, and bars one that is on its way. The catalog must have declared the move aborted before.
func (r *Replica) Unfence(_ context.Context, move uint64, ranges []BucketRange) error {
	return r.step(&entry{kind: kindUnfence, moving: moving{move: move, ranges: ranges}}, 0)
}

// Own makes the target the owner, after the flip: its stamp is above F, and so above all that the source has promised for the ranges. since is the
// largest watermark that the source's reads have given: reads below it are refused here too.
func (r *Replica) Own(_ context.Context, move uint64, ranges []BucketRange, F, since txn.Timestamp) error {
	if err := r.cfg.Clock.Check(F); err != nil {
		return err
	}
	above := F
	if !rule.MoveAbove {
		above = 0
	}
	return r.step(&entry{kind: kindOwn, moving: moving{move: move, ranges: ranges, since: since}}, above)
}

// Gone tells the source, after the target owns the ranges: stages and locks there die.
func (r *Replica) Gone(_ context.Context, move uint64, ranges []BucketRange) error {
	e := &entry{kind: kindGone, moving: moving{move: move, ranges: ranges}}
	if _, ok := r.fencedBy(move, ranges); ok {
		var left []leftRange
		for _, p := range piecesOf(r.own.Load().applied, ranges, r.firstState()) {
			left = append(left, leftRange{p.BucketRange, p.Arrival})
		}
		_, counted, err := r.countRows(left, 0)
		if err != nil {
			return err
		}
		e.stats = counted.minus().encode()
	}
	return r.step(e, 0)
}

// Clean has the source delete, in the background, what it has of ranges that are gone. Snapshots that were taken before still find it.
func (r *Replica) Clean(_ context.Context, move uint64, ranges []BucketRange) error {
	globals, err := r.globals()
	if err != nil {
		return err
	}
	return r.step(&entry{kind: kindClean, moving: moving{move: move, ranges: ranges, globals: globals}}, 0)
}

// Abandon has the target give up what it has received of a move that the catalog has declared aborted, and bars what of it is still on its way.
func (r *Replica) Abandon(_ context.Context, move uint64, ranges []BucketRange) error {
	globals, err := r.globals()
	if err != nil {
		return err
	}
	return r.step(&entry{kind: kindAbandon, moving: moving{move: move, ranges: ranges, globals: globals}}, 0)
}

// FencedMove is a fence that stands.
type FencedMove struct {
	Move   uint64
	Ranges []BucketRange
	Since  time.Time // as far as this leader knows
}

// Watermark gives the timestamp below which reads are refused.
func (r *Replica) Watermark() txn.Timestamp { return txn.Timestamp(r.watermark.Load()) }
