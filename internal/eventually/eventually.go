// Package eventually waits in tests for what another goroutine, node or process brings about.
//
// A wait is generous: it ends as soon as the condition holds, and how long it may last says nothing
// about how fast Sherd is. In a bubble of testing/synctest it waits by the synthetic clock.
package eventually

import (
	"testing"
	"time"
)

const (
	// Timeout is how long a condition may take to hold, on the busiest of machines.
	Timeout = 3 * time.Minute

	pause = 5 * time.Millisecond // between two looks
)

// Holds waits until a condition holds. If it does not within Timeout, the test fails and ends with
// what was waited for.
func Holds(t testing.TB, what string, condition func() bool) {
	t.Helper()
	Within(t, Timeout, what, condition)
}

// Within is Holds with a limit that the test promises, or needs to be longer.
func Within(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(pause) {
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s", limit, what)
		}
	}
}

// Succeeds waits until try returns nil. If it does not within Timeout, the test fails and ends
// with what was waited for and the last error.
func Succeeds(t testing.TB, what string, try func() error) {
	t.Helper()
	for end := time.Now().Add(Timeout); ; time.Sleep(pause) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %v still not: %s: %v", Timeout, what, err)
		}
	}
}
