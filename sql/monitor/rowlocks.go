package monitor

import (
	"bytes"
	"time"

	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// rowLocks shows row locks, and the waits for them as PostgreSQL has them too.
func (v *Views) rowLocks(list []txn.RowLock) []sysview.Lock {
	tables := table.TablesByStorage(v.Catalog)
	out := make([]sysview.Lock, 0, len(list))
	var queued []byte // the row whose queue has begun
	for _, l := range list {
		x := sysview.Lock{
			Type: "row", Fragment: l.Fragment, Txn: l.Holder.ID.String(), TxnXID: l.Holder.ID.XID(),
			PID: l.Holder.Session, Mode: l.Mode.String(), Granted: l.Granted, Since: l.Since,
		}
		for _, b := range l.Blockers {
			x.Blockers = append(x.Blockers, b.Session)
		}
		if t := tables[table.Storage{Fragment: l.Fragment, ID: table.StorageIDOfKey(l.Key)}]; t != nil {
			x.Database, x.Relation = t.Database, t.OID
			x.Key, _ = table.TextOfKey(t, l.Key, v.Values)
		}
		out = append(out, x)
		if !l.Granted {
			out = append(out, asTuple(x, l, bytes.Equal(queued, l.Key))...)
			queued = l.Key
		}
	}
	return out
}

// asTuple returns a wait for a row as PostgreSQL shows it: the first transaction in the queue holds the
// lock of the tuple and waits for the transaction that has the row, the others wait for the tuple's lock.
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
