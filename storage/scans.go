package storage

import "sync"

// Badger takes the files of its tables out of memory when it is closed, whoever reads them: an iterator that is used then ends the process. A scan may last
// as long as its client reads, and a replica is closed while its node goes on, when it is moved to another. So a scan has the database to itself but for the
// time in which others have its rows, and goes no further once the replica closes.

// scans are those under way in a replica's database.
type scans struct {
	mu   sync.Mutex
	open map[*scan]struct{} // guarded by mu
	over bool               // the database is being closed; guarded by mu
}

// scan is one of them.
type scan struct {
	of   *scans
	mu   sync.Mutex // held while the iterator is used
	over bool       // it must not be used any more; guarded by mu
	away bool       // mu is not held, or not any more: what was called panicked
}

// begin gives a scan that may use an iterator, until end; errNoLeader where the replica is being closed.
func (s *scans) begin() (*scan, error) {
	x := &scan{of: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, errNoLeader
	}
	if s.open == nil {
		s.open = map[*scan]struct{}{}
	}
	s.open[x] = struct{}{}
	x.mu.Lock()
	return x, nil
}

// end calls close, which ends the iterator, and lets the database go.
func (x *scan) end(close func()) {
	if x.away {
		x.mu.Lock()
	}
	close()
	x.mu.Unlock()
	x.of.mu.Lock()
	defer x.of.mu.Unlock()
	delete(x.of.open, x)
}

// leave lets go of the iterator for what may take its time, and back takes it again; errNoLeader where it must not be used any more.
func (x *scan) leave() {
	x.away = true
	x.mu.Unlock()
}

func (x *scan) back() error {
	x.mu.Lock()
	x.away = false
	if x.over {
		return errNoLeader
	}
	return nil
}

// close lets no scan go on.
func (s *scans) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for x := range s.open {
		x.mu.Lock()
		x.over = true
		x.mu.Unlock()
	}
}
