package exec

import (
	"time"

	"github.com/sherddb/sherd/txn"
)

// LockWaits says who is to hear of waits for row locks that last long. Its functions are called by any goroutine.
type LockWaits struct {
	After time.Duration
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
	start := time.Now()
	what := func() string { return doing + " " + t.nameOf(c.Env, key) }
	timer := time.AfterFunc(w.After, func() { w.Still(what(), time.Since(start)) })
	return func(err error) {
		if !timer.Stop() {
			w.Over(what(), time.Since(start), err)
		}
	}
}
