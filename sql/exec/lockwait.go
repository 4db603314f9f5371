package exec

import (
	"sync"
	"time"

	"github.com/sherddb/sherd/txn"
)

// LockWaits says who is to hear of waits for row locks that last long. Its functions are called by any goroutine.
type LockWaits struct {
	After time.Duration
	Waits func() bool // somebody is waited for now, and not only about to be
	// Still is called once such a wait has lasted that long, Over when it has ended then, with the error that ended it.
	Still func(doing string, waited time.Duration)
	Over  func(doing string, waited time.Duration, err error)
}

func notWatched(error) {}

// watchWait watches over a request for a row's lock; over ends that.
func (t *table) watchWait(c *Ctx, key []byte, req txn.LockRequest, doing string) (over func(error)) {
	w := c.Limits.LockWaits
	if w == nil || req.NoWait {
		return notWatched
	}
	return watch(w, func() string { return doing + " " + t.nameOf(c.Env, key) })
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

// look tells of the wait. On a busy machine the request may not have come to it: then it is looked at again.
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
