package sql

import (
	"bytes"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
)

// blockers gives the backends that a backend's wait for a lock of any kind is for, by the oldest wait.
func blockers(waits []txn.Waiting) map[uint32][]uint32 {
	out := map[uint32][]uint32{}
	for _, w := range waits {
		for _, b := range w.Blockers {
			if pid := w.Waiter.Session; !slices.Contains(out[pid], b.Session) {
				out[pid] = append(out[pid], b.Session)
			}
		}
	}
	return out
}

// lockRows lists the locks of all kinds.
func (s *Session) lockRows() ([]sysview.Lock, error) {
	all := s.reports(WantSessions | WantLocks | WantRows | WantWaits)
	waits := blockers(all.Waits)
	out := transactionLocks(all.Sessions)
	for _, l := range all.Locks {
		if !l.Granted {
			l.Blockers = waits[l.PID]
		}
		out = append(out, l)
	}
	return append(out, s.rowLocks(all.Rows)...), nil
}

// transactionLocks lists the locks that transactions hold on themselves.
func transactionLocks(sessions []sysview.Session) []sysview.Lock {
	var out []sysview.Lock
	for _, a := range sessions {
		if a.TxnID == "" {
			continue
		}
		x := sysview.Lock{
			Type: "virtualxid", Database: a.Database, PID: a.PID, Txn: a.TxnID, TxnXID: a.XID, Mode: locks.Exclusive.String(), Granted: true,
		}
		out = append(out, x)
		if a.Writes {
			x.Type, x.XID = "transactionid", a.XID
			out = append(out, x)
		}
	}
	return out
}

// rowLocks shows row locks, and the waits for them as PostgreSQL has them too.
func (s *Session) rowLocks(list []txn.RowLock) []sysview.Lock {
	tables := storedTables(s.view())
	out := make([]sysview.Lock, 0, len(list))
	var queued []byte // the row whose queue has begun
	for _, l := range list {
		x := sysview.Lock{
			Type: "row", Fragment: l.Fragment, Txn: l.Holder.ID.String(), TxnXID: l.Holder.ID.XID(), PID: l.Holder.Session, Mode: l.Mode.String(),
			Granted: l.Granted, Since: l.Since,
		}
		for _, b := range l.Blockers {
			x.Blockers = append(x.Blockers, b.Session)
		}
		if t := tables[storedIn{l.Fragment, exec.StorageIDOfKey(l.Key)}]; t != nil {
			x.Database, x.Relation = t.Database, t.OID
			x.Key, _ = exec.TextOfKey(t, l.Key, s.Env())
		}
		out = append(out, x)
		if !l.Granted {
			out = append(out, asTuple(x, l, bytes.Equal(queued, l.Key))...)
			queued = l.Key
		}
	}
	return out
}

// asTuple gives a wait for a row as PostgreSQL has it: who is first holds the lock of the tuple and waits for the transaction that has the row,
// the others wait for the lock of the tuple.
func asTuple(x sysview.Lock, l txn.RowLock, behind bool) []sysview.Lock {
	tuple := x
	tuple.Type, tuple.Mode = "tuple", tupleMode(l.Mode).String()
	if behind || len(l.Blockers) == 0 {
		return []sysview.Lock{tuple}
	}
	tuple.Granted, tuple.Since = true, time.Time{}
	x.Type, x.XID, x.Mode = "transactionid", l.Blockers[0].ID.XID(), locks.Share.String()
	return []sysview.Lock{tuple, x}
}

// tupleMode is the table lock of a row lock's strength.
func tupleMode(m txn.LockMode) locks.Mode {
	switch m {
	case txn.KeyShare:
		return locks.AccessShare
	case txn.Share:
		return locks.RowShare
	case txn.NoKeyUpdate:
		return locks.Exclusive
	}
	return locks.AccessExclusive
}

// storedIn names a table by where its rows are.
type storedIn struct {
	fragment, storage uint32
}

// storedTables finds tables by fragment and storage id.
func storedTables(view *catalog.View) map[storedIn]*catalog.Table {
	out := map[storedIn]*catalog.Table{}
	for d := range view.Databases() {
		for t := range view.Tables(d.OID) {
			for i := range d.Fragments {
				out[storedIn{d.Fragments[i].ID, t.StorageID}] = t
			}
		}
	}
	return out
}

// transactionRows lists the open transactions: those of sessions, and those that have none any more.
func (s *Session) transactionRows() ([]sysview.Transaction, error) {
	all := s.reports(WantSessions | WantTransactions)
	stored := map[string]txn.OpenTransaction{}
	for _, t := range all.Transactions {
		stored[t.Party.ID.String()] = t
	}
	var out []sysview.Transaction
	for _, a := range all.Sessions {
		if a.TxnID == "" {
			continue
		}
		x := sysview.Transaction{
			Database: a.Database, Txn: a.TxnID, XID: a.XID, PID: a.PID, State: a.State, Isolation: a.Isolation, Began: a.Transaction,
		}
		if t, ok := stored[a.TxnID]; ok {
			fill(&x, t)
			delete(stored, a.TxnID)
		}
		out = append(out, x)
	}
	held, err := s.heldTransactions()
	if err != nil {
		return nil, err
	}
	for id, t := range stored {
		x := sysview.Transaction{Database: s.databaseOf(t.Fragments), Txn: id, XID: t.Party.ID.XID(), State: "ending", Began: t.Since}
		fill(&x, t)
		if h, ok := held[id]; ok {
			x.GID, x.State, x.Began, x.PID, x.Prepared = h.GID, "prepared", h.At, 0, true
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b sysview.Transaction) int { return a.Began.Compare(b.Began) })
	return out, nil
}

func fill(x *sysview.Transaction, t txn.OpenTransaction) {
	x.Fragments, x.Writes, x.Bytes, x.Locks = t.Fragments, int64(t.Writes), t.Bytes, int64(t.Locks)
	if t.Prepared {
		x.Prepared, x.CommitAt, x.Anchor = true, t.C.String(), t.Anchor
	}
	if x.Began.IsZero() {
		x.Began = t.Since
	}
}

// heldPatience is how long a view waits for a fragment.
const heldPatience = 5 * time.Second

// heldTransactions gives the database's prepared transactions by id, and tells the client which fragments do not answer.
func (s *Session) heldTransactions() (map[string]txn.HeldTransaction, error) {
	list, missing, err := s.db.cfg.Fragments.HeldSoon(orBackground(s.running), s.database, heldPatience)
	d := s.view().Database(s.database)
	for _, id := range missing {
		if f := d.FragmentByID(id); f != nil {
			info{Session: s}.warn(pgerr.Warning, "fragment %s does not answer: what it has of transactions is missing", d.FragmentName(f))
		}
	}
	out := map[string]txn.HeldTransaction{}
	for _, h := range list {
		out[h.ID.String()] = h
	}
	return out, err
}

// databaseOf finds the database of fragments.
func (s *Session) databaseOf(fragments []txn.FragmentID) catalog.OID {
	for d := range s.view().Databases() {
		for _, f := range fragments {
			if d.FragmentByID(f) != nil {
				return d.OID
			}
		}
	}
	return 0
}
