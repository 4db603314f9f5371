package storage

import (
	"cmp"
	"slices"
	"time"

	"github.com/sherddb/sherd/txn"
)

// LockInfo is a row lock that is held or waited for.
type LockInfo struct {
	Fragment FragmentID
	Holder   txn.Party // or who waits
	Key      []byte    // of the row, or of an index entry
	Mode     txn.LockMode
	Granted  bool
	Since    time.Time   // the wait began; zero for a lock that is held
	Blockers []txn.Party // whom a wait is for: holders, and those next ahead in the queue
}

// TxInfo is a transaction as it stands in one fragment.
type TxInfo struct {
	Fragment FragmentID
	Party    txn.Party
	Phase    string // "open", "committing" or "prepared"
	Writes   int    // staged operations: rows and index entries
	Bytes    int64  // of the stage
	Locks    int
	Since    time.Time     // it was here first; after a restart, since when this process knows it
	C        txn.Timestamp // prepared: at which it commits, if it does
	Anchor   FragmentID    // prepared: where that is decided
	Adopted  bool          // prepared in an earlier term: known from the log alone
}

// Locks gives the row locks, waits included, up to a limit, and how many there are. Those in the set of a large transaction are counted, and
// not listed: their keys are not known. It is no snapshot: the table goes on while it is walked.
func (r *Replica) Locks(limit int) (out []LockInfo, total int) {
	for i := range r.locks.stripes {
		s := &r.locks.stripes[i]
		s.mu.Lock()
		for _, front := range s.locks {
			total += 1 + front.waiting()
			if front.crowd != nil {
				total += len(front.crowd.holders) - 1
			}
			if len(out) < limit {
				out = front.list(r, out)
			}
		}
		s.mu.Unlock()
	}
	waits := r.guards.waits()
	out, total = append(out, waits...), total+len(waits)
	if sets := r.locks.sets.Load(); sets != nil {
		for _, t := range *sets {
			total += t.set.count()
		}
	}
	out = out[:min(limit, len(out))]
	slices.SortStableFunc(out, func(a, b LockInfo) int { return slices.Compare(a.Key, b.Key) })
	return out, total
}

// list appends a row's locks: holders, then the queue. Called with the stripe's mu held.
func (l *rowLock) list(r *Replica, out []LockInfo) []LockInfo {
	f, key := r.cfg.Fragment, r.given([]byte(l.key))
	held := func(h *rowLock) {
		out = append(out, LockInfo{Fragment: f, Holder: h.t.party(), Key: key, Mode: h.mode, Granted: true})
	}
	if l.crowd == nil {
		held(l)
		return out
	}
	for _, h := range l.crowd.holders {
		held(h)
	}
	for _, w := range l.crowd.queue {
		out = append(out, LockInfo{Fragment: f, Holder: w.wait.Waiter, Key: key, Mode: w.mode, Since: w.since, Blockers: l.inTheWay(w)})
	}
	return out
}

// inTheWay gives the holders that w waits for, and what the detector knows of the queue ahead.
func (l *rowLock) inTheWay(w *lockWait) (out []txn.Party) {
	for _, h := range l.crowd.holders {
		if h.t != w.t && h.mode.Conflicts(w.mode) {
			out = append(out, h.t.party())
		}
	}
	for _, p := range w.by {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Transactions gives the transactions that hold locks or have staged something here, up to a limit, oldest first, and how many there are.
func (r *Replica) Transactions(limit int) (out []TxInfo, total int) {
	r.tmu.Lock()
	total = len(r.txs)
	txs := make([]*Tx, 0, min(limit, total))
	for _, t := range r.txs {
		if len(txs) == limit {
			break
		}
		txs = append(txs, t)
	}
	r.tmu.Unlock()
	for _, t := range txs {
		if x, ok := t.info(); ok {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b TxInfo) int {
		return cmp.Or(a.Since.Compare(b.Since), slices.Compare(a.Party.ID[:], b.Party.ID[:]))
	})
	return out, total
}

func (t *Tx) info() (TxInfo, bool) {
	t.mu.Lock()
	x := TxInfo{
		Fragment: t.r.cfg.Fragment, Party: t.party(), Writes: t.stage.count(), Bytes: int64(t.stage.mark()), Locks: int(t.locks), Since: t.since,
		Adopted: t.adopted.Load(),
	}
	phase := t.phase
	t.mu.Unlock()
	x.Phase = [...]string{phaseOpen: "open", phaseBusy: "committing", phasePrepared: "prepared", phaseDone: ""}[phase]
	t.r.smu.RLock()
	if p := t.r.prepared[t.id]; p != nil {
		x.Phase, x.C, x.Anchor = "prepared", p.C, p.anchor
	}
	t.r.smu.RUnlock()
	return x, phase != phaseDone
}
