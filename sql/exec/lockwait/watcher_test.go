package lockwait

import (
	"testing"
	"time"
)

// TestNotWaitingYet: a request that is about to wait when it is checked is checked again, and a
// request that never waited is not reported.
func TestNotWaitingYet(t *testing.T) {
	looked, told, ended := 0, make(chan int, 9), 0
	w := &Watcher{
		After: time.Millisecond,
		Waits: func() bool { looked++; return looked > 2 },
		Still: func(string, time.Duration) { told <- looked },
		Over:  func(string, time.Duration, error) { ended++ },
	}
	what := func() string { return "a row" }
	over := w.Watch(what)
	if n := <-told; n != 3 {
		t.Errorf("told when looked at %d times", n)
	}
	over(nil)
	looked = -1000
	w.Watch(what)(nil)
	if ended != 1 || len(told) > 0 {
		t.Errorf("%d ends were told, and %d more waits", ended, len(told))
	}
}
