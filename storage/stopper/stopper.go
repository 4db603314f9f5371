// Package stopper ends the goroutines of a component and the calls that use it, before what they
// use is closed.
package stopper

import "sync"

// Stopper counts what uses a component. All methods may be called concurrently.
type Stopper struct {
	stopped chan struct{}
	mu      sync.Mutex // held while stopped is closed, and while a user joins
	users   sync.WaitGroup
}

// New makes a Stopper.
func New() *Stopper { return &Stopper{stopped: make(chan struct{})} }

// Begin registers a user of the component until it calls End. It returns false if the component is
// being stopped: then the caller must not use it, and must not call End.
func (s *Stopper) Begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.IsStopped() {
		return false
	}
	s.users.Add(1)
	return true
}

// End ends what Begin has begun.
func (s *Stopper) End() { s.users.Done() }

// Go runs work in a goroutine, unless the component is being stopped.
func (s *Stopper) Go(work func()) {
	if !s.Begin() {
		return
	}
	go func() {
		defer s.End()
		work()
	}()
}

// Stopped returns a channel that is closed when the component is being stopped.
func (s *Stopper) Stopped() <-chan struct{} { return s.stopped }

// IsStopped reports whether the component is being stopped.
func (s *Stopper) IsStopped() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
	}
}

// Stop has Begin refuse from now on, and waits for all that use the component. It reports whether
// this call was the first.
func (s *Stopper) Stop() bool {
	s.mu.Lock()
	if s.IsStopped() {
		s.mu.Unlock()
		return false
	}
	close(s.stopped)
	s.mu.Unlock()
	s.users.Wait()
	return true
}
