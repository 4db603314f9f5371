package tx

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Modes are a transaction's characteristics, as SET TRANSACTION sets them.
type Modes struct {
	Level    string // as SHOW transaction_isolation spells it
	ReadOnly bool
	// Deferrable makes no difference: a snapshot is safe from the start, because commits are in the order of their
	// timestamps.
	Deferrable bool
}

// Isolation is the level that is meant: READ UNCOMMITTED is READ COMMITTED.
func (m Modes) Isolation() txn.Isolation {
	switch m.Level {
	case "serializable":
		return txn.Serializable
	case "repeatable read":
		return txn.RepeatableRead
	}
	return txn.ReadCommitted
}

// SetLevel sets the isolation level. PostgreSQL allows that before the first query only.
func (t *Tx) SetLevel(level string) error {
	if level == t.Modes.Level {
		return nil
	}
	switch {
	case t.Used:
		return activeTransaction("SET TRANSACTION ISOLATION LEVEL must be called before any query")
	case len(t.savepoints) > 0:
		return activeTransaction("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction")
	}
	t.Modes.Level = level
	t.Configure()
	return nil
}

// SetReadOnly sets whether the transaction may write. Before its first query it may be allowed to again.
func (t *Tx) SetReadOnly(on bool) error {
	if !on && t.Modes.ReadOnly {
		switch {
		case len(t.savepoints) > 0 && t.savepoints[len(t.savepoints)-1].readOnly:
			return activeTransaction("cannot set transaction read-write mode inside a read-only transaction")
		case t.Used:
			return activeTransaction("transaction read-write mode must be set before any query")
		}
	}
	t.Modes.ReadOnly = on
	return nil
}

// SetDeferrable sets the mode that SHOW transaction_deferrable returns.
func (t *Tx) SetDeferrable(on bool) error {
	switch {
	case len(t.savepoints) > 0:
		return activeTransaction("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction")
	case t.Used:
		return activeTransaction("SET TRANSACTION [NOT] DEFERRABLE must be called before any query")
	}
	t.Modes.Deferrable = on
	return nil
}

func activeTransaction(text string) error { return pgerr.New(pgerr.ActiveSQLTransaction, "%s", text) }
