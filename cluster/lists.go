package cluster

import (
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
)

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
			Party: a.Party, Since: a.Since, Writes: a.Writes,
			Bytes: a.Bytes, Locks: a.Locks, Prepared: a.Prepared, C: a.C, Anchor: a.Anchor,
		}
		for _, f := range a.Fragments {
			out[i].Fragments = append(out[i].Fragments, f.Fragment)
		}
	}
	return out, total
}

// ListReplicas returns the replicas of the fragments that are led here, for sessions.
func (h *Host) ListReplicas() []sysview.Replica {
	var out []sysview.Replica
	for _, r := range h.all() {
		term := r.Group.Term()
		if term == 0 {
			continue
		}
		for _, m := range r.Group.Members() {
			out = append(out, sysview.Replica{
				Fragment: r.ID(), Node: m.Node, Leads: m.Node == h.cfg.Node,
				Voter: m.Voter, Lag: m.Lag, Contact: m.Contact, Term: term,
			})
		}
	}
	return out
}
