package storage

import (
	"cmp"
	"slices"
	"time"

	"github.com/sherddb/sherd/storage/locktable"
	"github.com/sherddb/sherd/txn"
)

// LockInfo is a row lock that is held or waited for.
type LockInfo = locktable.Info

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

// Locks returns the row locks, including waits, up to a limit, and their total number. Locks in the
// compact set of a large transaction are counted but not listed, because their keys are not known.
// The result is no snapshot: the table may change during the walk.
func (i *Inspector) Locks(limit int) (out []LockInfo, total int) {
	out, total = i.r.locks.List(limit)
	waits := i.r.guards.Waits()
	out, total = append(out, waits...), total+len(waits)
	out = out[:min(limit, len(out))]
	slices.SortStableFunc(out, func(a, b LockInfo) int { return slices.Compare(a.Key, b.Key) })
	return out, total
}

// Transactions returns the transactions that hold locks or have staged something here, up to a
// limit, oldest first, and their total number.
func (i *Inspector) Transactions(limit int) (out []TxInfo, total int) {
	i.r.live.mu.Lock()
	total = len(i.r.live.txs)
	txs := make([]*Tx, 0, min(limit, total))
	for _, t := range i.r.live.txs {
		if len(txs) == limit {
			break
		}
		txs = append(txs, t)
	}
	i.r.live.mu.Unlock()
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
		Fragment: t.r.cfg.Fragment, Party: t.locks.Party(), Writes: t.stage.Count(), Bytes: int64(t.stage.Mark()),
		Locks: t.locks.Count(), Since: t.since,
		Adopted: t.adopted.Load(),
	}
	phase := t.phase
	t.mu.Unlock()
	x.Phase = [...]string{phaseOpen: "open", phaseBusy: "committing", phasePrepared: "prepared", phaseDone: ""}[phase]
	t.r.txns.mu.RLock()
	if p := t.r.txns.prepared[t.id]; p != nil {
		x.Phase, x.C, x.Anchor = "prepared", p.C, p.anchor
	}
	t.r.txns.mu.RUnlock()
	return x, phase != phaseDone
}
