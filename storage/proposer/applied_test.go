package proposer

import (
	"context"
	"errors"
	"testing"

	"github.com/sherddb/sherd/internal/eventually"
)

// TestApplied: a wait ends when its stamp is applied, and otherwise with the term, the context or
// the replica.
func TestApplied(t *testing.T) {
	stop := make(chan struct{})
	a := Applied{stop: stop}
	a.Store(5)
	if err := a.Wait(t.Context(), nil, 5); err != nil {
		t.Error(err)
	}
	wait := func(ctx context.Context, over chan struct{}, stamp uint64) chan error {
		before := a.waiting.Load()
		done := make(chan error, 1)
		go func() { done <- a.Wait(ctx, over, stamp) }()
		eventually.Holds(t, "it waits", func() bool { return a.waiting.Load() > before })
		return done
	}
	at7, at9 := wait(t.Context(), nil, 7), wait(t.Context(), nil, 9)
	a.Store(8)
	a.wake()
	if err := <-at7; err != nil || a.waiting.Load() != 1 {
		t.Errorf("%v, %d wait", err, a.waiting.Load())
	}
	a.WakeAll()
	if err := <-at9; !errors.Is(err, ErrNotLeader) {
		t.Errorf("woken: %v", err)
	}
	over := make(chan struct{})
	at9 = wait(t.Context(), over, 9)
	close(over)
	if err := <-at9; !errors.Is(err, ErrNotLeader) {
		t.Errorf("the term is over: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	at9 = wait(ctx, nil, 9)
	cancel()
	if err := <-at9; !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	at9 = wait(t.Context(), nil, 9)
	close(stop)
	if err := <-at9; !errors.Is(err, ErrNotLeader) {
		t.Errorf("closed: %v", err)
	}
}
