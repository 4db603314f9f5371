package tablestats

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
)

const (
	askAgain   = 5 * time.Second       // after which an answer of another node is old
	askTimeout = 2 * time.Second       // of one question
	firstWait  = 50 * time.Millisecond // for a table that is not known yet
	keepUnused = 10 * time.Minute      // what no statement asks for is forgotten
	maxKnown   = 20_000                // answers, before those that are not used are looked for
)

// Size is the number of rows of a table and their bytes.
type Size struct{ Rows, Bytes int64 }

// Config says where sizes come from. A fragment is named by its id, a table by its storage id.
type Config struct {
	Here func(fragment, table uint32) (rows, bytes int64, ok bool) // a replica on this node
	Ask  func(ctx context.Context, fragment, table uint32) (rows, bytes int64, err error)
	Now  func() time.Time // nil: the clock
}

// Sizes knows the sizes of tables. It is safe for concurrent use.
type Sizes struct {
	cfg   Config
	mu    sync.Mutex
	known map[part]*answer
}

type part struct{ fragment, table uint32 }

// answer is what a fragment last said.
type answer struct {
	size     Size
	ok       bool          // it has answered
	at, used time.Time     // when it was asked, and when its answer was last used
	asking   chan struct{} // closed when it has answered; nil: it is not being asked
}

// NewSizes returns Sizes that know nothing yet.
func NewSizes(cfg Config) *Sizes {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Sizes{cfg: cfg, known: map[part]*answer{}}
}

// Of returns the size of a table in all fragments of its database. It reports whether all of them
// are known.
func (s *Sizes) Of(d *catalog.Database, table uint32) (Size, bool) {
	var total Size
	var waiting []part
	for i := range d.Fragments {
		f := &d.Fragments[i]
		size, ok := s.ofFragment(f, table)
		if !ok {
			waiting = append(waiting, part{f.ID, table})
			continue
		}
		total = Size{total.Rows + size.Rows, total.Bytes + size.Bytes}
	}
	if len(waiting) == 0 {
		return total, true
	}
	timeout := time.After(firstWait)
	for _, p := range waiting {
		size, ok := s.wait(p, timeout)
		if !ok {
			return Size{}, false
		}
		total = Size{total.Rows + size.Rows, total.Bytes + size.Bytes}
	}
	return total, true
}

// ofFragment returns what is known now, and has the fragment asked if that is old.
func (s *Sizes) ofFragment(f *catalog.Fragment, table uint32) (Size, bool) {
	if rows, bytes, ok := s.cfg.Here(f.ID, table); ok && len(f.Joining) == 0 {
		return Size{rows, bytes}, true // a replica that is being filled would have too few
	}
	now := s.cfg.Now()
	p := part{f.ID, table}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.known[p]
	if a == nil {
		s.forget(now)
		a = &answer{}
		s.known[p] = a
	}
	a.used = now
	if a.asking == nil && (a.at.IsZero() || now.Sub(a.at) >= askAgain) {
		a.asking, a.at = make(chan struct{}), now
		go s.ask(p, a, a.asking)
	}
	return a.size, a.ok
}

// ask asks a fragment. If it does not answer, its last answer stays.
func (s *Sizes) ask(p part, a *answer, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	rows, bytes, err := s.cfg.Ask(ctx, p.fragment, p.table)
	s.mu.Lock()
	if err == nil {
		a.size, a.ok = Size{rows, bytes}, true
	}
	a.asking = nil
	s.mu.Unlock()
	close(done)
}

// wait waits for a fragment that is being asked.
func (s *Sizes) wait(p part, timeout <-chan time.Time) (Size, bool) {
	s.mu.Lock()
	a := s.known[p]
	if a == nil {
		s.mu.Unlock()
		return Size{}, false
	}
	done := a.asking
	s.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-timeout:
			return Size{}, false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.size, a.ok
}

// forget drops answers that no statement has used for long, if there are many.
func (s *Sizes) forget(now time.Time) {
	if len(s.known) < maxKnown {
		return
	}
	for p, a := range s.known {
		if a.asking == nil && now.Sub(a.used) >= keepUnused {
			delete(s.known, p)
		}
	}
}
