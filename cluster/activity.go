package cluster

import (
	"slices"
	"time"

	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// MaxActivity is how many row locks, or transactions, are listed.
const MaxActivity = 10_000

// RowLocks returns the row locks in the fragments here, held and waited for: up to MaxActivity
// of them, and the total number.
func (h *Host) RowLocks() (out []storage.LockInfo, total int) {
	for _, r := range h.all() {
		locks, n := r.Inspect.Locks(MaxActivity - len(out))
		out = append(out, locks...)
		total += n
	}
	return out, total
}

// Activity is an open transaction as the fragments here know it.
type Activity struct {
	Owner       txn.LockOwner
	Since       time.Time        // when it first used one of them
	Writes      int              // buffered operations
	Bytes       int64            // of the buffered operations
	Locks       int              // row locks
	Prepared    bool             // in at least one of them; only then C and Coordinator are set
	C           txn.Timestamp    // the commit timestamp, if it commits
	Coordinator txn.FragmentID   // the coordinator fragment, whose log decides
	Fragments   []storage.TxInfo // one for each, ascending
}

// Activity returns the transactions that hold locks or have buffered writes in the fragments here,
// oldest first, up to MaxActivity for each fragment, and the total number.
func (h *Host) Activity() (out []Activity, total int) {
	by := map[txn.ID]*Activity{}
	for _, r := range h.all() {
		txs, n := r.Inspect.Transactions(MaxActivity)
		total += n - len(txs)
		for _, x := range txs {
			a := by[x.Owner.ID]
			if a == nil {
				a = &Activity{Owner: x.Owner, Since: x.Since}
				by[x.Owner.ID] = a
			}
			a.add(x)
		}
	}
	for _, a := range by {
		out = append(out, *a)
	}
	slices.SortFunc(out, func(a, b Activity) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return slices.Compare(a.Owner.ID[:], b.Owner.ID[:])
	})
	return out, total + len(out)
}

func (a *Activity) add(x storage.TxInfo) {
	a.Fragments = append(a.Fragments, x)
	a.Writes += x.Writes
	a.Bytes += x.Bytes
	a.Locks += x.Locks
	if a.Owner.Session == 0 {
		a.Owner.Session = x.Owner.Session
	}
	if x.Since.Before(a.Since) {
		a.Since = x.Since
	}
	if x.C != 0 {
		a.Prepared, a.C, a.Coordinator = true, x.C, x.Coordinator
	}
}

// all returns the replicas on this node, by fragment.
func (h *Host) all() []*storage.Replica {
	h.mu.RLock()
	defer h.mu.RUnlock()
	out := make([]*storage.Replica, 0, len(h.replicas))
	for _, r := range h.replicas {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *storage.Replica) int { return int(a.ID()) - int(b.ID()) })
	return out
}
