package exec

import (
	"sync"
	"time"

	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/txn"
)

// LockWaits reports long waits for row locks. Its functions may be called from any goroutine.
type LockWaits struct {
	After time.Duration
	Waits func() bool // the session waits for another one now, and is not only about to
	// Still is called when such a wait has lasted that long. Over is called when it has ended after
	// that, with the error that ended it.
	Still func(doing string, waited time.Duration)
	Over  func(doing string, waited time.Duration, err error)
}

func notWatched(error) {}

// watchWait watches a request for a row's lock; the caller must call over when the request has
// ended.
func watchWait(c *Ctx, t *table.Table, key []byte, req txn.LockRequest, doing string) (over func(error)) {
	w := c.Limits.LockWaits
	if w == nil || req.NoWait {
		return notWatched
	}
	return watch(w, func() string { return doing + " " + t.NameOf(c.Env, key) })
}

func watch(w *LockWaits, what func() string) (over func(error)) {
	x := &watched{to: w, what: what, start: time.Now()}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.timer = time.AfterFunc(w.After, x.look)
	return x.over
}

// watched is a request for a row's lock.
type watched struct {
	to    *LockWaits
	what  func() string
	start time.Time

	mu    sync.Mutex
	timer *time.Timer // guarded by mu
	told  bool        // of the wait; guarded by mu
	ended bool        // guarded by mu
}

// look reports the wait. On a busy machine the request may not wait yet; then it is checked again.
func (x *watched) look() {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.ended:
	case x.to.Waits():
		x.told = true
		x.to.Still(x.what(), time.Since(x.start))
	default:
		x.timer.Reset(max(x.to.After, time.Millisecond))
	}
}

func (x *watched) over(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	x.timer.Stop()
	if x.told {
		x.to.Over(x.what(), time.Since(x.start), err)
	}
}
