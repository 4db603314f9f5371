package locktable

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/txn"
)

// ErrEnded answers a request of an owner that has ended meanwhile.
var ErrEnded = errors.New("the lock owner has ended")

// Owner is one transaction's locks in a table. Init makes it usable; it must not be copied then.
//
// One statement of the transaction uses it at a time; parts of that statement may run at the same
// time.
type Owner struct {
	table   *Table
	id      txn.ID
	timeout atomic.Int64  // nanoseconds; 0: none
	session atomic.Uint32 // the backend's process number
	ending  atomic.Bool   // the transaction is being decided, or has been
	full    atomic.Bool   // whole() has reached a limit

	// The lock requested last, which the next write probably needs. Changed under mu.
	last atomic.Pointer[Lock]
	set  atomic.Pointer[compactSet] // most locks of a large transaction, nil: it has few; set once

	mu        sync.Mutex // taken before a stripe's
	ended     bool       // guarded by mu
	number    int32      // of the lock or change taken last; guarded by mu
	held      []*Lock    // in the order of their numbers, without those in set; guarded by mu
	changes   []change   // of the locks in held, in the order of their numbers; guarded by mu
	compactAt int        // whole() at which locks go into the set; guarded by mu
	pins      int        // number of pinned locks; guarded by mu
	pinFile   *pinFile   // keys of the pinned locks that are in set, nil: none; guarded by mu
}

// change records that a lock was made stronger or pinned, for savepoints.
type change struct {
	l      *Lock
	number int32 // in the order of the locks
	before held
}

// held is the state of a lock.
type held struct {
	mode   txn.LockMode
	pinned bool
}

// Init makes o the locks of transaction id in the table.
func (o *Owner) Init(lt *Table, id txn.ID) { o.table, o.id = lt, id }

// SetSession sets the session of the transaction, for deadlock messages and for pg_locks; 0: none.
func (o *Owner) SetSession(process uint32) { o.session.Store(process) }

// LockOwner returns the transaction and its session.
func (o *Owner) LockOwner() txn.LockOwner { return txn.LockOwner{ID: o.id, Session: o.session.Load()} }

// SetTimeout bounds the waits for locks; 0 means no bound.
func (o *Owner) SetTimeout(d time.Duration) { o.timeout.Store(int64(d)) }

// Timeout returns the bound of SetTimeout.
func (o *Owner) Timeout() time.Duration { return time.Duration(o.timeout.Load()) }

// SetEnding records that the transaction is being decided: a request with Ending waits for it.
func (o *Owner) SetEnding() { o.ending.Store(true) }

// Ending reports whether SetEnding was called.
func (o *Owner) Ending() bool { return o.ending.Load() }

// Written says what of a row the transaction has buffered. A prepare has the write, and with it a
// lock of the row: then a pin adds nothing.
type Written byte

// What is written of a row, with the strongest lock that follows from it.
const (
	NotWritten Written = iota
	KeysKept           // a put that leaves the keys as they were: NO KEY UPDATE
	Rewritten          // any other write: UPDATE
)

func (w Written) implies(mode txn.LockMode) bool {
	return w == Rewritten || w == KeysKept && mode <= txn.NoKeyUpdate
}

// Lock takes the lock of key in the request's mode, if o does not have it in one as strong. It
// waits for the transactions in the way, or fails with txn.ErrLocked if it must not. Other errors
// are 40P01 on a deadlock, ErrTimeout, ctx's, ErrEnded, and what Reset and Fail answer. The
// request's snapshot is the caller's concern. If Full is true then, the caller calls Compact.
func (o *Owner) Lock(ctx context.Context, key []byte, req *txn.LockRequest, w Written) (*Lock, error) {
	if l := o.last.Load(); l != nil && l.mode >= req.Mode && l.key == string(key) && !(req.Pin && o.needsPin(l)) {
		return l, nil
	}
	l, from, err := o.table.acquire(ctx, o, key, req)
	if err != nil {
		return nil, err
	}
	if !o.record(l, from, req.Pin, w) {
		o.table.release(l)
		return nil, ErrEnded
	}
	return l, nil
}

func (o *Owner) needsPin(l *Lock) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !l.pinned
}

// record records a lock that the owner has got, or had before in mode from. It reports whether the
// owner has not ended.
func (o *Owner) record(l *Lock, from txn.LockMode, pin bool, w Written) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return false
	}
	pin = pin && !l.pinned && (l.number == 0 || !w.implies(l.mode))
	if l.number == 0 {
		o.held = append(o.held, l)
		o.number++
		l.number = o.number
	} else if from != l.mode || pin {
		o.number++
		o.changes = append(o.changes, change{l, o.number, held{from, l.pinned}})
	}
	if pin {
		l.pinned = true
		o.pins++
	}
	o.last.Store(l)
	if o.whole() >= max(o.table.cfg.Whole, o.compactAt) {
		o.full.Store(true)
	}
	return true
}

// Force takes the lock of key whatever others hold: the locks of prepared transactions did not
// exclude each other when they were made (LK2).
func (o *Owner) Force(key []byte, mode txn.LockMode) {
	l := o.table.force(o, key, mode)
	o.record(l, l.mode, false, NotWritten)
}

// Find returns the lock of key if o has it, nil otherwise.
func (o *Owner) Find(key []byte) *Lock {
	if l := o.last.Load(); l != nil && l.key == string(key) {
		return l
	}
	return o.table.find(o, key)
}

// Count returns the number of the lock taken last.
func (o *Owner) Count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return int(o.number)
}

// Each calls fn with the owner's locks, except for those in its compact set, until fn returns
// false. A caller that must miss no lock calls Span afterwards. fn must not use the owner.
func (o *Owner) Each(fn func(l *Lock, pinned bool) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.held {
		if !fn(l, l.pinned) {
			return
		}
	}
}

// Span returns the span in which the locks of the compact set lie, nil if there are none.
func (o *Owner) Span() *txn.Span {
	set := o.set.Load()
	if set == nil {
		return nil
	}
	return set.span()
}

// HasPins reports whether a lock is pinned.
func (o *Owner) HasPins() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pins > 0
}

// End releases all locks. Requests that are answered afterwards return ErrEnded.
func (o *Owner) End() {
	o.mu.Lock()
	gone := o.held
	o.ended, o.held, o.changes, o.pins = true, nil, nil, 0
	o.last.Store(nil)
	set := o.set.Load()
	if set != nil {
		gone = append(gone, set.cut(0).gone...)
	}
	if o.pinFile != nil {
		o.pinFile.f.Close() // the file has no name any more
		o.pinFile = nil
	}
	o.mu.Unlock()
	if set != nil {
		o.table.dropSet(o)
	}
	for _, l := range gone {
		o.table.release(l)
	}
}
