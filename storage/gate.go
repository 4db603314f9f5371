package storage

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/locktable"
)

// A fence is begun when nothing is prepared in its ranges: prepared transactions would have to be
// decided while all other requests wait. If transactions over several fragments write there all the
// time, such a moment never comes by itself. So the leader keeps further ones from being prepared
// for a moment. Meanwhile the prepared ones are decided, because that needs no further prepare. The
// gate is not part of the protocol, is in no log, and holds up nothing else; a prepare that slips
// by is stopped by the fence. How long that takes depends on the machine, so the driver lets the
// gate wait longer each time. The gate is not closed for a transaction that has been prepared for
// so long that its decision cannot be foreseen.

// doubtAfter is how long a transaction has to be prepared until the gate is not closed for it.
const doubtAfter = 10 * time.Second

// prepareGate keeps transactions that write to ranges from being prepared.
type prepareGate struct {
	move   uint64
	ranges []BucketRange
	since  time.Time
	opened chan struct{}
}

// errUncalm means that there was no moment for a fence: nothing was fenced.
var errUncalm = pgerr.New(pgerr.LockNotAvailable, "transactions in the ranges are being prepared all the time")

// Uncalm reports whether Cut has fenced nothing, because transactions were prepared in the ranges
// all the time. It may be tried again with the same number and a longer time.
func Uncalm(err error) bool {
	return pgerr.Is(err, pgerr.LockNotAvailable) && pgerr.From(err).Message == errUncalm.Message
}

// closeGate closes the gate, and returns the function that opens it. If two fences come together,
// one does without a gate.
func (r *Replica) closeGate(move uint64, ranges []BucketRange) (open func()) {
	g := &prepareGate{move: move, ranges: ranges, since: time.Now(), opened: make(chan struct{})}
	if !r.gate.CompareAndSwap(nil, g) {
		return func() {}
	}
	r.fault("move.gated")
	return func() {
		r.gate.Store(nil)
		close(g.opened)
	}
}

// calm waits for a moment at which nothing is prepared in ranges: first for the given time for one
// that comes by itself, then for the same time with the gate closed. The function that it returns
// opens the gate.
func (r *Replica) calm(ctx context.Context, move uint64, ranges []BucketRange, settle time.Duration) (open func(), err error) {
	open = func() {}
	if err = r.settled(ctx, ranges, settle); !errors.Is(err, ErrUnsettled) {
		return open, err
	}
	if p, _, err := r.inTheWay(ranges, doubtAfter); p != nil || err != nil {
		return open, cmp.Or(err, error(errUncalm))
	}
	open = r.closeGate(move, ranges)
	r.pmu.Lock()
	before, over := r.lastProposed, r.termOver()
	r.pmu.Unlock()
	err = r.applied.wait(ctx, over, before) // what had passed the gate is visible then
	if err == nil {
		err = r.settled(ctx, ranges, settle)
	}
	if err == nil {
		return open, nil
	}
	open()
	if errors.Is(err, ErrUnsettled) {
		err = errUncalm
	}
	return func() {}, err
}

// passGate waits while the gate keeps the transaction from being prepared. An error means that the
// caller does not want it to be prepared any more.
func (t *Tx) passGate(ctx context.Context) error {
	g := t.r.gate.Load()
	if g == nil || !t.touches(g.ranges) {
		return nil
	}
	select {
	case <-g.opened:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.r.stop:
	}
	return nil
}

// touches reports whether the transaction has buffered or locked something of ranges here, or may
// have.
func (t *Tx) touches(ranges []BucketRange) (hit bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.stage.Each(func(key []byte) bool {
		hit = t.r.inRanges(key, ranges)
		return !hit
	})
	t.locks.Each(func(l *locktable.Lock, _ bool) bool {
		hit = hit || t.r.inRanges([]byte(l.Key()), ranges)
		return !hit
	})
	return hit || err != nil || t.locks.Span() != nil
}

// gatedSince returns the time at which a move's fence has begun to hold up requests.
func (r *Replica) gatedSince(move uint64) time.Time {
	if g := r.gate.Load(); g != nil && g.move == move {
		return g.since
	}
	return time.Now()
}
