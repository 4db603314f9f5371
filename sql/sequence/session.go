package sequence

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn/locks"
)

// Client is whose sequences a Session uses.
type Client struct {
	PID      uint32
	Database catalog.OID
	Role     func() catalog.OID // whose privileges are checked
	// RelationName names any relation, for errors.
	RelationName func(oid uint32) (name string, ok bool)
}

// Session is what a client's session has of the sequences that it has used: the values that CACHE
// took ahead, and what currval and lastval return. Functions of one statement may use it at once in
// several fragments. The transaction of its methods is nil outside of any.
type Session struct {
	allocator *Allocator
	client    Client

	mu        sync.Mutex
	by        map[catalog.OID]*cachedValues // guarded by mu
	last      *cachedValues                 // of lastval; guarded by mu
	temporary map[uint32]*uncommitted       // temporary sequences, by storage; guarded by mu
}

// cachedValues are the values of one sequence that the session has taken and not returned.
type cachedValues struct {
	oid     catalog.OID
	storage uint32
	defined bool // value was returned
	value   int64
	left    int64 // values that follow it
}

// Session returns the sequences of a new session.
func (a *Allocator) Session(c Client) *Session { return &Session{allocator: a, client: c} }

// Reset is DISCARD SEQUENCES.
func (s *Session) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by, s.last = nil, nil
}

// of returns the session's values of a sequence. Those of an earlier storage are dropped, but
// currval stays.
func (s *Session) of(t *catalog.Table) *cachedValues {
	if s.by == nil {
		s.by = map[catalog.OID]*cachedValues{}
	}
	v := s.by[t.OID]
	if v == nil {
		v = &cachedValues{oid: t.OID, storage: t.StorageID}
		s.by[t.OID] = v
	}
	if v.storage != t.StorageID {
		v.storage, v.left = t.StorageID, 0
	}
	return v
}

// own returns the state of a sequence that no other session can use: a temporary one, or one whose
// storage the transaction has made; nil for others.
func (s *Session) own(t *Transaction, seq *catalog.Table) *uncommitted {
	if !seq.IsTemporary() {
		return t.own(seq)
	}
	return stateIn(&s.temporary, seq)
}

// use is what a function does with a sequence.
type use struct {
	doing string // the function, if it writes
	mode  locks.Mode
	anyOf acl.Mode // one of these privileges is needed
}

// find finds a sequence that a function names, and locks its definition to the end of the
// transaction.
func (s *Session) find(
	ctx context.Context, t *Transaction, oid catalog.OID, u use,
) (*catalog.Table, error) {
	if t == nil || ctx == nil {
		return nil, pgerr.Unsupported("sequences cannot be used here")
	}
	c := &s.client
	if !t.Holds(locks.Table(c.Database, oid), u.mode) {
		if err := t.LockTable(ctx, oid, u.mode, false); err != nil {
			return nil, err
		}
	}
	view := t.View()
	seq := view.Table(oid)
	if seq == nil || seq.Database != c.Database {
		if name, ok := c.RelationName(oid); ok {
			return nil, errNotSequence(name)
		}
		return nil, pgerr.New(pgerr.InternalError, "could not open relation with OID %d", oid)
	}
	if seq.Sequence == nil {
		return nil, errNotSequence(seq.Name)
	}
	if privilege.Of(view, c.Database, c.Role()).Relation(seq, u.anyOf, true) == 0 {
		return nil, privilege.Denied(seq)
	}
	if u.doing != "" && t.IsReadOnly() && !seq.IsTemporary() {
		return nil, t.ReadOnlyError(u.doing + "()")
	}
	return seq, nil
}

func errNotSequence(name string) error {
	return pgerr.New(pgerr.WrongObjectType, `"%s" is not a sequence`, name)
}

// Next is nextval.
func (s *Session) Next(ctx context.Context, t *Transaction, oid catalog.OID) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq, err := s.find(ctx, t, oid, use{"nextval", locks.RowExclusive, acl.Usage | acl.Update})
	if err != nil {
		return 0, err
	}
	v := s.of(seq)
	if v.left > 0 {
		v.value += seq.Sequence.Increment
		v.left--
		s.last = v
		return v.value, nil
	}
	var r catalog.Run
	if n := s.own(t, seq); n != nil {
		r, err = n.take(seq, seq.Sequence.Cache)
	} else {
		r, err = s.allocator.take(ctx, s.client.PID, seq, seq.Sequence.Cache)
	}
	if err != nil {
		return 0, err
	}
	v.defined, v.value, v.left = true, r.First, r.Count-1
	s.last = v
	return v.value, nil
}

