package sysview

import (
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/types"
)

// Lock is a lock of any kind, granted or awaited.
type Lock struct {
	Type     string // as pg_locks.locktype, or "row"
	Database catalog.OID
	Relation catalog.OID // the table, or the table of the row
	Class    uint32      // advisory and object: the key
	Object   uint32
	Sub      uint8
	XID      uint32 // transactionid: the transaction
	Key      string // row: its primary key
	Fragment uint32 // row
	Txn      string // the owner, "" for a session's lock
	TxnXID   uint32
	PID      uint32 // 0 for a prepared transaction
	Mode     string
	Granted  bool
	Since    time.Time // start of a wait
	Blockers []uint32  // the backends that block a wait; 0 is a prepared transaction
}

// Transaction is an open transaction.
type Transaction struct {
	Database      catalog.OID
	Txn           string
	XID           uint32
	PID           uint32 // 0 if it has no session
	State         string
	Isolation     string
	Began         time.Time
	Fragments     []uint32 // with locks or writes of it
	Writes, Bytes int64    // buffered
	Locks         int64    // on rows
	Prepared      bool
	CommitAt      string // of a prepared transaction
	Coordinator   uint32
	GID           string // PREPARE TRANSACTION
}

// Counters counts events in a database, on one node or all.
type Counters struct {
	Database                      catalog.OID
	Commits, Rollbacks, Deadlocks int64
}

// virtual returns PostgreSQL's virtual transaction id: a backend, and a number within it.
func (l *Lock) virtual() string {
	n := types.Output(types.Int8, types.NewInt(int64(l.TxnXID)), nil)
	if l.PID == 0 {
		return "-1/" + n
	}
	return types.Output(types.Int8, types.NewInt(int64(l.PID)), nil) + "/" + n
}

// pgLocks shows locks as PostgreSQL does: granted row locks are not listed, and a wait for one is a
// wait for the transaction that holds it. Rows have no page and tuple number here; sherd.locks
// shows their keys.
func pgLocks(b *builder) error {
	list, err := b.env.Locks()
	if err != nil {
		return err
	}
	for i := range list {
		l := &list[i]
		if l.Type == "row" {
			continue
		}
		r := b.row().text("locktype", l.Type).text("virtualtransaction", l.virtual()).text("mode", l.Mode).
			bool("granted", l.Granted).
			bool("fastpath", false).time("waitstart", l.Since)
		switch l.Type {
		case "relation", "tuple":
			r.oid("database", l.Database).oid("relation", l.Relation)
		case "advisory", "object":
			r.oid("database", l.Database).oid("classid", l.Class).oid("objid", l.Object).int("objsubid", int64(l.Sub))
		case "transactionid":
			r.set("transactionid", types.NewOid(l.XID))
		case "virtualxid":
			r.text("virtualxid", l.virtual())
		}
		if l.PID != 0 {
			r.int("pid", int64(l.PID))
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

// locks shows the locks of this database. Row keys are visible to sessions that may read the rows.
func locks(b *builder) error {
	list, err := b.env.Locks()
	if err != nil {
		return err
	}
	for i := range list {
		l := &list[i]
		if l.Database != b.env.Database.OID || l.Type == "transactionid" || l.Type == "virtualxid" ||
			l.Type == "tuple" {
			continue
		}
		r := b.row().text("locktype", l.Type).text("mode", l.Mode).bool("granted", l.Granted).optional("txn", l.Txn).
			time("waiting_since", l.Since).optional("fragment", b.env.fragmentName(l.Fragment))
		if l.Relation == 0 || b.canRead(l.Relation) { // keys of advisory locks are not data
			r.optional("key", l.Key)
		}
		if l.Relation != 0 {
			r.oid("relation", l.Relation)
		}
		if l.PID != 0 {
			r.int("pid", int64(l.PID))
		}
		if !l.Granted {
			pids := make([]types.Datum, len(l.Blockers))
			for k, pid := range l.Blockers {
				pids[k] = types.NewInt(int64(pid))
			}
			r.list("blocked_by", pids)
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}

// transactions shows the open transactions of this database.
func transactions(b *builder) error {
	list, err := b.env.Transactions()
	if err != nil {
		return err
	}
	for i := range list {
		t := &list[i]
		if t.Database != b.env.Database.OID {
			continue
		}
		names := make([]string, 0, len(t.Fragments))
		for _, f := range t.Fragments {
			names = append(names, b.env.fragmentName(f))
		}
		slices.Sort(names)
		r := b.row().text("txn", t.Txn).set("xid", types.NewOid(t.XID)).text("state", t.State).
			optional("isolation", t.Isolation).
			time("began", t.Began).texts("fragments", names).int("staged_rows", t.Writes).int("staged_bytes", t.Bytes).
			int("locks", t.Locks).
			bool("prepared", t.Prepared).optional("commit_at", t.CommitAt).optional("gid", t.GID)
		if t.PID != 0 {
			r.int("pid", int64(t.PID))
		}
		if t.Prepared {
			r.optional("anchor", b.env.fragmentName(t.Coordinator))
		}
		if err := r.send(); err != nil {
			return err
		}
	}
	return nil
}
