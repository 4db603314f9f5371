package storage

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/locktable"
)

// doubtAfter is how long a transaction has to be prepared until the gate is not closed for it,
// because its decision cannot be foreseen.
const doubtAfter = 10 * time.Second

// errUncalm means that there was no moment for a fence: nothing was fenced.
var errUncalm = pgerr.New(pgerr.LockNotAvailable, "transactions in the ranges are being prepared all the time")

// Uncalm reports whether Cut has fenced nothing, because transactions were prepared in the ranges
// all the time. It may be tried again with the same number and a longer time.
func Uncalm(err error) bool {
	return pgerr.Is(err, pgerr.LockNotAvailable) && pgerr.From(err).Message == errUncalm.Message
}

// awaitCalm waits for a moment at which nothing is prepared in ranges: first for the given time for
// one that comes by itself, then for the same time with the gate closed. The function that it
// returns opens the gate.
func (r *Mover) awaitCalm(
	ctx context.Context, move uint64, ranges []BucketRange, settle time.Duration,
) (open func(), err error) {
	open = func() {}
	if err = r.awaitResolved(ctx, ranges, settle); !errors.Is(err, ErrUnsettled) {
		return open, err
	}
	if p, _, err := r.inTheWay(ranges, doubtAfter); p != nil || err != nil {
		return open, cmp.Or(err, error(errUncalm))
	}
	open, closed := r.Owned.CloseGate(move, ranges)
	if closed {
		r.cfg.Knobs.Fault("move.gated")
	}
	before, over := r.proposer.Position()
	err = r.proposer.Applied.Wait(ctx, over, before) // what had passed the gate is visible then
	if err == nil {
		err = r.awaitResolved(ctx, ranges, settle)
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
func (c *Committer) passGate(ctx context.Context) error {
	g := c.t.r.Owned.Gate()
	if g == nil || !c.touches(g.Ranges) {
		return nil
	}
	select {
	case <-g.Opened:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.t.r.stopper.Stopped():
	}
	return nil
}

// touches reports whether the transaction has buffered or locked something of ranges here, or may
// have.
func (c *Committer) touches(ranges []BucketRange) (hit bool) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	err := c.t.stage.Each(func(key []byte) bool {
		hit = c.t.r.Globals.Within(key, ranges)
		return !hit
	})
	c.t.locks.Each(func(l *locktable.Lock, _ bool) bool {
		hit = hit || c.t.r.Globals.Within([]byte(l.Key()), ranges)
		return !hit
	})
	return hit || err != nil || c.t.locks.Span() != nil
}
