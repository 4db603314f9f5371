package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sherddb/sherd/txn"
)

// discards says which versions Badger may discard: those below a timestamp that only rises, but
// nothing above what streams still send or what Options.Keep returns, and nothing at all while the
// database is being replaced. mu is held while the timestamp is passed to Badger.
type discards struct {
	mu        sync.Mutex
	below     txn.Timestamp   // the last argument of Discard; guarded by mu
	told      txn.Timestamp   // the timestamp that Badger has; guarded by mu
	held      []txn.Timestamp // by running streams; guarded by mu
	replacing atomic.Bool     // changed under mu
	replaced  atomic.Uint64   // how often a replacement has begun
}

// Discard allows Badger to discard versions below at. With 0 it says that Options.Keep has changed.
func (e *Engine) Discard(at txn.Timestamp) {
	d := &e.keep
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.replacing.Load() {
		d.below, d.told = 0, 0
		e.db.SetDiscardTs(0)
		return
	}
	if d.below = max(at, d.below); d.below == 0 {
		return
	}
	d.told = min(d.below, e.o.Keep())
	for _, at := range d.held {
		d.told = min(d.told, at)
	}
	e.db.SetDiscardTs(uint64(d.told))
}

// HoldAt keeps the versions above a timestamp until release is called, even if Discard is called
// with a higher one. at returns the timestamp; no discard comes between it and the hold.
func (e *Engine) HoldAt(at func() txn.Timestamp) (release func()) {
	d := &e.keep
	d.mu.Lock()
	defer d.mu.Unlock()
	T := at()
	d.held = append(d.held, T)
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		i := slices.Index(d.held, T)
		d.held = slices.Delete(d.held, i, i+1)
	})
}

// BeginReplacing says that a stream of another replica is about to replace the database. A stream
// brings the deletion of a row before the row, and a merge must not drop it in between, so nothing
// is discarded until Replaced.
func (e *Engine) BeginReplacing() {
	e.keep.replacing.Store(true)
	e.Discard(0)
	e.keep.replaced.Add(1)
}

// Replaced says that the database is whole again.
func (e *Engine) Replaced() { e.keep.replacing.Store(false) }

// Torn reports whether the database is being replaced, or has been in part.
func (e *Engine) Torn() bool { return e.keep.replacing.Load() }

// Replacements returns how often the database has been replaced. Readers compare it before and
// after: if it differs, they may have read of two databases.
func (e *Engine) Replacements() uint64 { return e.keep.replaced.Load() }
