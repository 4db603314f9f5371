package cluster

import "github.com/sherddb/sherd/txn"

// ListRowLocks is RowLocks in the types of package txn, for sessions.
func (h *Host) ListRowLocks() ([]txn.RowLock, int) {
	list, total := h.RowLocks()
	out := make([]txn.RowLock, len(list))
	for i, l := range list {
		out[i] = txn.RowLock{
			Fragment: l.Fragment, Holder: l.Holder, Key: l.Key,
			Mode: l.Mode, Granted: l.Granted, Since: l.Since, Blockers: l.Blockers,
		}
	}
	return out, total
}

// ListTransactions is Activity in the types of package txn, for sessions.
func (h *Host) ListTransactions() ([]txn.OpenTransaction, int) {
	list, total := h.Activity()
	out := make([]txn.OpenTransaction, len(list))
	for i, a := range list {
		out[i] = txn.OpenTransaction{
			Owner: a.Owner, Since: a.Since, Writes: a.Writes,
			Bytes: a.Bytes, Locks: a.Locks, Prepared: a.Prepared, C: a.C, Coordinator: a.Coordinator,
		}
		for _, f := range a.Fragments {
			out[i].Fragments = append(out[i].Fragments, f.Fragment)
		}
	}
	return out, total
}
