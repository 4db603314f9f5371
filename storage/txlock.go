package storage

import (
	"bytes"
	"context"
	"errors"
	"math"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keymoves"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/storage/pins"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// SetSession sets the session of the transaction, for deadlock messages and for pg_locks; 0: none,
// as after PREPARE TRANSACTION.
func (t *Tx) SetSession(process uint32) { t.locks.SetSession(process) }

// SetLockTimeout bounds the waits for locks; 0 means no bound.
func (t *Tx) SetLockTimeout(d time.Duration) { t.locks.SetTimeout(d) }

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
	if l.Row.Size < 0 && !l.Row.Traced {
		if l.Row.Version, err = t.r.rows.lastDelete(untilTerm(ctx, t.r.proposer), key); err != nil {
			return false, err
		}
		l.Row.Traced = true
	}
	if l.Row.Version <= req.T {
		if l.Row.Size < 0 && req.T < t.r.pins.Watermark() {
			return false, pins.TooOld(req.T) // what was deleted since may have left no trace
		}
		return false, nil
	}
	if req.Mode == txn.KeyShare && t.r.rows.keptKeys(untilTerm(ctx, t.r.proposer), key, req.T) {
		return false, nil
	}
	if req.Recheck {
		return true, nil
	}
	if !rule.FirstUpdater || t.hasBuffered(key) {
		return false, nil
	}
	// otherwise, for its users, a row that got another key was updated
	gone := l.Row.Size < 0 && !t.r.left.Certain(key)
	return false, txn.NewConflict(bytes.Clone(given), l.Row.Version, req.T, t.r.writerAt(l.Row.Version), gone)
}

// hasBuffered reports whether the transaction has a write of key. If it has, the lock was granted
// then, and the transaction has replaced a row that another has deleted by a new one.
func (t *Tx) hasBuffered(key []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok, err := t.buffer.Get(key, math.MaxInt)
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

func (t *Tx) lock(ctx context.Context, key []byte, req txn.LockRequest) (*locktable.Lock, error) {
	if err := keyspace.Check(key); err != nil {
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
	written := locktable.NotWritten
	if req.Pin {
		written = t.written(key)
	}
	t.mu.Unlock()
	l, err := t.locks.Lock(ctx, key, &req, written)
	if errors.Is(err, locktable.ErrEnded) {
		err = proposer.ErrTermOver
	}
	if err != nil {
		return nil, err
	}
	if t.locks.Full() {
		t.locks.Compact(t.bufferFile)
	}
	if l.Row.Known {
		return l, nil
	}
	return l, t.learn(ctx, key, l, req.NoWait)
}

// written returns what is buffered of a row. Called with mu held.
func (t *Tx) written(key []byte) locktable.Written {
	op, ok, err := t.buffer.Get(key, t.buffer.Mark())
	switch {
	case err != nil || !ok:
		return locktable.NotWritten
	case op.Kept:
		return locktable.KeysKept
	}
	return locktable.Rewritten
}

// learn fills in the row's newest committed version. Under the lock it stays the newest, except
// under the weakest lock: while this transaction has KEY SHARE, others may change all but the key,
// so the version is looked up again each time. A transaction that has prepared such a change has
// the row's lock, and learn does not wait for it. Index entries are prepared without a lock, so
// learn waits for their writers. These waits take no longer than those for a lock.
func (t *Tx) learn(ctx context.Context, key []byte, l *locktable.Lock, noWait bool) error {
	if d := t.locks.Timeout(); d > 0 && t.r.txns.undecided.Load() != 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, locktable.ErrTimeout)
		defer cancel()
	}
	err := t.learnWithin(ctx, key, l, noWait)
	if err != nil && errors.Is(context.Cause(ctx), locktable.ErrTimeout) {
		return locktable.ErrTimeout
	}
	return err
}

func (t *Tx) learnWithin(ctx context.Context, key []byte, l *locktable.Lock, noWait bool) error {
	stays, wait := l.Mode() >= txn.Share, untilTerm(ctx, t.r.proposer)
	if stays || !keyspace.IsRow(key) {
		if noWait && t.r.txns.findWriter(txn.MaxTimestamp, t.id, key) != nil {
			return txn.ErrLocked
		}
		if err := t.r.rows.waitPrepared(wait, txn.MaxTimestamp, t.id, key); err != nil {
			return err
		}
	}
	value, version, err := t.r.rows.newest(wait, key)
	if err != nil {
		return err
	}
	l.Row.Size, l.Row.Version, l.Row.Traced = -1, version, false
	if value != nil {
		l.Row.Size = int32(len(value))
	}
	l.Row.Known = stays
	return nil
}

// Mark returns the position to which RollbackTo and Restart return.
func (t *Tx) Mark() txn.Mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	return txn.Mark{Writes: t.buffer.Mark(), Locks: t.locks.Count()}
}

// Restart undoes the writes since mark and keeps the locks.
func (t *Tx) Restart(mark txn.Mark) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buffer.RollbackTo(mark.Writes)
}

// RollbackTo undoes the writes since mark, releases the locks taken since, and weakens those that
// were made stronger.
func (t *Tx) RollbackTo(mark txn.Mark) {
	t.mu.Lock()
	t.buffer.RollbackTo(mark.Writes)
	if t.phase != phaseOpen { // ended
		t.mu.Unlock()
		return
	}
	undone := t.locks.Undo(mark.Locks)
	t.rememberLocked(&undone)
	t.mu.Unlock()
	undone.Release()
}

// rememberLocked records as read what a SERIALIZABLE transaction knows of rows whose locks it
// releases, because until now no other transaction could change them. Called with mu held.
func (t *Tx) rememberLocked(undone *locktable.Undone) {
	if t.reads == nil {
		return
	}
	now := txn.Timestamp(t.r.proposer.Applied.Load())
	t.placed.Each(t.reads.Under)
	for _, key := range undone.Known {
		t.reads.Point([]byte(key), now)
	}
	if undone.Span != nil {
		t.reads.Add(*undone.Span, now)
	}
}

// HasPins implements txn.Participant.
func (t *Tx) HasPins() bool { return t.locks.HasPins() }

// Leaves notes that the row at key, which the transaction deletes, gets another key in the same
// transaction.
func (t *Tx) Leaves(key []byte) {
	key = t.storedNow(key)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left.Add(key)
}

// Left reports whether the row that was at key, whose lock is held and which no longer exists, may
// have another key now. It also returns true if that is no longer known.
func (t *Tx) Left(key []byte) (bool, error) {
	key = t.storedNow(key)
	version, err := t.r.rows.lastDelete(untilTerm(context.Background(), t.r.proposer), key)
	return err == nil && t.r.left.Perhaps(key, version), err
}

// noteLeft takes over what an ending transaction has noted, before its locks are released.
func (r *Replica) noteLeft(notes keymoves.Notes, strange bool) {
	switch {
	case strange:
		r.left.Unknown(r.proposer.NewestStamp())
	case !notes.Empty():
		r.left.Add(notes, r.proposer.NewestStamp())
	}
}
