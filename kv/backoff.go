package kv

import (
	"context"
	"errors"
	"time"
)

// Backoff is the pause between attempts, and its limit.
type Backoff struct {
	began time.Time
	next  time.Duration
}

var errGaveUp = errors.New("kv: no leader was found in time")

// Wait pauses before the next attempt. It fails when the attempts have taken too long, or ctx ends.
func (b *Backoff) Wait(ctx context.Context) error {
	if b.began.IsZero() {
		b.began = time.Now()
	}
	if time.Since(b.began) > leaderTime {
		return errGaveUp
	}
	b.next = min(max(2*b.next, findPause), maxPause)
	t := time.NewTimer(b.next)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// decisionTime bounds the attempts to reach a leader for a call that decides about a transaction.
const decisionTime = 30 * time.Second

// Decisive returns the context of a call that decides about a transaction: the end of the statement
// does not cut it off.
func Decisive(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), decisionTime)
}
