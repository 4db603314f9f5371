package fragment

import (
	"slices"

	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// maxActivity is how many row locks, or transactions, are listed.
const maxActivity = 10_000

// ListRowLocks returns the row locks in the fragments here, held and waited for: up to maxActivity
// of them, and the total number.
func (r *Replicas) ListRowLocks() (out []txn.RowLock, total int) {
	for _, x := range r.All() {
		locks, n := x.Inspect.Locks(maxActivity - len(out))
		for _, l := range locks {
			out = append(out, txn.RowLock{
				Fragment: l.Fragment, Holder: l.Holder, Key: l.Key,
				Mode: l.Mode, Granted: l.Granted, Since: l.Since, Blockers: l.Blockers,
			})
		}
		total += n
	}
	return out, total
}

// ListTransactions returns the transactions that hold locks or have buffered writes in the
// fragments here, oldest first, up to maxActivity for each fragment, and the total number.
func (r *Replicas) ListTransactions() (out []txn.OpenTransaction, total int) {
	by := map[txn.ID]*txn.OpenTransaction{}
	for _, x := range r.All() {
		list, n := x.Inspect.Transactions(maxActivity)
		total += n - len(list)
		for _, info := range list {
			t := by[info.Owner.ID]
			if t == nil {
				t = &txn.OpenTransaction{Owner: info.Owner, Since: info.Since}
				by[info.Owner.ID] = t
			}
			addActivity(t, info)
		}
	}
	for _, t := range by {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b txn.OpenTransaction) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return slices.Compare(a.Owner.ID[:], b.Owner.ID[:])
	})
	return out, total + len(out)
}

// addActivity adds what a transaction does in one fragment.
func addActivity(t *txn.OpenTransaction, x storage.TxInfo) {
	t.Fragments = append(t.Fragments, x.Fragment)
	t.Writes += x.Writes
	t.Bytes += x.Bytes
	t.Locks += x.Locks
	if t.Owner.Session == 0 {
		t.Owner.Session = x.Owner.Session
	}
	if x.Since.Before(t.Since) {
		t.Since = x.Since
	}
	if x.C != 0 {
		t.Prepared, t.C, t.Coordinator = true, x.C, x.Coordinator
	}
}
