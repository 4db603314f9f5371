package storage

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// lockChange records the state of a lock before it was made stronger or pinned, for savepoints.
type lockChange struct {
	l      *rowLock
	number int32 // in the order of the locks
	from   txn.LockMode
	pinned bool
}

// SetSession sets the session of the transaction, for deadlock messages and for pg_locks; 0: none,
// as after PREPARE TRANSACTION.
func (t *Tx) SetSession(process uint32) { t.session.Store(process) }

func (t *Tx) party() txn.Party { return txn.Party{ID: t.id, Session: t.session.Load()} }

// SetLockTimeout bounds the waits for locks; 0 means no bound.
func (t *Tx) SetLockTimeout(d time.Duration) { t.lockTimeout.Store(int64(d)) }

func (t *Tx) timeout() time.Duration { return time.Duration(t.lockTimeout.Load()) }

// Lock takes the lock of key's row in the request's mode. It reports whether a version above the
// request's T was committed that conflicts with such a lock. Unless the request has Recheck, that
// is 40001 (*txn.ConflictError): the first updater wins. The lock is kept in that case too, so that
// a statement tried again with a newer T succeeds. A KEY SHARE lock conflicts only with versions
// that removed the row or changed its keys.
func (t *Tx) Lock(ctx context.Context, key []byte, req txn.LockRequest) (changed bool, err error) {
	given := key
	if key, err = t.place(ctx, key); err != nil {
		return false, err
	}
	l, err := t.lock(ctx, key, req)
	if err != nil || req.T == txn.MaxTimestamp {
		return false, err
	}
	if l.size < 0 && !l.traced {
		if l.version, err = t.r.lastDelete(t.untilTerm(ctx), key); err != nil {
			return false, err
		}
		l.traced = true
	}
	if l.version <= req.T {
		if l.size < 0 && uint64(req.T) < t.r.watermark.Load() {
			return false, errTooOld(req.T) // what was deleted since may have left no trace
		}
		return false, nil
	}
	if req.Mode == txn.KeyShare && t.r.keptKeys(t.untilTerm(ctx), key, req.T) {
		return false, nil
	}
	if req.Recheck {
		return true, nil
	}
	if !rule.FirstUpdater || t.hasStaged(key) {
		return false, nil
	}
	gone := l.size < 0 && !t.r.moves.certain(key) // otherwise, for its users, a row that got another key was updated
	return false, txn.NewConflict(bytes.Clone(given), l.version, req.T, t.r.writerAt(l.version), gone)
}

// hasStaged reports whether the transaction has a write of key. If it has, the lock was granted
// then, and the transaction has put a new row in the place of one that another has deleted.
func (t *Tx) hasStaged(key []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok, err := t.stage.get(key, math.MaxInt)
	return ok && err == nil
}

// LockNewest takes the strongest lock of key without regard to a snapshot. It is for unique checks,
// which look at the newest state at every isolation level.
func (t *Tx) LockNewest(ctx context.Context, key []byte) error {
	key, err := t.place(ctx, key)
	if err == nil {
		_, err = t.lock(ctx, key, txn.LockRequest{Mode: txn.Update})
	}
	return err
}

func (t *Tx) lock(ctx context.Context, key []byte, req txn.LockRequest) (*rowLock, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if req.Mode < txn.KeyShare || req.Mode > txn.Update {
		return nil, pgerr.New(pgerr.InternalError, "a row lock has no mode %d", req.Mode)
	}
	t.mu.Lock()
	if err := t.begin(); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	l := t.last
	t.mu.Unlock()
	if l == nil || l.mode < req.Mode || req.Pin && !l.pinned || l.key != string(key) {
		var from txn.LockMode
		var err error
		if l, from, err = t.r.locks.acquire(ctx, t, key, req); err != nil {
			return nil, err
		}
		if !t.hold(l, from, req.Pin) {
			t.r.locks.release(l)
			return nil, errStageLost
		}
	}
	if l.known {
		return l, nil
	}
	return l, t.learn(ctx, key, l, req.NoWait)
}

// hold records a lock that this transaction has got, or had before in mode from. It reports whether
// the transaction is still alive.
func (t *Tx) hold(l *rowLock, from txn.LockMode, pin bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.phase == phaseDone {
		return false
	}
	pin = pin && !l.pinned && (l.number == 0 || !t.carried(l))
	if l.number == 0 {
		t.held = append(t.held, l)
		t.locks++
		l.number = t.locks
	} else if from != l.mode || pin {
		t.locks++
		t.changes = append(t.changes, lockChange{l, t.locks, from, l.pinned})
	}
	if pin {
		l.pinned = true
		t.pins++
	}
	t.last = l
	if t.whole() >= max(t.r.cfg.WholeLocks, t.compactAt) {
		t.compact()
	}
	return true
}

// lockOf returns the lock of key if this transaction has it. Called with mu held.
func (t *Tx) lockOf(key []byte) *rowLock {
	if l := t.last; l != nil && l.key == string(key) {
		return l
	}
	return t.r.locks.heldBy(t, key)
}

