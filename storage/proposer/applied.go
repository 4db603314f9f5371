package proposer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Applied is the largest stamp that is applied and visible, and those that wait for it to rise.
// The applying goroutine raises it. mu guards the waiters.
type Applied struct {
	atomic.Uint64
	stop <-chan struct{} // closed when the replica closes

	mu      sync.Mutex
	waiting atomic.Int32 // len(waiters)
	waiters []waiter     // guarded by mu
}

// waiter waits for a stamp.
type waiter struct {
	stamp uint64
	ch    chan struct{}
}

// Wait waits for a stamp to be applied, as long as the term is not over, because it may never be.
// If over is nil the wait goes on.
func (a *Applied) Wait(ctx context.Context, over <-chan struct{}, stamp uint64) error {
	if a.Load() >= stamp {
		return nil
	}
	w := waiter{stamp, make(chan struct{})}
	a.mu.Lock()
	a.waiters = append(a.waiters, w)
	a.waiting.Store(int32(len(a.waiters)))
	a.mu.Unlock()
	a.wake() // the stamp may have been applied meanwhile
	select {
	case <-w.ch:
		if a.Load() < stamp {
			return ErrNotLeader
		}
		return nil
	case <-over:
		return ErrNotLeader
	case <-ctx.Done():
		return ctx.Err()
	case <-a.stop:
		return ErrNotLeader
	}
}

// wake ends the waits for stamps that are applied.
func (a *Applied) wake() {
	if a.waiting.Load() == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.Load()
	a.waiters = slices.DeleteFunc(a.waiters, func(w waiter) bool {
		if w.stamp > at {
			return false
		}
		close(w.ch)
		return true
	})
	a.waiting.Store(int32(len(a.waiters)))
}

// WakeAll ends all waits: the proposals that they wait for may never be applied.
func (a *Applied) WakeAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.waiters {
		close(w.ch)
	}
	a.waiters = nil
	a.waiting.Store(0)
}
