// Package guards keeps what prepared SERIALIZABLE transactions have read from being written by
// others. What such a transaction has read must be true at its commit timestamp (T8), which is not
// known yet and must not fail. So from before the validation of its reads until its end no other
// transaction writes there:
//
//	guard      all writers know the spans: a Guard in the fragment's Set
//	look       at the transactions that have buffered a write there already
//	validate   as at any commit; the spans are in the log entry
//
// Guard comes before look, and a writer buffers its write before it looks for guards, so at least
// one of the two sees the other. A prepared transaction waits for no other, so waits for it are in
// no cycle.
//
// The package knows keys and ids. Its callers buffer writes, and decide which transactions wait and
// which fail.
package guards

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/readset"
	"github.com/sherddb/sherd/txn"
)

// Guard has the reads of one transaction that is prepared or about to be.
type Guard struct {
	ID    txn.ID
	GID   string     // the name of the transaction
	Spans []txn.Span // in order and apart
	ended chan struct{}
}

// New returns a guard that has not ended.
func New(id txn.ID, gid string, spans []txn.Span) *Guard {
	return &Guard{ID: id, GID: gid, Spans: spans, ended: make(chan struct{})}
}

// Ended is closed when the transaction has ended, or the term.
func (g *Guard) Ended() <-chan struct{} { return g.ended }

func (g *Guard) isOver() bool {
	select {
	case <-g.ended:
		return true
	default:
		return false
	}
}

// Set has the guards of one fragment. The zero value has none. All methods may be called
// concurrently.
type Set struct {
	// nil if there are none, which is nearly always; each change makes a new list
	list atomic.Pointer[[]*Guard]
	mu   sync.Mutex // held while list is changed
	// the transactions that wait for a prepared one; guarded by mu
	waiting map[txn.ID]locktable.Info
}

// All returns the guards. The list does not change.
func (s *Set) All() []*Guard {
	if p := s.list.Load(); p != nil {
		return *p
	}
	return nil
}

// Add adds a guard.
func (s *Set) Add(g *Guard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(append(slices.Clone(s.All()), g))
}

// Drop ends the guards of a transaction.
func (s *Set) Drop(id txn.ID) {
	if s.list.Load() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(slices.DeleteFunc(slices.Clone(s.All()), func(g *Guard) bool {
		if g.ID == id {
			close(g.ended)
		}
		return g.ID == id
	}))
}

// Replace ends all guards, and takes others in their place.
func (s *Set) Replace(list []*Guard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.All() {
		close(g.ended)
	}
	s.set(list)
}

// set is called with mu held.
func (s *Set) set(list []*Guard) {
	if len(list) == 0 {
		s.list.Store(nil)
		return
	}
	s.list.Store(&list)
}

// Wait registers that a transaction waits for a prepared one, until done is called.
func (s *Set) Wait(info locktable.Info) (done func()) {
	id := info.Holder.ID
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[txn.ID]locktable.Info{}
	}
	s.waiting[id] = info
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, id)
	}
}

// Waits returns the waits for prepared transactions.
func (s *Set) Waits() (out []locktable.Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.waiting {
		out = append(out, x)
	}
	return out
}

// Met has the guards that one transaction has met with its writes. The zero value has none. The
// caller excludes concurrent calls.
type Met struct {
	later   []meeting // guards that were there when the key was written
	earlier []*Guard  // guards that found the write
}

type meeting struct {
	guard *Guard
	key   []byte
}

// Touches reports whether the transaction's buffered writes are in spans, which are in order and
// apart.
type Touches func(spans []txn.Span) (bool, error)

// Note notes those of the guards that have read key, which the transaction has written just now.
func (m *Met) Note(all []*Guard, own txn.ID, key []byte) {
	for _, g := range all {
		if g.ID != own && readset.Contains(g.Spans, key) &&
			!slices.ContainsFunc(m.later, func(x meeting) bool { return x.guard == g }) {
			m.later = append(m.later, meeting{g, bytes.Clone(key)})
		}
	}
}

// FoundBy notes that a guard has found a write of the transaction, which may not commit before it.
func (m *Met) FoundBy(g *Guard) {
	if !slices.Contains(m.earlier, g) {
		m.earlier = append(m.earlier, g)
	}
}

// Next returns a guard to wait for, and a key that it has read, or nil if there is none. Guards
// that have ended, or whose writes were undone, are forgotten.
func (m *Met) Next(touches Touches) (*Guard, []byte) {
	m.later = slices.DeleteFunc(m.later, func(x meeting) bool { return x.guard.isOver() })
	for _, x := range m.later {
		if touched, err := touches(x.guard.Spans); touched || err != nil {
			return x.guard, x.key
		} // otherwise the write was undone
	}
	m.later = nil
	return nil, nil
}

// InTheWay returns a guard that has read what the transaction is about to write, or nil if there is
// none.
func (m *Met) InTheWay(touches Touches) (*Guard, error) {
	try := func(g *Guard) (bool, error) {
		if g.isOver() {
			return false, nil
		}
		return touches(g.Spans)
	}
	for _, x := range m.later {
		if touched, err := try(x.guard); touched || err != nil {
			return x.guard, err
		}
	}
	for _, g := range m.earlier {
		if touched, err := try(g); touched || err != nil {
			return g, err
		}
	}
	return nil, nil
}
