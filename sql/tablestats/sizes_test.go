package tablestats

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sherddb/sherd/catalog"
)

// cluster answers for fragments, some of which are on this node.
type cluster struct {
	mu    sync.Mutex
	rows  map[uint32]int64 // by fragment
	here  map[uint32]bool
	delay time.Duration
	down  bool
	asked int
}

func (c *cluster) sizes() *Sizes {
	return NewSizes(Config{
		Here: func(fragment, _ uint32) (int64, int64, bool) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.rows[fragment], 10 * c.rows[fragment], c.here[fragment]
		},
		Ask: func(ctx context.Context, fragment, _ uint32) (int64, int64, error) {
			c.mu.Lock()
			c.asked++
			delay, down, rows := c.delay, c.down, c.rows[fragment]
			c.mu.Unlock()
			select {
			case <-time.After(delay):
			case <-ctx.Done():
				return 0, 0, ctx.Err()
			}
			if down {
				return 0, 0, errors.New("no answer")
			}
			return rows, 10 * rows, nil
		},
	})
}

func (c *cluster) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

var twoFragments = &catalog.Database{Fragments: []catalog.Fragment{{ID: 1}, {ID: 2}}}

func want(t *testing.T, s *Sizes, rows int64, known bool) {
	t.Helper()
	if got, ok := s.Of(twoFragments, 7); ok != known || ok && got != (Size{rows, 10 * rows}) {
		t.Errorf("got %v, %v, want %d rows, %v", got, ok, rows, known)
	}
}

// TestSizes checks that replicas here answer at once, and others from what they said lately.
func TestSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{rows: map[uint32]int64{1: 100, 2: 20}, here: map[uint32]bool{1: true}, delay: time.Millisecond}
		s := c.sizes()
		want(t, s, 120, true) // waits for the first answer
		c.set(func() { c.rows[1], c.rows[2] = 101, 30 })
		want(t, s, 121, true)
		if c.asked != 1 {
			t.Errorf("asked %d times", c.asked)
		}
		time.Sleep(askAgain)
		want(t, s, 121, true) // asks again and does not wait
		time.Sleep(time.Second)
		want(t, s, 131, true)
		c.set(func() { c.down, c.rows[2] = true, 40 })
		time.Sleep(askAgain)
		want(t, s, 131, true)
		time.Sleep(time.Second)
		want(t, s, 131, true) // the last answer stays
	})
}

// TestUnknown checks that a table is not waited for longer than firstWait, and is known later (TS1).
func TestUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{rows: map[uint32]int64{1: 1, 2: 2}, delay: time.Second}
		s := c.sizes()
		began := time.Now()
		want(t, s, 0, false)
		if d := time.Since(began); d > firstWait {
			t.Errorf("waited %s", d)
		}
		time.Sleep(2 * time.Second)
		want(t, s, 3, true)
		if c.asked != 2 {
			t.Errorf("asked %d times", c.asked)
		}
	})
}

// TestJoining checks that the replica of a fragment with a replica that is being filled is not used.
func TestJoining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{rows: map[uint32]int64{1: 1}, here: map[uint32]bool{1: true}}
		d := &catalog.Database{Fragments: []catalog.Fragment{{ID: 1, Joining: []uint32{9}}}}
		if got, ok := c.sizes().Of(d, 7); !ok || got.Rows != 1 || c.asked != 1 {
			t.Errorf("got %v, %v, asked %d times", got, ok, c.asked)
		}
	})
}
