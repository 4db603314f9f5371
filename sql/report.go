package sql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
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

// Report is what one node knows: of its sessions and their locks, of the fragments that it leads, and of the waits at both.
type Report struct {
	Sessions          []sysview.Session
	Locks             []sysview.Lock // all but those of rows, and whom waits are for
	Rows              []txn.RowLock
	RowsTotal         int // there are, though not as many may be listed
	Transactions      []txn.OpenTransaction
	TransactionsTotal int
	Waits             []txn.Waiting
	Replicas          []sysview.Replica
	Heat              []sysview.Heat
	Counters          []sysview.Counters
	Forwarded         []sysview.Forwarded
}

// Absent is a node that did not tell what it knows.
type Absent struct {
	Name string
	Gone bool // nothing was heard of it for so long that its sessions hold nothing here any more
}

// Others is the other nodes of the cluster.
type Others struct {
	Self uint32 // this node's number
	// Snapshot asks a node for a snapshot that a transaction there has exported; ok is false if it knows none of that name. 57P03 if it does not answer.
	Snapshot func(ctx context.Context, node uint32, id string) (x tx.ExportedSnapshot, ok bool, err error)
	// Reports asks them all, and names those that did not answer.
	Reports func(ctx context.Context, wanted Wanted) ([]Report, []Absent)
	// Signal cancels the statement of a session of another node, or ends the session.
	Signal func(ctx context.Context, s Signal) (SignalResult, error)
	Health func() []sysview.Health
	// Say sends what transactions have said to the other nodes, in order, and does not wait. Heard waits until what they say comes here: LISTEN.
	Say   func([]Notification)
	Heard func(ctx context.Context) error
	Locks *tx.LocksElsewhere
	// Advisory keeps the advisory locks of all nodes; nil: each node has its own.
	Advisory *AdvisoryLocks
}

// Report tells what this node knows.
func (db *Server) Report(wanted Wanted) Report {
	var r Report
	has := func(w Wanted) bool { return wanted&w != 0 }
	if has(WantSessions) {
		db.eachSession(func(s *Session) { r.Sessions = append(r.Sessions, s.look()) })
	}
	if has(WantLocks) {
		r.Locks = db.heldLocks()
	}
	if has(WantRows) {
		r.Rows, r.RowsTotal = db.cfg.Fragments.ListRowLocks()
	}
	if has(WantTransactions) {
		r.Transactions, r.TransactionsTotal = db.cfg.Fragments.ListTransactions()
	}
	if has(WantWaits) {
		r.Waits = db.cfg.Deadlocks.Waits()
	}
	if has(WantReplicas) {
		r.Replicas = db.cfg.Fragments.ListReplicas()
	}
	if has(WantHeat) {
		r.Heat = db.cfg.Fragments.ListHeat()
	}
	if has(WantCounters) {
		r.Counters = db.counted()
	}
	if has(WantForwarded) {
		r.Forwarded = db.forwardings.list()
	}
	return r
}

// heldLocks lists the locks of this node's sessions, and those of prepared transactions.
func (db *Server) heldLocks() []sysview.Lock {
	var out []sysview.Lock
	list := db.locks.Locks()
	if a := db.advisory(); a != nil {
		list = append(list, a.Locks()...)
	}
	for _, l := range list {
		x := sysview.Lock{
			Type: l.Tag.Kind.String(), Database: l.Tag.Database, PID: l.PID, Mode: l.Mode.String(), Granted: l.Granted, Since: l.Since,
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

// reports asks the whole cluster, as one Report.
func (s *Session) reports(wanted Wanted) Report {
	all := s.db.Report(wanted)
	if others := s.db.cfg.Others; others != nil {
		reports, absent := others.Reports(s.running, wanted)
		for _, r := range reports {
			all.add(r)
		}
		if len(absent) > 0 {
			info{Session: s}.warn(pgerr.Warning, "%s", unheard(absent))
		}
	}
	for what, missing := range map[string][2]int{
		"row locks": {len(all.Rows), all.RowsTotal}, "transactions": {len(all.Transactions), all.TransactionsTotal},
	} {
		if missing[1] > missing[0] {
			info{Session: s}.warn(pgerr.Warning, "only %d of %d %s are listed", missing[0], missing[1], what)
		}
	}
	all.Transactions = wholeTransactions(all.Transactions)
	return all
}

// unheard says that nodes are missing in a view, all of them at once.
func unheard(absent []Absent) string {
	if len(absent) == 1 {
		return fmt.Sprintf("node %s does not answer: what it knows is missing", absent[0].Name)
	}
	names := make([]string, len(absent))
	for i, a := range absent {
		names[i] = a.Name
	}
	return fmt.Sprintf("nodes %s do not answer: what they know is missing", strings.Join(names, ", "))
}

func (r *Report) add(x Report) {
	r.Sessions = append(r.Sessions, x.Sessions...)
	r.Locks = append(r.Locks, x.Locks...)
	r.Rows, r.RowsTotal = append(r.Rows, x.Rows...), r.RowsTotal+x.RowsTotal
	r.Transactions, r.TransactionsTotal = append(r.Transactions, x.Transactions...), r.TransactionsTotal+x.TransactionsTotal
	r.Waits = append(r.Waits, x.Waits...)
	r.Replicas = append(r.Replicas, x.Replicas...)
	r.Heat = append(r.Heat, x.Heat...)
	r.Counters = append(r.Counters, x.Counters...)
	r.Forwarded = append(r.Forwarded, x.Forwarded...)
}

// wholeTransactions puts together what several nodes know of a transaction.
func wholeTransactions(list []txn.OpenTransaction) []txn.OpenTransaction {
	var out []txn.OpenTransaction
	at := map[txn.ID]int{}
	for _, t := range list {
		i, known := at[t.Party.ID]
		if !known {
			at[t.Party.ID] = len(out)
			out = append(out, t)
			continue
		}
		x := &out[i]
		x.Writes, x.Bytes, x.Locks = x.Writes+t.Writes, x.Bytes+t.Bytes, x.Locks+t.Locks
		x.Fragments = append(slices.Clone(x.Fragments), t.Fragments...)
		slices.Sort(x.Fragments)
		if t.Prepared {
			x.Prepared, x.C, x.Anchor = true, t.C, t.Anchor
		}
		if t.Since.Before(x.Since) {
			x.Since = t.Since
		}
		if x.Party.Session == 0 {
			x.Party.Session = t.Party.Session
		}
	}
	return out
}

// sessions lists the sessions of the cluster, by process number.
func (s *Session) sessions() []sysview.Session {
	all := s.reports(WantSessions | WantWaits)
	waits := map[uint32]bool{}
	for _, w := range all.Waits {
		if w.Object == "" { // a row
			waits[w.Waiter.Session] = true
		}
	}
	for i := range all.Sessions {
		if row := &all.Sessions[i]; waits[row.PID] {
			row.WaitType, row.Wait = "Lock", "transactionid"
		}
	}
	slices.SortFunc(all.Sessions, func(a, b sysview.Session) int { return int(int64(a.PID) - int64(b.PID)) })
	return all.Sessions
}

// health is what is known of the other nodes.
func (s *Session) health() []sysview.Health {
	if others := s.db.cfg.Others; others != nil {
		return others.Health()
	}
	return nil
}