// learn fills in the row's newest committed version. Under the lock it stays the newest, except
// under the weakest lock: while this transaction has KEY SHARE, others may change all but the key,
// so the version is looked up again each time. A transaction that has prepared such a change has
// the row's lock, and learn does not wait for it. Index entries are prepared without a lock, so
// learn waits for their writers. These waits take no longer than those for a lock.
func (t *Tx) learn(ctx context.Context, key []byte, l *rowLock, noWait bool) error {
	if d := t.timeout(); d > 0 && t.r.undecided.Load() != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, errLockTimeout)
		defer cancel()
	}
	err := t.learnWithin(ctx, key, l, noWait)
	if err != nil && errors.Is(context.Cause(ctx), errLockTimeout) {
		return errLockTimeout
	}
	return err
}

func (t *Tx) learnWithin(ctx context.Context, key []byte, l *rowLock, noWait bool) error {
	stays, wait := l.mode >= txn.Share, t.untilTerm(ctx)
	if stays || !IsRow(key) {
		if noWait && t.r.preparedWriter(txn.MaxTimestamp, t.id, key) != nil {
			return txn.ErrLocked
		}
		if err := t.r.waitPrepared(wait, txn.MaxTimestamp, t.id, key); err != nil {
			return err
		}
	}
	value, version, err := t.r.newest(wait, key)
	if err != nil {
		return err
	}
	l.size, l.version, l.traced = -1, version, false
	if value != nil {
		l.size = int32(len(value))
	}
	l.known = stays
	return nil
}

// Mark returns the position to which RollbackTo and Restart return.
func (t *Tx) Mark() txn.Mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	return txn.Mark{Writes: t.stage.mark(), Locks: int(t.locks)}
}

// Restart undoes the writes since mark and keeps the locks.
func (t *Tx) Restart(mark txn.Mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stage.rollbackTo(mark.Writes)
}

// RollbackTo undoes the writes since mark, releases the locks taken since, and weakens those that
// were made stronger.
func (t *Tx) RollbackTo(mark txn.Mark) {
	t.mu.Lock()
	t.stage.rollbackTo(mark.Writes)
	if t.phase != phaseOpen || mark.Locks > int(t.locks) {
		t.mu.Unlock()
		return // ended, or lost with its term
	}
	keep := sort.Search(len(t.held), func(i int) bool { return int(t.held[i].number) > mark.Locks })
	first := sort.Search(len(t.changes), func(i int) bool { return int(t.changes[i].number) > mark.Locks })
	gone, changes := t.held[keep:], t.changes[first:]
	t.rememberLocked(gone, changes)
	t.held, t.changes, t.last = t.held[:keep:keep], t.changes[:first:first], nil
	t.locks = int32(mark.Locks)
	for i := len(changes) - 1; i >= 0; i-- {
		c := &changes[i]
		if c.l.pinned && !c.pinned {
			c.l.pinned, c.l.filed = false, false
			t.pins--
		}
		c.l.known = c.l.known && c.from >= txn.Share
	}
	for _, l := range gone {
		if l.pinned {
			t.pins--
		}
	}
	if t.pinned != nil {
		t.pinned.cut(mark.Locks)
	}
	if t.set != nil {
		c := t.set.cut(mark.Locks)
		t.pins -= c.pins
		if c.span != nil && t.reads != nil {
			// As rememberLocked, for rows whose keys are not known any more.
			t.reads.add(*c.span, txn.Timestamp(t.r.applied.Load()))
		}
		gone = append(slices.Clone(gone), c.gone...)
		changes = append(t.weakenedShown(), changes...)
	}
	t.mu.Unlock()
	for i := len(changes) - 1; i >= 0; i-- {
		if c := &changes[i]; int(c.l.number) <= mark.Locks && c.from < c.l.mode {
			t.r.locks.weaken(c.l, c.from)
		}
	}
	for _, l := range gone {
		t.r.locks.release(l)
	}
}

// weakenedShown returns the locks of the set that are also in the table, and that are weaker in the
// set now than before a return to a savepoint: those that were not changed since they came into the
// table. Called with mu held.
func (t *Tx) weakenedShown() (out []lockChange) {
	changed := map[*rowLock]bool{}
	for _, c := range t.changes {
		changed[c.l] = true
	}
	for _, l := range t.set.shownLocks() {
		x := t.set.state(t.r.locks.hashOf(l.key))
		if changed[l] || x.mode == 0 {
			continue
		}
		if !x.pinned {
			l.pinned, l.filed = false, false
		}
		if x.mode < l.mode {
			l.known = l.known && x.mode >= txn.Share
			out = append(out, lockChange{l: l, from: x.mode})
		}
	}
	return out
}

// rememberLocked records as read what a SERIALIZABLE transaction knows of rows whose locks it gives
// up: until now no other transaction could change them. Called with mu held.
func (t *Tx) rememberLocked(gone []*rowLock, changes []lockChange) {
	if t.reads == nil {
		return
	}
	now := txn.Timestamp(t.r.applied.Load())
	for _, o := range t.owns {
		t.reads.under(o)
	}
	for _, l := range gone {
		if l.known {
			t.reads.point([]byte(l.key), now)
		}
	}
	for _, c := range changes {
		if c.l.known && c.from < txn.Share {
			t.reads.point([]byte(c.l.key), now)
		}
	}
}

// HasPins implements txn.Participant.
func (t *Tx) HasPins() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pins > 0
}
