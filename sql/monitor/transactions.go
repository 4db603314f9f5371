package monitor

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// transactionLocks lists the locks that transactions hold on themselves.
func transactionLocks(sessions []sysview.Session) []sysview.Lock {
	var out []sysview.Lock
	for _, a := range sessions {
		if a.TxnID == "" {
			continue
		}
		x := sysview.Lock{
			Type: "virtualxid", Database: a.Database, PID: a.PID, Txn: a.TxnID, TxnXID: a.XID,
			Mode: locks.Exclusive.String(), Granted: true,
		}
		out = append(out, x)
		if a.Writes {
			x.Type, x.XID = "transactionid", a.XID
			out = append(out, x)
		}
	}
	return out
}

// Transactions lists the open transactions: those of sessions, and those that have none any more.
func (v *Views) Transactions() ([]sysview.Transaction, error) {
	all := v.Report(WantSessions | WantTransactions)
	stored := map[string]txn.OpenTransaction{}
	for _, t := range all.Transactions {
		stored[t.Owner.ID.String()] = t
	}
	var out []sysview.Transaction
	for _, a := range all.Sessions {
		if a.TxnID == "" {
			continue
		}
		x := sysview.Transaction{
			Database: a.Database, Txn: a.TxnID, XID: a.XID, PID: a.PID,
			State: a.State, Isolation: a.Isolation, Began: a.Transaction,
		}
		if t, ok := stored[a.TxnID]; ok {
			fill(&x, t)
			delete(stored, a.TxnID)
		}
		out = append(out, x)
	}
	prepared, err := v.prepared()
	if err != nil {
		return nil, err
	}
	for id, t := range stored {
		x := sysview.Transaction{
			Database: v.databaseOf(t.Fragments), Txn: id, XID: t.Owner.ID.XID(), State: "ending", Began: t.Since,
		}
		fill(&x, t)
		if h, ok := prepared[id]; ok {
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
		x.Prepared, x.CommitAt, x.Coordinator = true, t.C.String(), t.Coordinator
	}
	if x.Began.IsZero() {
		x.Began = t.Since
	}
}

// prepared returns the database's prepared transactions by id, and warns of fragments that do not answer.
func (v *Views) prepared() (map[string]txn.PreparedTransaction, error) {
	list, missing, err := v.Prepared()
	d := v.Catalog.Database(v.Database)
	for _, id := range missing {
		if f := d.FragmentByID(id); f != nil {
			v.Warn("fragment %s does not answer: what it has of transactions is missing", d.FragmentName(f))
		}
	}
	out := map[string]txn.PreparedTransaction{}
	for _, h := range list {
		out[h.ID.String()] = h
	}
	return out, err
}

// databaseOf finds the database of fragments.
func (v *Views) databaseOf(fragments []txn.FragmentID) catalog.OID {
	for d := range v.Catalog.Databases() {
		for _, f := range fragments {
			if d.FragmentByID(f) != nil {
				return d.OID
			}
		}
	}
	return 0
}