// Current is currval.
func (s *Session) Current(ctx context.Context, t *Transaction, oid catalog.OID) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq, err := s.find(ctx, t, oid, use{"", locks.RowExclusive, acl.Usage | acl.Select})
	if err != nil {
		return 0, err
	}
	v := s.by[oid]
	if v == nil || !v.defined {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`currval of sequence "%s" is not yet defined in this session`, seq.Name)
	}
	return v.value, nil
}

// Last is lastval. It treats a sequence that was dropped as one that was not used.
func (s *Session) Last(ctx context.Context, t *Transaction) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || t.view(s.allocator).Table(s.last.oid) == nil {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "lastval is not yet defined in this session")
	}
	if _, err := s.find(ctx, t, s.last.oid, use{"", locks.RowExclusive, acl.Usage | acl.Select}); err != nil {
		return 0, err
	}
	return s.last.value, nil
}

// Set is setval.
func (s *Session) Set(ctx context.Context, t *Transaction, oid catalog.OID, to State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq, err := s.find(ctx, t, oid, use{"setval", locks.RowExclusive, acl.Update})
	if err != nil {
		return err
	}
	if q := seq.Sequence; to.Value < q.Min || to.Value > q.Max {
		return pgerr.New(pgerr.NumericValueOutOfRange,
			`setval: value %d is out of bounds for sequence "%s" (%d..%d)`, to.Value, seq.Name, q.Min, q.Max)
	}
	if n := s.own(t, seq); n != nil {
		n.state, n.ahead = to, 0
	} else if err := s.allocator.set(ctx, s.client.PID, seq, to); err != nil {
		return err
	}
	v := s.of(seq)
	if v.left = 0; to.Called {
		v.defined, v.value = true, to.Value
	}
	return nil
}

// State returns where a sequence is, as the transaction sees it.
func (s *Session) State(ctx context.Context, t *Transaction, seq *catalog.Table) (State, error) {
	st, _, err := s.state(ctx, t, seq)
	return st, err
}

func (s *Session) state(ctx context.Context, t *Transaction, seq *catalog.Table) (State, int64, error) {
	if t != nil {
		if n := s.own(t, seq); n != nil {
			return n.state, n.ahead, nil
		}
	}
	return s.allocator.state(ctx, s.client.PID, seq)
}

// Find returns the state of a sequence that a function names.
func (s *Session) Find(ctx context.Context, t *Transaction, oid catalog.OID) (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq, err := s.find(ctx, t, oid, use{"", locks.RowExclusive, acl.Usage | acl.Select})
	if err != nil {
		return State{}, err
	}
	return s.State(ctx, t, seq)
}

// Parameters returns the definition of a sequence that a function names.
func (s *Session) Parameters(
	ctx context.Context, t *Transaction, oid catalog.OID,
) (builtin.SequenceParameters, error) {
	seq, err := s.find(ctx, t, oid, use{"", locks.AccessShare, acl.Usage | acl.Select | acl.Update})
	if err != nil {
		return builtin.SequenceParameters{}, err
	}
	q := seq.Sequence
	return builtin.SequenceParameters{
		Start: q.Start, Min: q.Min, Max: q.Max, Increment: q.Increment, Cycle: q.Cycle, Cache: q.Cache, Type: q.Type,
	}, nil
}

// Row returns the row of SELECT * FROM a sequence, whose system view has a name that begins with
// analyze.SequencePrefix.
func (s *Session) Row(ctx context.Context, t *Transaction, name string, emit exec.Emit) error {
	oid, err := strconv.ParseUint(strings.TrimPrefix(name, analyze.SequencePrefix), 10, 32)
	if err != nil {
		return err
	}
	seq := t.view(s.allocator).Table(catalog.OID(oid))
	if seq == nil || seq.Sequence == nil {
		return pgerr.New(pgerr.UndefinedTable, "could not open relation with OID %d", oid)
	}
	st, ahead, err := s.state(ctx, t, seq)
	if err != nil {
		return err
	}
	return emit([]types.Datum{types.NewInt(st.Value), types.NewInt(ahead), types.NewBool(st.Called)})
}
