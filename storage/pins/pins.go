// Package pins keeps the snapshots of one fragment that must stay readable, and the watermark below
// which reads are refused. It knows timestamps alone: a caller that moves the watermark asks Pass
// first how far it may go, puts that into the log, and calls SetWatermark when it is applied.
package pins

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Set has the pinned snapshots of one fragment. The zero value has none. All methods may be called
// concurrently.
type Set struct {
	watermark atomic.Uint64 // reads below it are refused

	mu     sync.Mutex
	next   int                   // guarded by mu
	pinned map[int]txn.Timestamp // guarded by mu
	// The timestamp to which this leader has sent the watermark: the entry may be on its way, so
	// nothing below is pinned any more. Guarded by mu.
	passed txn.Timestamp
}

// Watermark returns the timestamp below which reads are refused.
func (s *Set) Watermark() txn.Timestamp { return txn.Timestamp(s.watermark.Load()) }

// SetWatermark sets the watermark to what the log says.
func (s *Set) SetWatermark(T txn.Timestamp) { s.watermark.Store(uint64(T)) }

// TooOld is the error of a read at T: versions that it needs may have been removed.
func TooOld(T txn.Timestamp) error {
	return pgerr.New(pgerr.SnapshotTooOld, "snapshot too old").
		WithDetail("The snapshot is of %s; older versions have been removed.", T).
		WithHint("sherd.gc_ttl says how long old versions are kept.")
}

// Pin keeps the versions visible at T until release is called. It fails (TooOld) if they are gone
// already, or about to go.
func (s *Set) Pin(T txn.Timestamp) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if T < s.oldest() {
		return nil, TooOld(T)
	}
	return s.pin(T), nil
}

// PinOldest pins all that can be pinned, and returns the timestamp from which on it is.
func (s *Set) PinOldest() (T txn.Timestamp, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	T = s.oldest()
	return T, s.pin(T)
}

// List returns the pinned snapshots, the oldest first.
func (s *Set) List() []txn.Timestamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Values(s.pinned))
}

// Pass returns how far the watermark may go, at most to T. From then on nothing below that is
// pinned.
func (s *Set) Pass(T txn.Timestamp) txn.Timestamp {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.pinned {
		T = min(T, t)
	}
	s.passed = max(s.passed, T)
	return T
}

// oldest returns the oldest snapshot that can be pinned. Called with mu held.
func (s *Set) oldest() txn.Timestamp { return max(s.Watermark(), s.passed) }

// pin is called with mu held.
func (s *Set) pin(T txn.Timestamp) (release func()) {
	s.next++
	n := s.next
	if s.pinned == nil {
		s.pinned = map[int]txn.Timestamp{}
	}
	s.pinned[n] = T
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pinned, n)
	}
}
