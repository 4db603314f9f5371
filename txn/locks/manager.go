package locks

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/txn"
)

// ErrNotAvailable is the error of a request with NoWait that would have to wait.
var ErrNotAvailable = errors.New("lock is not available")

const (
	stripes    = 64
	keptTables = 4096 // unused objects that a stripe keeps, so that a table in use costs no memory each time
)

// Manager holds the locks of a node.
type Manager struct {
	detector *txn.Detector
	logger   *slog.Logger
	released func([]Kept) // nil: no locks are kept elsewhere
	withheld atomic.Pointer[func(Tag, Mode) error]
	stripes  [stripes]stripe
}

type stripe struct {
	mu      sync.Mutex
	objects map[Tag]*object // guarded by mu
	_       [48]byte        // a stripe to each cache line
}

// object is a lockable object. All fields are guarded by its stripe.
type object struct {
	tag     Tag
	holds   []hold
	granted Set // of the modes in holds
	counts  [modes]int32
	// The waits in the order in which they are granted, as far as they conflict.
	queue    []*wait
	barriers []*barrier
}

// hold is what one owner holds on an object.
type hold struct {
	owner *Owner
	modes Set
}

// NewManager makes a Manager whose waits detector sees.
func NewManager(detector *txn.Detector, logger *slog.Logger) *Manager {
	m := &Manager{detector: detector, logger: logger}
	for i := range m.stripes {
		m.stripes[i].objects = map[Tag]*object{}
	}
	return m
}

func (m *Manager) stripe(tag Tag) *stripe {
	// Multiplied by the golden ratio: neighbouring numbers go to different stripes.
	h := (uint64(tag.Object) ^ uint64(tag.Class)<<32 ^ uint64(tag.Database)<<16) * 0x9e3779b97f4a7c15
	return &m.stripes[h>>58]
}

// find returns the object of tag, or nil if it has no locks.
func (m *Manager) find(tag Tag) *object {
	s := m.stripe(tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[tag]
}

// Request is how a lock is asked for.
type Request struct {
	Mode     Mode
	NoWait   bool          // ErrNotAvailable instead of waiting
	Timeout  time.Duration // 55P03 after this; 0 waits for ever
	Deadlock time.Duration // look for a deadlock again after this, and log the wait if Log is set
	Log      bool
	// Held is set if a prepared transaction has the lock since before this node was started:
	// Withhold is not asked.
	Held bool
}

// ClusterRequest is a lock of a table that is to be taken at other nodes. What waits there ends
// with the context: Request.Timeout does not count.
type ClusterRequest struct {
	Owner   txn.ID
	PID     uint32
	Tag     Tag
	Request Request
	Place   int // Owner.Mark here
}

// Acquire takes a lock for a transaction, until it ends. The error of a wait is 40P01, 55P03 or the
// context's cause.
func (o *Owner) Acquire(ctx context.Context, tag Tag, r Request) error {
	if o.Holds(tag).Has(r.Mode) {
		return nil
	}
	s := o.session.Load()
	got, err := s.m.acquire(ctx, o, s, tag, r)
	if err != nil {
		return err
	}
	o.note(grant{got, r.Mode})
	return nil
}

// Acquire takes a lock for the session, once more if it has it.
func (s *Session) Acquire(ctx context.Context, tag Tag, r Request) error {
	_, err := s.m.acquire(ctx, &s.own, s, tag, r)
	if err != nil {
		return err
	}
	s.counted(tag, r.Mode)
	return nil
}

func (m *Manager) acquire(ctx context.Context, owner *Owner, session *Session, tag Tag, r Request) (*object, error) {
	if !r.Held {
		if err := m.refusal(tag, r.Mode); err != nil {
			return nil, err
		}
	}
	s := m.stripe(tag)
	s.mu.Lock()
	o := s.objects[tag]
	if o == nil {
		o = &object{tag: tag}
		s.objects[tag] = o
	}
	if owner == &session.own { // a transaction has looked before it came here
		if i := o.holdOf(owner); i >= 0 && o.holds[i].modes.Has(r.Mode) {
			s.mu.Unlock()
			return o, nil
		}
	}
	if o.granted&conflicts[r.Mode] == 0 && len(o.queue) == 0 {
		o.grant(owner, r.Mode)
		s.mu.Unlock()
		return o, nil
	}
	w, err := m.enqueue(o, owner, session, r)
	s.mu.Unlock()
	if err != nil || w == nil {
		return o, err
	}
	return o, m.await(ctx, s, o, w, r)
}

func (o *object) holdOf(owner *Owner) int {
	return slices.IndexFunc(o.holds, func(h hold) bool { return h.owner == owner })
}

// grant grants a mode to an owner. Parallel parts of one statement may request the same one.
func (o *object) grant(owner *Owner, mode Mode) {
	if i := o.holdOf(owner); i >= 0 {
		if o.holds[i].modes.Has(mode) {
			return
		}
		o.holds[i].modes |= 1 << mode
	} else {
		o.holds = append(o.holds, hold{owner, 1 << mode})
	}
	o.counts[mode]++
	o.granted |= 1 << mode
}

// release takes a mode back.
func (m *Manager) release(owner *Owner, g grant) {
	o := g.o
	s := m.stripe(o.tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := o.holdOf(owner)
	if i < 0 || !o.holds[i].modes.Has(g.mode) {
		return // noted twice, by parallel parts of one statement
	}
	o.holds[i].modes &^= 1 << g.mode
	o.counts[g.mode]--
	if o.counts[g.mode] == 0 {
		o.granted &^= 1 << g.mode
	}
	if o.holds[i].modes == 0 {
		last := len(o.holds) - 1
		o.holds[i], o.holds[last] = o.holds[last], hold{}
		o.holds = o.holds[:last]
		o.left(owner)
	}
	if len(o.queue) > 0 {
		o.promote()
	}
	o.tidy(s)
}

// tidy forgets an object without locks, waits and barriers.
func (o *object) tidy(s *stripe) {
	if len(o.holds) > 0 || len(o.queue) > 0 || len(o.barriers) > 0 {
		return
	}
	if o.tag.Kind != Relation || len(s.objects) > keptTables {
		delete(s.objects, o.tag)
	}
}
