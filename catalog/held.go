package catalog

import (
	"context"
	"fmt"
)

// The catalog's part of a transaction that PREPARE TRANSACTION holds (storage/hold.go has the fragments'):
//
//	Hold       after the home's claim: the change is in the log, valid, and nothing that collides with it comes into force
//	EndHeld    the home's word: the change applies, or is dropped
//
// The home's log decides, and the catalog learns of it as every other that holds. A change whose home does not know the transaction was dropped there.

// HeldChange is a change of definitions that waits for the word of a fragment.
type HeldChange struct {
	ID      TransactionID
	Home    uint32
	Touches []Touch
	Locks   []TableLock
}

// TableLock is the locks of a table that a held transaction takes again after a restart: bit m of Modes stands for the mode that PostgreSQL numbers m.
type TableLock struct {
	Table OID
	Modes uint32
}

// KeepLocks notes the locks that the transaction holds, by table, for Hold.
func (c *Change) KeepLocks(list []TableLock) { c.lock = list }

// Hold holds a change, planned as for Apply, for a transaction whose home has claimed its name. Errors are those of Apply; the transaction must then be
// ended by EndHeld, for the entry may still be in the log.
func (c *Catalog) Hold(ctx context.Context, id TransactionID, ch *Change, home uint32) error {
	data, err := encodePrepare(&prepared{id: id, held: &heldBy{home, ch.lock}, ops: ch.ops})
	if err != nil {
		return fmt.Errorf("catalog: encode change: %w", err)
	}
	_, err = c.proposeWhenFree(ctx, data)
	return err
}

// EndHeld carries out what the home has decided. Again, or for a transaction that is not held, it does nothing.
func (c *Catalog) EndHeld(ctx context.Context, id TransactionID, commitTS uint64, commit bool) error {
	_, err := c.decide(ctx, decision{id: id, commitTS: commitTS, commit: commit, held: true})
	return err
}

// Held lists the changes of held transactions.
func (v *View) Held() []HeldChange {
	var out []HeldChange
	for _, p := range v.prepared {
		if p.held != nil {
			out = append(out, HeldChange{p.id, p.held.home, v.touches(p.holds), p.held.locks})
		}
	}
	return out
}
