package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// A fence is begun when nothing is prepared in its ranges: what is would have to be decided while everybody waits. Where transactions over several fragments write
// there all the time such a moment never comes by itself. So the leader keeps the next ones from being prepared, for a moment: what is prepared is decided
// meanwhile, for that needs nobody's prepare. The gate is no part of the protocol, in no log, and holds up nothing else; a prepare that slips by is met by the fence.
// How long that takes is the machine's to say, so the driver lets the gate wait longer each time. Only for what has been prepared for so long that nobody can tell
// when it will be decided, nobody else is kept waiting.

// doubtAfter is how long a transaction is prepared until the gate is not closed for it.
const doubtAfter = 10 * time.Second

// prepareGate keeps transactions that write to ranges from being prepared.
type prepareGate struct {
	move   uint64
	ranges []BucketRange
	since  time.Time
	opened chan struct{}
}

// errUncalm says that there was no moment for a fence: nothing was fenced.
var errUncalm = pgerr.New(pgerr.LockNotAvailable, "transactions in the ranges are being prepared all the time")

// Uncalm tells whether Cut has fenced nothing, since transactions were prepared in the ranges all the time: it may be tried again by the same number, and longer.
func Uncalm(err error) bool {
	return pgerr.Is(err, pgerr.LockNotAvailable) && pgerr.From(err).Message == errUncalm.Message
}

// closeGate closes the gate, and gives what opens it. Of two fences that come together one does without.
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

// calm waits for a moment at which nothing is prepared in ranges: first as long for one that comes by itself, then as long behind the gate. What it gives opens
// that again.
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
	err = r.waitApplied(ctx, over, before) // what had come by is to be seen
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

// passGate waits while the gate keeps the transaction from being prepared. An error is that nobody wants it to be any more.
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

// touches tells whether the transaction has staged or locked something of ranges here, or may have.
func (t *Tx) touches(ranges []BucketRange) (hit bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.stage.each(func(key []byte) bool {
		hit = t.r.inRanges(key, ranges)
		return !hit
	})
	if t.set != nil {
		t.set.mu.Lock()
		hit = hit || t.set.used > 0
		t.set.mu.Unlock()
	}
	return hit || err != nil || slices.ContainsFunc(t.held, func(l *rowLock) bool { return t.r.inRanges([]byte(l.key), ranges) })
}

// gatedSince gives the time at which a move's fence has begun to hold somebody up.
func (r *Replica) gatedSince(move uint64) time.Time {
	if g := r.gate.Load(); g != nil && g.move == move {
		return g.since
	}
	return time.Now()
}
