package lockwait

import (
	"sync"
	"time"
)

// Watcher reports long waits for row locks. Its functions may be called from any goroutine.
type Watcher struct {
	After time.Duration
	Waits func() bool // the session waits for another one now, and is not only about to
	// Still is called when such a wait has lasted that long. Over is called when it has ended after
	// that, with the error that ended it.
	Still func(doing string, waited time.Duration)
	Over  func(doing string, waited time.Duration, err error)
}

// Watch watches a request for a row's lock. The caller calls over when the request has ended. what
// describes the request for the report.
func (w *Watcher) Watch(what func() string) (over func(error)) {
	r := &request{to: w, what: what, start: time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(w.After, r.look)
	return r.over
}

// request is a request for a row's lock.
type request struct {
	to    *Watcher
	what  func() string
	start time.Time

	mu       sync.Mutex
	timer    *time.Timer // guarded by mu
	reported bool        // as a wait; guarded by mu
	ended    bool        // guarded by mu
}

// look reports the wait. On a busy machine the request may not wait yet; then it is checked again.
func (r *request) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
	case r.to.Waits():
		r.reported = true
		r.to.Still(r.what(), time.Since(r.start))
	default:
		r.timer.Reset(max(r.to.After, time.Millisecond))
	}
}

func (r *request) over(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.timer.Stop()
	if r.reported {
		r.to.Over(r.what(), time.Since(r.start), err)
	}
}
