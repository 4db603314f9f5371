package monitor

import (
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// Node makes the reports of this node. Its methods may be called concurrently.
type Node struct {
	Sessions    func() []sysview.Session
	Locks       func() []locks.Lock // of sessions and prepared transactions
	Fragments   Fragments
	Deadlocks   *txn.Detector
	Counters    Counters
	Forwardings Forwardings
}

// Fragments are the fragments of this node, see session.Fragments.
type Fragments interface {
	ListRowLocks() ([]txn.RowLock, int)
	ListTransactions() ([]txn.OpenTransaction, int)
	ListReplicas() []sysview.Replica
	ListHeat() []sysview.Heat
}

// Report returns what this node knows.
func (n *Node) Report(wanted Wanted) Report {
	var r Report
	has := func(w Wanted) bool { return wanted&w != 0 }
	if has(WantSessions) {
		r.Sessions = n.Sessions()
	}
	if has(WantLocks) {
		r.Locks = lockRows(n.Locks())
	}
	if has(WantRows) {
		r.Rows, r.RowsTotal = n.Fragments.ListRowLocks()
	}
	if has(WantTransactions) {
		r.Transactions, r.TransactionsTotal = n.Fragments.ListTransactions()
	}
	if has(WantWaits) {
		r.Waits = n.Deadlocks.Waits()
	}
	if has(WantReplicas) {
		r.Replicas = n.Fragments.ListReplicas()
	}
	if has(WantHeat) {
		r.Heat = n.Fragments.ListHeat()
	}
	if has(WantCounters) {
		r.Counters = n.Counters.rows()
	}
	if has(WantForwarded) {
		r.Forwarded = n.Forwardings.rows()
	}
	return r
}

func lockRows(list []locks.Lock) []sysview.Lock {
	var out []sysview.Lock
	for _, l := range list {
		x := sysview.Lock{
			Type: l.Tag.Kind.String(), Database: l.Tag.Database, PID: l.PID, Mode: l.Mode.String(),
			Granted: l.Granted, Since: l.Since,
		}
		if !l.Owner.IsZero() {
			x.Txn, x.TxnXID = l.Owner.String(), l.Owner.XID()
		}
		switch l.Tag.Kind {
		case locks.Relation:
			x.Relation = l.Tag.Object
		default:
			x.Class, x.Object, x.Sub = l.Tag.Class, l.Tag.Object, l.Tag.Sub
		}
		if l.Tag.Kind == locks.Advisory {
			x.Key = l.Tag.KeyText()
		}
		out = append(out, x)
	}
	return out
}
