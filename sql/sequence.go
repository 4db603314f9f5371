package sql

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/types"
)

// sequenceUse is what a session has of the sequences that it used: the values of CACHE, and what currval and lastval give.
type sequenceUse struct {
	mu   sync.Mutex // functions of one statement may run in several fragments at once
	by   map[catalog.OID]*cachedValues
	last *cachedValues // of lastval
}

// cachedValues are the values of one sequence that the session has taken and not given.
type cachedValues struct {
	oid     catalog.OID
	storage uint32
	defined bool // value was given
	value   int64
	left    int64 // values that follow it
}

// reset is DISCARD SEQUENCES.
func (u *sequenceUse) reset() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.by, u.last = nil, nil
}

// of gives the session's values of a sequence; those of a storage that it has no more are dropped, but currval stays.
func (u *sequenceUse) of(t *catalog.Table) *cachedValues {
	if u.by == nil {
		u.by = map[catalog.OID]*cachedValues{}
	}
	v := u.by[t.OID]
	if v == nil {
		v = &cachedValues{oid: t.OID, storage: t.StorageID}
		u.by[t.OID] = v
	}
	if v.storage != t.StorageID {
		v.storage, v.left = t.StorageID, 0
	}
	return v
}

// newSequence is a sequence whose storage the running transaction has made, so that nobody else can count by it. Its state is committed with its definition.
type newSequence struct {
	oid   catalog.OID
	state sequenceState
	ahead int64 // what PostgreSQL would have logged ahead
}

// sequence finds a sequence that a function names, and keeps its definition still to the end of the transaction.
func (i info) sequence(oid catalog.OID, doing string, mode locks.Mode) (*catalog.Table, error) {
	if i.tx == nil || i.ctx == nil {
		return nil, pgerr.Unsupported("sequences cannot be used here")
	}
	tag := locks.Table(i.database, oid)
	if !i.tx.Holds(tag, mode) {
		if err := i.tx.LockTable(i.ctx, oid, mode, false); err != nil {
			return nil, err
		}
	}
	view := i.view()
	t := view.Table(oid)
	if t == nil || t.Database != i.database {
		if _, name, ok := i.ObjectName(0, oid); ok {
			return nil, notSequence(name)
		}
		return nil, pgerr.New(pgerr.InternalError, "could not open relation with OID %d", oid)
	}
	if t.Sequence == nil {
		return nil, notSequence(t.Name)
	}
	if !view.Role(i.role).Owns(view.Database(i.database), t.Owner) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for sequence %s", t.Name)
	}
	if doing != "" && i.tx.IsReadOnly() {
		return nil, i.tx.ReadOnlyError(doing + "()")
	}
	return t, nil
}

func notSequence(name string) error {
	return pgerr.New(pgerr.WrongObjectType, `"%s" is not a sequence`, name)
}

// own gives the state of a sequence whose storage the transaction has made; nil for others.
func (t *transaction) own(seq *catalog.Table) *newSequence {
	if t.Schema == nil {
		return nil
	}
	if now := t.Newest().Table(seq.OID); now != nil && now.StorageID == seq.StorageID {
		return nil
	}
	n := t.sequences[seq.StorageID]
	if n == nil {
		n = &newSequence{oid: seq.OID, state: sequenceState{seq.Sequence.Value, seq.Sequence.Called}}
		if t.sequences == nil {
			t.sequences = map[uint32]*newSequence{}
		}
		t.sequences[seq.StorageID] = n
	}
	return n
}

// take gives the next values.
func (n *newSequence) take(t *catalog.Table, count int64) (catalog.Run, error) {
	r, ok := t.Sequence.After(n.state.value, n.state.called, count)
	if !ok {
		return r, t.Exhausted()
	}
	n.state = sequenceState{r.Last, true}
	if n.ahead -= r.Count; n.ahead < 0 {
		more, _ := t.Sequence.After(r.Last, true, aheadValues)
		n.ahead = more.Count
	}
	return r, nil
}

// NextValue implements builtin.SequenceInfo.
func (i info) NextValue(oid uint32) (int64, error) {
	u := &i.sequenceUse
	u.mu.Lock()
	defer u.mu.Unlock()
	t, err := i.sequence(oid, "nextval", locks.RowExclusive)
	if err != nil {
		return 0, err
	}
	v := u.of(t)
	if v.left > 0 {
		v.value += t.Sequence.Increment
		v.left--
		u.last = v
		return v.value, nil
	}
	var r catalog.Run
	if n := i.tx.own(t); n != nil {
		r, err = n.take(t, t.Sequence.Cache)
	} else {
		r, err = i.db.sequences.take(i.ctx, i.start.PID, t, t.Sequence.Cache)
	}
	if err != nil {
		return 0, err
	}
	v.defined, v.value, v.left = true, r.First, r.Count-1
	u.last = v
	return v.value, nil
}

