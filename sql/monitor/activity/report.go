package activity

import (
	"strings"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
)

// maxText is how much of a statement's text is sent.
const maxText = 1024

func clip(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return s
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func at(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros)
}

func toReport(r *monitor.Report) *pb.ReportAnswer {
	a := &pb.ReportAnswer{RowsTotal: uint64(r.RowsTotal), TransactionsTotal: uint64(r.TransactionsTotal)}
	for i := range r.Sessions {
		a.Sessions = append(a.Sessions, toSession(&r.Sessions[i]))
	}
	for i := range r.Locks {
		a.Locks = append(a.Locks, toLock(&r.Locks[i]))
	}
	for _, l := range r.Rows {
		a.Rows = append(a.Rows, &pb.RowLockRow{
			Fragment: l.Fragment, Holder: toWaiter(l.Holder),
			Key: l.Key, Mode: uint32(l.Mode), Granted: l.Granted, Since: micros(l.Since),
			Blockers: toWaiters(l.Blockers),
		})
	}
	for _, t := range r.Transactions {
		a.Transactions = append(a.Transactions, &pb.OpenTransactionRow{
			Owner: toWaiter(t.Owner), Since: micros(t.Since),
			Writes: uint64(t.Writes), Bytes: t.Bytes, Locks: uint64(t.Locks), Prepared: t.Prepared,
			C: uint64(t.C), Coordinator: t.Coordinator, Fragments: t.Fragments,
		})
	}
	for _, w := range r.Waits {
		a.Waits = append(a.Waits, &pb.LockWait{
			Number: w.Number, Waiter: toWaiter(w.Waiter), Lock: w.Lock,
			Object: w.Object, Key: w.Key, Fragment: w.Fragment, Blockers: toWaiters(w.Blockers),
		})
	}
	for _, x := range r.Replicas {
		a.Replicas = append(a.Replicas, &pb.ReplicaRow{
			Fragment: x.Fragment, Node: x.Node, Leads: x.Leads,
			Voter: x.Voter, Lag: x.Lag, Contact: micros(x.Contact), Term: x.Term,
		})
	}
	for _, x := range r.Counters {
		a.Counters = append(a.Counters, &pb.CountersRow{Database: x.Database,
			Commits: x.Commits, Rollbacks: x.Rollbacks, Deadlocks: x.Deadlocks})
	}
	for _, x := range r.Forwarded {
		a.Forwarded = append(a.Forwarded, &pb.ForwardedRow{
			Database: x.Database, Table: x.Table, Old: x.Old,
			Present: x.New, Application: x.Application, Query: x.Query, Hits: x.Hits, Last: micros(x.Last),
		})
	}
	for _, x := range r.Heat {
		a.Heat = append(a.Heat, &pb.HeatRow{Fragment: x.Fragment,
			Bucket: x.Bucket, Key: x.Key, Reads: x.Reads, Writes: x.Writes})
	}
	return a
}

func fromReport(a *pb.ReportAnswer) monitor.Report {
	r := monitor.Report{RowsTotal: int(a.RowsTotal), TransactionsTotal: int(a.TransactionsTotal)}
	for _, s := range a.Sessions {
		r.Sessions = append(r.Sessions, fromSession(s))
	}
	for _, l := range a.Locks {
		r.Locks = append(r.Locks, fromLock(l))
	}
	for _, l := range a.Rows {
		if l.Mode > uint32(txn.Update) {
			continue // of a newer release
		}
		r.Rows = append(r.Rows, txn.RowLock{
			Fragment: l.Fragment, Holder: fromWaiter(l.Holder),
			Key: l.Key, Mode: txn.LockMode(l.Mode), Granted: l.Granted, Since: at(l.Since),
			Blockers: fromWaiters(l.Blockers),
		})
	}
	for _, t := range a.Transactions {
		r.Transactions = append(r.Transactions, txn.OpenTransaction{
			Owner: fromWaiter(t.Owner), Since: at(t.Since), Writes: int(t.Writes),
			Bytes: t.Bytes, Locks: int(t.Locks), Prepared: t.Prepared,
			C: txn.Timestamp(t.C), Coordinator: t.Coordinator, Fragments: t.Fragments,
		})
	}
	for _, w := range a.Waits {
		r.Waits = append(r.Waits, txn.Waiting{
			Number: w.Number, Waiter: fromWaiter(w.Waiter), Lock: w.Lock,
			Object: w.Object, Key: w.Key, Fragment: w.Fragment, Blockers: fromWaiters(w.Blockers),
		})
	}
	for _, x := range a.Replicas {
		r.Replicas = append(r.Replicas, sysview.Replica{
			Fragment: x.Fragment, Node: x.Node, Leads: x.Leads,
			Voter: x.Voter, Lag: x.Lag, Contact: at(x.Contact), Term: x.Term,
		})
	}
	for _, x := range a.Counters {
		r.Counters = append(r.Counters, sysview.Counters{Database: x.Database,
			Commits: x.Commits, Rollbacks: x.Rollbacks, Deadlocks: x.Deadlocks})
	}
	for _, x := range a.Forwarded {
		r.Forwarded = append(r.Forwarded, sysview.Forwarded{
			Database: x.Database, Table: x.Table, Old: x.Old,
			New: x.Present, Application: x.Application, Query: x.Query, Hits: x.Hits, Last: at(x.Last),
		})
	}
	for _, x := range a.Heat {
		r.Heat = append(r.Heat, sysview.Heat{Fragment: x.Fragment,
			Bucket: x.Bucket, Key: x.Key, Reads: x.Reads, Writes: x.Writes})
	}
	return r
}

