package engine

import "sync"

// A scan may last as long as its client reads, and an engine is closed while its node goes on, when
// the replica moves to another node. So a scan has access to the database except while others have
// its rows, and ends when the engine is being closed.

// accesses are those that have begun and not ended.
type accesses struct {
	mu   sync.Mutex
	open map[*Access]struct{} // guarded by mu
	over bool                 // the engine is being closed; guarded by mu
}

// Access is the right of one scan to use an iterator. It is for one goroutine.
type Access struct {
	of     *accesses
	err    error      // of an engine that is being closed
	mu     sync.Mutex // held while the iterator is used
	over   bool       // the iterator must not be used any more; guarded by mu
	paused bool       // mu is not held, also if a function that was called meanwhile panicked
}

// BeginAccess lets the caller use an iterator until End. It returns Options.Closed if the engine is
// being closed.
func (e *Engine) BeginAccess() (*Access, error) {
	s := &e.access
	x := &Access{of: s, err: e.o.Closed}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, x.err
	}
	if s.open == nil {
		s.open = map[*Access]struct{}{}
	}
	s.open[x] = struct{}{}
	x.mu.Lock()
	return x, nil
}

// End calls close, which ends the iterator, and ends the access.
func (x *Access) End(close func()) {
	if x.paused {
		x.mu.Lock()
	}
	close()
	x.mu.Unlock()
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	delete(x.of.open, x)
}

// Pause ends the use of the iterator while the caller does what may take long.
func (x *Access) Pause() {
	x.paused = true
	x.mu.Unlock()
}

// Resume begins to use the iterator again. It returns an error if the iterator must not be used any
// more.
func (x *Access) Resume() error {
	x.mu.Lock()
	x.paused = false
	if x.over {
		return x.err
	}
	return nil
}

// DelayAccess makes scans that begin wait until allow is called. It is for tests.
func (e *Engine) DelayAccess() (allow func()) {
	e.access.mu.Lock()
	return sync.OnceFunc(e.access.mu.Unlock)
}

// end stops all scans.
func (s *accesses) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for x := range s.open {
		x.mu.Lock()
		x.over = true
		x.mu.Unlock()
	}
}
