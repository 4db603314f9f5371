package catalog

import (
	"context"
	"fmt"
)

// The catalog's part of a prepared transaction (PREPARE TRANSACTION; storage/hold.go has the
// fragments' part):
//
//	Hold       after the coordinator fragment (its home) has claimed the name: the change is in the log,
//	           valid, and nothing that collides with it comes into force
//	EndHeld    after the coordinator fragment's decision: the change is applied or dropped
//
// The log of the coordinator fragment decides, and the catalog gets the decision as every other
// participant does. If the coordinator fragment does not know a transaction, it has dropped it.

// HeldChange is the schema change of a prepared transaction. A fragment decides it.
type HeldChange struct {
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

// KeepLocks sets the table locks of the transaction, for Hold.
func (c *Change) KeepLocks(list []TableLock) { c.lock = list }

// Hold logs a change, planned as for Apply, as part of a prepared transaction whose coordinator
// fragment (home) has claimed its name. It returns the errors of Apply. After an error the
// transaction must still be ended by EndHeld, because the entry may be in the log.
func (c *Catalog) Hold(ctx context.Context, id TransactionID, ch *Change, home uint32) error {
	data, err := encodePrepare(&prepared{id: id, held: &heldBy{home, ch.lock}, ops: ch.ops})
	if err != nil {
		return fmt.Errorf("catalog: encode change: %w", err)
	}
	_, err = c.proposeWhenFree(ctx, data)
	return err
}

// EndHeld applies the decision of the coordinator fragment. If it is repeated, or the transaction
// is not prepared, it does nothing.
func (c *Catalog) EndHeld(ctx context.Context, id TransactionID, commitTS uint64, commit bool) error {
	_, err := c.decide(ctx, decision{id: id, commitTS: commitTS, commit: commit, held: true})
	return err
}

// Held returns the changes of prepared transactions.
func (v *View) Held() []HeldChange {
	var out []HeldChange
	for _, p := range v.prepared {
		if p.held != nil {
			out = append(out, HeldChange{p.id, p.held.home, v.touches(p.holds), p.held.locks})
		}
	}
	return out
}