func toSession(s *sysview.Session) *pb.SessionRow {
	return &pb.SessionRow{
		Pid: s.PID, Database: s.Database, Role: s.Role, Application: s.Application,
		ClientHost: s.ClientHost, ClientPort: uint32(s.ClientPort),
		Started: micros(s.Started), Transaction: micros(s.Transaction),
		QueryStarted: micros(s.QueryStarted), StateChanged: micros(s.StateChanged),
		State: s.State, Query: clip(s.Query), WaitType: s.WaitType,
		Wait: s.Wait, Isolation: s.Isolation, Txn: s.TxnID, Xid: s.XID, Writes: s.Writes,
	}
}

func fromSession(s *pb.SessionRow) sysview.Session {
	return sysview.Session{
		PID: s.Pid, Database: s.Database, Role: s.Role, Application: s.Application,
		ClientHost: s.ClientHost, ClientPort: int(s.ClientPort),
		Started: at(s.Started), Transaction: at(s.Transaction),
		QueryStarted: at(s.QueryStarted), StateChanged: at(s.StateChanged),
		State: s.State, Query: s.Query, WaitType: s.WaitType,
		Wait: s.Wait, Isolation: s.Isolation, TxnID: s.Txn, XID: s.Xid, Writes: s.Writes,
	}
}

func toLock(l *sysview.Lock) *pb.LockRow {
	return &pb.LockRow{
		Type: l.Type, Database: l.Database, Relation: l.Relation,
		Class: l.Class, Object: l.Object, Sub: uint32(l.Sub), Key: l.Key, Txn: l.Txn,
		TxnXid: l.TxnXID, Pid: l.PID, Mode: l.Mode, Granted: l.Granted, Since: micros(l.Since),
	}
}

func fromLock(l *pb.LockRow) sysview.Lock {
	return sysview.Lock{
		Type: l.Type, Database: l.Database, Relation: l.Relation,
		Class: l.Class, Object: l.Object, Sub: uint8(l.Sub), Key: l.Key, Txn: l.Txn,
		TxnXID: l.TxnXid, PID: l.Pid, Mode: l.Mode, Granted: l.Granted, Since: at(l.Since),
	}
}

func toWaiter(p txn.LockOwner) *pb.Waiter {
	w := &pb.Waiter{Session: p.Session}
	if !p.ID.IsZero() {
		w.Transaction = p.ID[:]
	}
	return w
}

func fromWaiter(w *pb.Waiter) txn.LockOwner {
	p := txn.LockOwner{Session: w.GetSession()}
	copy(p.ID[:], w.GetTransaction())
	return p
}

func toWaiters(owners []txn.LockOwner) []*pb.Waiter {
	out := make([]*pb.Waiter, len(owners))
	for i, p := range owners {
		out[i] = toWaiter(p)
	}
	return out
}

func fromWaiters(list []*pb.Waiter) []txn.LockOwner {
	out := make([]txn.LockOwner, len(list))
	for i, w := range list {
		out[i] = fromWaiter(w)
	}
	return out
}
