package storage

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// transactions is what a replica knows of transactions that are in its log and not over. Readers
// and lockers wait for them (T3), the leader asks for their outcomes, and the watermark stays below
// them.
//
// mu guards the maps. The applying goroutine changes them when a batch is in the database, the
// installer when the rows of a large commit are; all others read them.
type transactions struct {
	mu         sync.RWMutex
	prepared   map[txn.ID]*preparedTxn // guarded by mu
	installing map[txn.ID]*preparedTxn // committed, with rows still to be installed; guarded by mu
	// commits of this coordinator fragment, not forgotten yet; guarded by mu
	decided      map[txn.ID]*decision
	preparations map[txn.ID]*preparation // prepared by PREPARE TRANSACTION; guarded by mu
	parts        map[txn.ID]bool         // with parts and no prepare; guarded by mu

	// undecided is len(prepared) + len(installing): while it is 0 no reader takes mu.
	undecided atomic.Int32
}

// clear forgets all transactions, and wakes those that wait for one. Called with mu held, or before
// other goroutines have the transactions.
func (t *transactions) clear() {
	for _, list := range []map[txn.ID]*preparedTxn{t.prepared, t.installing} {
		for _, p := range list {
			close(p.resolved)
		}
	}
	t.prepared, t.installing = map[txn.ID]*preparedTxn{}, map[txn.ID]*preparedTxn{}
	t.decided, t.preparations, t.parts = map[txn.ID]*decision{}, map[txn.ID]*preparation{}, map[txn.ID]bool{}
	t.undecided.Store(0)
}

// count is called with mu held, after prepared or installing has changed.
func (t *transactions) count() { t.undecided.Store(int32(len(t.prepared) + len(t.installing))) }

// resolved wakes those that wait for a prepared transaction, which is resolved now, or whose
// attempt to commit has ended. Called with mu held.
func (t *transactions) resolved(id txn.ID) {
	if p := t.prepared[id]; p != nil {
		delete(t.prepared, id)
		close(p.resolved)
	}
}

// installed wakes those that wait for the rows of a large commit, which are in the database.
func (t *transactions) installed(id txn.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.installing[id]; p != nil {
		delete(t.installing, id)
		close(p.resolved)
	}
	t.count()
}

// find returns a transaction at or below T that hits, among those that are prepared or whose rows
// are on their way, or nil if there is none. The caller's own does not count while it is prepared.
func (t *transactions) find(T txn.Timestamp, own txn.ID, hits func(*preparedTxn) bool) *preparedTxn {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for id, p := range t.prepared {
		if p.C <= T && id != own && hits(p) {
			return p
		}
	}
	if !rule.T3Installed {
		return nil
	}
	for _, p := range t.installing {
		if p.C <= T && hits(p) {
			return p
		}
	}
	return nil
}

// findWriter is find of a prepared transaction that writes key.
func (t *transactions) findWriter(T txn.Timestamp, own txn.ID, key []byte) *preparedTxn {
	if t.undecided.Load() == 0 {
		return nil
	}
	return t.find(T, own, func(p *preparedTxn) bool { return !p.installing && p.writes(key) })
}

// oldestNeeded returns the timestamp at or below which the watermark must stay.
func (t *transactions) oldestNeeded() txn.Timestamp {
	T := txn.MaxTimestamp
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, p := range t.prepared {
		T = min(T, p.C-1)
	}
	for _, p := range t.installing {
		T = min(T, p.C-1)
	}
	return T
}

// oldestInstalling returns the least version that is still to be written.
func (t *transactions) oldestInstalling() txn.Timestamp {
	t.mu.RLock()
	defer t.mu.RUnlock()
	T := txn.MaxTimestamp
	for _, p := range t.installing {
		T = min(T, p.C)
	}
	return T
}

// listUndecided returns the transactions prepared at or below T, oldest first.
func (t *transactions) listUndecided(T txn.Timestamp) (out []Undecided) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, p := range t.prepared {
		if p.C <= T {
			out = append(out, Undecided{p.id, p.C, p.coordinator})
		}
	}
	slices.SortFunc(out, func(a, b Undecided) int {
		if a.C < b.C {
			return -1
		}
		return 1
	})
	return out
}

// liveTxs are the transactions that have something here in the leader's term. mu guards both maps;
// it is taken when a transaction gets its first lock, write or tracked read here, and at its end.
type liveTxs struct {
	mu      sync.Mutex
	txs     map[txn.ID]*Tx   // with locks, writes or a prepare; guarded by mu
	readers map[*Tx]struct{} // with reads to be validated; guarded by mu
	written counts.Written   // rows that they have written
}

// reset forgets all of them: their term is over.
func (l *liveTxs) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.txs, l.readers = map[txn.ID]*Tx{}, map[*Tx]struct{}{}
}

// add adds a transaction that the leader has rebuilt from the log.
func (l *liveTxs) add(t *Tx) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.txs[t.id] = t
}

// find returns the handle of a transaction, nil if it has nothing here.
func (l *liveTxs) find(id txn.ID) *Tx {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.txs[id]
}

// remove forgets a handle.
func (l *liveTxs) remove(t *Tx) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.readers, t)
	if l.txs[t.id] == t {
		delete(l.txs, t.id)
	}
}

// count returns how many transactions have something here.
func (l *liveTxs) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.txs)
}

// adopt rebuilds the locks of a prepared transaction at the start of a term (T4), in the modes that
// its entries name. It is called with no locks in the table but those of other prepared
// transactions, which were granted together with these.
func (r *Replica) adopt(p *preparedTxn, term uint64) {
	t := newTx(r, p.id)
	t.term, t.since, t.phase, t.strange = term, p.since, phasePrepared, true
	t.adopted.Store(true)
	t.placed.Adopt(r.Owned.Load())
	err := p.each(func(key []byte, mode txn.LockMode) error {
		t.locks.Force(key, mode)
		if t.locks.Full() {
			t.locks.Compact(t.bufferFile)
		}
		return nil
	})
	if err != nil {
		// either its outcome is being applied, or the database cannot be read and so no outcome is
		// applied
		r.cfg.Logger.Warn("locks of a prepared transaction", "fragment", r.cfg.Fragment, "txn", p.id, "error", err)
	}
	r.live.add(t)
}
