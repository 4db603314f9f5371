package eventually

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a test that notes how it failed.
type failing struct {
	testing.TB
	says string
}

func (*failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.says = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// fails returns what a wait that must fail says.
func fails(t *testing.T, wait func(t testing.TB)) string {
	t.Helper()
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait(f)
		t.Error("the wait ended well")
	}()
	<-done
	return f.says
}

func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		late := func() bool { return time.Since(began) >= time.Minute }
		Holds(t, "a minute passes", late)
		began = time.Now()
		Succeeds(t, "a minute passes", func() error {
			if !late() {
				return errors.New("too early")
			}
			return nil
		})
	})
}

func TestGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		says := fails(t, func(t testing.TB) { Holds(t, "pigs fly", func() bool { return false }) })
		if !strings.Contains(says, "pigs fly") {
			t.Error(says)
		}
		says = fails(t, func(t testing.TB) {
			Succeeds(t, "pigs fly", func() error { return errors.New("no wings") })
		})
		if !strings.Contains(says, "pigs fly: no wings") {
			t.Error(says)
		}
	})
}
