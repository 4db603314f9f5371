package catalog

import (
	"context"
	"fmt"
)

// The catalog's part of a prepared transaction (PREPARE TRANSACTION; storage/preparation_apply.go
// has the fragments' part):
//
//	PrepareTransaction  after the coordinator fragment (its home) has claimed the name: the change
//	                    is in the log, valid, and nothing that collides with it comes into force
//	EndPrepared         after the coordinator fragment's decision: the change is applied or dropped
//
// The log of the coordinator fragment decides, and the catalog gets the decision as every other
// participant does. If the coordinator fragment does not know a transaction, it has dropped it.

// PreparedChange is the schema change of a prepared transaction. A fragment decides it.
type PreparedChange struct {
	ID      TransactionID
	Home    uint32
	Touches []Touch
	Locks   []TableLock
}

// TableLock is a set of locks of a table that a prepared transaction takes again after a restart.
// Bit m of Modes is the mode that PostgreSQL numbers m.
type TableLock struct {
	Table OID
	Modes uint32
}

// KeepLocks sets the table locks of the transaction, for PrepareTransaction.
func (c *Change) KeepLocks(list []TableLock) { c.lock = list }

// PrepareTransaction logs a change, planned as for Apply, as part of a prepared transaction whose
// coordinator fragment (home) has claimed its name. It returns the errors of Apply. After an error
// the transaction must still be ended by EndPrepared, because the entry may be in the log.
func (c *Catalog) PrepareTransaction(ctx context.Context, id TransactionID, ch *Change, home uint32) error {
	data, err := encodePrepare(&prepared{id: id, transaction: &preparedTransaction{home, ch.lock}, ops: ch.ops})
	if err != nil {
		return fmt.Errorf("catalog: encode change: %w", err)
	}
	_, err = c.proposeWhenFree(ctx, data)
	return err
}

// EndPrepared applies the decision of the coordinator fragment. If it is repeated, or the
// transaction is not prepared, it does nothing.
func (c *Catalog) EndPrepared(ctx context.Context, id TransactionID, commitTS uint64, commit bool) error {
	_, err := c.decide(ctx, decision{id: id, commitTS: commitTS, commit: commit, prepared: true})
	return err
}

// PreparedChanges returns the changes of prepared transactions.
func (v *View) PreparedChanges() []PreparedChange {
	var out []PreparedChange
	for _, p := range v.prepared {
		if p.transaction != nil {
			out = append(out, PreparedChange{p.id, p.transaction.home, v.touches(p.holds), p.transaction.locks})
		}
	}
	return out
}
