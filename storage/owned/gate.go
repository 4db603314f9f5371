package owned

import (
	"time"

	"github.com/sherddb/sherd/storage/ownership"
)

// A fence is begun when nothing is prepared in its ranges: prepared transactions would have to be
// decided while all other requests wait. If transactions over several fragments write there all the
// time, such a moment never comes by itself. So the leader keeps further ones from being prepared
// for a moment. Meanwhile the prepared ones are decided, because that needs no further prepare. The
// gate is not part of the protocol, is in no log, and holds up nothing else; a prepare that slips
// by is stopped by the fence. How long that takes depends on the machine, so the driver lets the
// gate wait longer each time.

// Gate keeps transactions that write to ranges from being prepared, until it is open.
type Gate struct {
	Ranges []ownership.BucketRange
	Opened <-chan struct{}
	move   uint64
	since  time.Time
}

// Gate returns the gate that is closed, nil if there is none.
func (s *Set) Gate() *Gate { return s.gate.Load() }

// CloseGate closes the gate, and returns the function that opens it. If two fences come together,
// one does without a gate.
func (s *Set) CloseGate(move uint64, ranges []ownership.BucketRange) (open func(), ok bool) {
	opened := make(chan struct{})
	g := &Gate{move: move, Ranges: ranges, since: time.Now(), Opened: opened}
	if !s.gate.CompareAndSwap(nil, g) {
		return func() {}, false
	}
	return func() {
		s.gate.Store(nil)
		close(opened)
	}, true
}

// gatedSince returns the time at which a move's fence has begun to hold up requests.
func (s *Set) gatedSince(move uint64) time.Time {
	if g := s.gate.Load(); g != nil && g.move == move {
		return g.since
	}
	return time.Now()
}
