package locks

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/txn"
)

// Session requests locks: locks of one session never exclude each other. It holds the advisory
// locks that outlive transactions.
type Session struct {
	m       *Manager
	pid     uint32
	own     Owner
	waiting atomic.Pointer[wait]

	mu      sync.Mutex
	counts  map[tagged]int // how often each lock of own was taken; guarded by mu
	current *Owner         // the running transaction; guarded by mu
}

// Owner holds locks until it releases them all: a transaction, or the session itself.
type Owner struct {
	session atomic.Pointer[Session]
	id      txn.ID // zero: the session itself
	outer   *Owner // the session's transaction before this one began, nil: none

	mu    sync.Mutex
	log   []grant     // in the order of granting; guarded by mu
	index map[Tag]Set // of log, if that is long; guarded by mu
	first [4]grant    // where log begins
}

// grant is a mode held on an object.
type grant struct {
	o    *object
	mode Mode
}

// tagged is a mode of an object that may be locked at another node.
type tagged struct {
	tag  Tag
	mode Mode
}

// longLog is the length from which an owner's log is searched by an index.
const longLog = 16

// NewSession makes the session of a backend; pid 0 stands for a prepared transaction, which has
// none.
func (m *Manager) NewSession(pid uint32) *Session {
	s := &Session{m: m, pid: pid}
	s.own.init(s, txn.ID{})
	return s
}

func (o *Owner) init(s *Session, id txn.ID) {
	o.session.Store(s)
	o.id = id
	o.log = o.first[:0]
}

// Begin makes the owner of a transaction's locks. A session's transactions nest: statements that
// run within others.
func (s *Session) Begin(id txn.ID) *Owner {
	o := &Owner{}
	o.init(s, id)
	s.mu.Lock()
	o.outer, s.current = s.current, o
	s.mu.Unlock()
	return o
}

// ID returns the transaction's id; zero: the session itself.
func (o *Owner) ID() txn.ID { return o.id }

// lockOwner names an owner to the detector.
func (o *Owner) lockOwner() txn.LockOwner {
	return txn.LockOwner{ID: o.id, Session: o.session.Load().pid}
}

// lockOwner names the session's current lock owner for the detector.
func (s *Session) lockOwner() txn.LockOwner {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		return s.current.lockOwner()
	}
	return s.own.lockOwner()
}

// Holds returns the modes that o holds on an object.
func (o *Owner) Holds(tag Tag) Set {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.index != nil {
		return o.index[tag]
	}
	var s Set
	for i := range o.log {
		if o.log[i].o.tag == tag {
			s |= 1 << o.log[i].mode
		}
	}
	return s
}

// Tables lists the locks of tables that are held, by database and OID.
func (o *Owner) Tables() map[Tag]Set {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[Tag]Set{}
	for _, g := range o.log {
		if g.o.tag.Kind == Relation {
			out[g.o.tag] |= 1 << g.mode
		}
	}
	return out
}

func (o *Owner) note(g grant) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, g)
	switch {
	case o.index != nil:
		o.index[g.o.tag] |= 1 << g.mode
	case len(o.log) > longLog:
		o.index = make(map[Tag]Set, 2*longLog)
		for _, g := range o.log {
			o.index[g.o.tag] |= 1 << g.mode
		}
	}
}

// Mark returns the place to which RollbackTo returns.
func (o *Owner) Mark() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.log)
}

// RollbackTo releases the locks taken since a mark, the latest first.
func (o *Owner) RollbackTo(mark int) {
	o.mu.Lock()
	gone := o.log[mark:]
	o.log = o.log[:mark]
	if o.index != nil {
		for _, g := range gone {
			o.index[g.o.tag] &^= 1 << g.mode
		}
	}
	o.mu.Unlock()
	m := o.session.Load().m
	var kept []Kept
	for i := len(gone) - 1; i >= 0; i-- {
		m.release(o, gone[i])
		if t := gone[i].o.tag; t.Kind == Advisory {
			kept = append(kept, Kept{Owner: o.id, Tag: t, Mode: gone[i].mode})
		}
	}
	m.tell(kept)
}

// Release releases all locks: the transaction has ended.
func (o *Owner) Release() {
	o.RollbackTo(0)
	s := o.session.Load()
	s.mu.Lock()
	if s.current == o {
		s.current = o.outer
	}
	s.mu.Unlock()
}

// Detach keeps a transaction's locks while its session goes on without it: PREPARE TRANSACTION.
func (o *Owner) Detach() {
	s := o.session.Load()
	s.mu.Lock()
	if s.current == o {
		s.current = o.outer
	}
	s.mu.Unlock()
	o.session.Store(s.m.NewSession(0))
}

// Waiting returns what the session waits for; ok is false if it does not wait.
func (s *Session) Waiting() (kind Kind, since time.Time, ok bool) {
	w := s.waiting.Load()
	if w == nil {
		return 0, time.Time{}, false
	}
	return w.tag.Kind, w.since, true
}

// counted notes that a lock of the session was taken once more.
func (s *Session) counted(tag Tag, mode Mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[tagged]int{}
	}
	s.counts[tagged{tag, mode}]++
}

// Has reports whether the session holds a lock of its own.
func (s *Session) Has(tag Tag, mode Mode) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[tagged{tag, mode}] > 0
}

// Unlock releases a lock of the session once; it returns false if the session does not have it.
func (s *Session) Unlock(tag Tag, mode Mode) bool {
	k := tagged{tag, mode}
	s.mu.Lock()
	n := s.counts[k]
	switch {
	case n > 1:
		s.counts[k] = n - 1
	case n == 1:
		delete(s.counts, k)
	}
	s.mu.Unlock()
	if n == 1 {
		s.released([]tagged{k})
	}
	return n > 0
}

// UnlockAll releases all locks of the session.
func (s *Session) UnlockAll() {
	s.mu.Lock()
	var gone []tagged
	for k := range s.counts {
		gone = append(gone, k)
	}
	s.counts = nil
	s.mu.Unlock()
	s.released(gone)
}

func (s *Session) released(gone []tagged) {
	var kept []Kept
	for _, k := range gone {
		if o := s.m.find(k.tag); o != nil {
			s.m.release(&s.own, grant{o, k.mode})
		}
		kept = append(kept, Kept{PID: s.pid, Tag: k.tag, Mode: k.mode})
	}
	s.m.tell(kept)
}

// SharedWithSession reports whether the transaction holds a lock that its session holds too.
func (o *Owner) SharedWithSession() bool {
	s := o.session.Load()
	o.mu.Lock()
	defer o.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for own := range s.counts {
		for _, g := range o.log {
			if g.o.tag == own.tag {
				return true
			}
		}
	}
	return false
}
