package monitor

import (
	"slices"

	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
)

// Wanted names parts of a Report. Its values are sent to other nodes.
type Wanted uint32

// Parts of a Report.
const (
	WantSessions Wanted = 1 << iota
	WantLocks
	WantRows
	WantTransactions
	WantWaits
	WantReplicas
	WantHeat
	WantCounters
	WantForwarded
)

// Report is what one node knows: of its sessions and their locks, of the fragments that it leads, and of
// the waits at both.
type Report struct {
	Sessions          []sysview.Session
	Locks             []sysview.Lock // without those of rows and without blockers
	Rows              []txn.RowLock
	RowsTotal         int // more than are listed if the list was cut
	Transactions      []txn.OpenTransaction
	TransactionsTotal int
	Waits             []txn.Waiting
	Replicas          []sysview.Replica
	Heat              []sysview.Heat
	Counters          []sysview.Counters
	Forwarded         []sysview.Forwarded
}

// Absent is a node that did not report.
type Absent struct {
	Name string
	Gone bool // silent for so long that its sessions hold nothing here any more
}

// add appends the report of another node.
func (r *Report) add(x Report) {
	r.Sessions = append(r.Sessions, x.Sessions...)
	r.Locks = append(r.Locks, x.Locks...)
	r.Rows, r.RowsTotal = append(r.Rows, x.Rows...), r.RowsTotal+x.RowsTotal
	r.Transactions = append(r.Transactions, x.Transactions...)
	r.TransactionsTotal += x.TransactionsTotal
	r.Waits = append(r.Waits, x.Waits...)
	r.Replicas = append(r.Replicas, x.Replicas...)
	r.Heat = append(r.Heat, x.Heat...)
	r.Counters = append(r.Counters, x.Counters...)
	r.Forwarded = append(r.Forwarded, x.Forwarded...)
}

// mergeTransactions makes one row of what several nodes report of a transaction.
func mergeTransactions(list []txn.OpenTransaction) []txn.OpenTransaction {
	var out []txn.OpenTransaction
	at := map[txn.ID]int{}
	for _, t := range list {
		i, known := at[t.Owner.ID]
		if !known {
			at[t.Owner.ID] = len(out)
			out = append(out, t)
			continue
		}
		x := &out[i]
		x.Writes, x.Bytes, x.Locks = x.Writes+t.Writes, x.Bytes+t.Bytes, x.Locks+t.Locks
		x.Fragments = append(slices.Clone(x.Fragments), t.Fragments...)
		slices.Sort(x.Fragments)
		if t.Prepared {
			x.Prepared, x.C, x.Coordinator = true, t.C, t.Coordinator
		}
		if t.Since.Before(x.Since) {
			x.Since = t.Since
		}
		if x.Owner.Session == 0 {
			x.Owner.Session = t.Owner.Session
		}
	}
	return out
}
