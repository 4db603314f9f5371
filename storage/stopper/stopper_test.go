package stopper

import (
	"testing"
	"testing/synctest"
)

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		if !s.Begin() {
			t.Fatal("a user was refused before the end")
		}
		ran, over := false, false
		s.Go(func() {
			<-s.Stopped()
			ran = true
		})
		go func() {
			over = s.Stop()
		}()
		synctest.Wait()
		if over || !ran || !s.IsStopped() {
			t.Errorf("while there is a user: stopped %v, goroutine ended %v, IsStopped %v", over, ran, s.IsStopped())
		}
		if s.Begin() {
			t.Error("a user was let in while the component is being stopped")
		}
		s.Go(func() { t.Error("a goroutine was started while the component is being stopped") })
		s.End()
		synctest.Wait()
		if !over {
			t.Error("Stop has not returned")
		}
		if s.Stop() {
			t.Error("a second Stop says that it was the first")
		}
	})
}