// CurrentValue implements builtin.SequenceInfo.
func (i info) CurrentValue(oid uint32) (int64, error) {
	u := &i.sequenceUse
	u.mu.Lock()
	defer u.mu.Unlock()
	t, err := i.sequence(oid, "", locks.RowExclusive)
	if err != nil {
		return 0, err
	}
	v := u.by[oid]
	if v == nil || !v.defined {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, `currval of sequence "%s" is not yet defined in this session`, t.Name)
	}
	return v.value, nil
}

// LastValue implements builtin.SequenceInfo.
func (i info) LastValue() (int64, error) {
	u := &i.sequenceUse
	u.mu.Lock()
	defer u.mu.Unlock()
	// A sequence that was dropped meanwhile is as if it had not been used.
	if u.last == nil || i.view().Table(u.last.oid) == nil {
		return 0, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "lastval is not yet defined in this session")
	}
	if _, err := i.sequence(u.last.oid, "", locks.RowExclusive); err != nil {
		return 0, err
	}
	return u.last.value, nil
}

// SetValue implements builtin.SequenceInfo.
func (i info) SetValue(oid uint32, value int64, called bool) error {
	u := &i.sequenceUse
	u.mu.Lock()
	defer u.mu.Unlock()
	t, err := i.sequence(oid, "setval", locks.RowExclusive)
	if err != nil {
		return err
	}
	if q := t.Sequence; value < q.Min || value > q.Max {
		return pgerr.New(pgerr.NumericValueOutOfRange, `setval: value %d is out of bounds for sequence "%s" (%d..%d)`, value, t.Name, q.Min, q.Max)
	}
	to := sequenceState{value, called}
	if n := i.tx.own(t); n != nil {
		n.state, n.ahead = to, 0
	} else if err := i.db.sequences.set(i.ctx, i.start.PID, t, to); err != nil {
		return err
	}
	v := u.of(t)
	if v.left = 0; called {
		v.defined, v.value = true, value
	}
	return nil
}

// sequenceState tells where a sequence is, as the transaction sees it.
func (s *Session) sequenceState(ctx context.Context, t *catalog.Table) (sequenceState, int64, error) {
	if s.tx != nil {
		if n := s.tx.own(t); n != nil {
			return n.state, n.ahead, nil
		}
	}
	return s.db.sequences.state(ctx, s.start.PID, t)
}

// sequenceAt is sequenceState for package ddl.
func (s *Session) sequenceAt(ctx context.Context, t *catalog.Table) (value int64, called bool, err error) {
	st, _, err := s.sequenceState(ctx, t)
	return st.value, st.called, err
}

// sequenceRow is what SELECT * FROM a sequence gives.
func (s *Session) sequenceRow(name string, emit exec.Emit) error {
	oid, err := strconv.ParseUint(strings.TrimPrefix(name, analyze.SequencePrefix), 10, 32)
	if err != nil {
		return err
	}
	t := s.view().Table(catalog.OID(oid))
	if t == nil || t.Sequence == nil {
		return pgerr.New(pgerr.UndefinedTable, "could not open relation with OID %d", oid)
	}
	st, ahead, err := s.sequenceState(s.running, t)
	if err != nil {
		return err
	}
	return emit([]types.Datum{types.NewInt(st.value), types.NewInt(ahead), types.NewBool(st.called)})
}

// SequenceState implements builtin.SequenceInfo.
func (i info) SequenceState(oid uint32) (int64, bool, error) {
	u := &i.sequenceUse
	u.mu.Lock()
	defer u.mu.Unlock()
	t, err := i.sequence(oid, "", locks.RowExclusive)
	if err != nil {
		return 0, false, err
	}
	st, _, err := i.sequenceState(i.ctx, t)
	return st.value, st.called, err
}

// SequenceParameters implements builtin.SequenceInfo.
func (i info) SequenceParameters(oid uint32) (builtin.SequenceParameters, error) {
	t, err := i.sequence(oid, "", locks.AccessShare)
	if err != nil {
		return builtin.SequenceParameters{}, err
	}
	q := t.Sequence
	return builtin.SequenceParameters{
		Start: q.Start, Min: q.Min, Max: q.Max, Increment: q.Increment, Cycle: q.Cycle, Cache: q.Cache, Type: q.Type,
	}, nil
}
