package txblock

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/sequence"
	"github.com/sherddb/sherd/sql/tx"
)

// Transaction is a client's transaction. It adds to tx.Tx the actions that wait for the commit, and
// state that belongs to the client until then.
type Transaction struct {
	*tx.Tx
	failed      bool // it waits for ROLLBACK
	Named       bool // the client has asked for the id that clients see
	DDL         schemachange.Transaction
	Sequences   sequence.Transaction
	Constraints integrity.Transaction
	Pending     notify.Pending         // LISTEN, UNLISTEN and NOTIFY
	newIDs      map[catalog.OID]uint64 // the next number for ids of tables that it has made
	kept        []Waiting              // by savepoint
}

// Waiting is the part of a transaction that waits for its commit. A rollback to a savepoint and a
// new attempt of a statement restore it.
type Waiting struct {
	constraints integrity.Mark
	pending     notify.Pending
}

// Waiting returns what waits for the commit now.
func (t *Transaction) Waiting() Waiting { return Waiting{t.Constraints.Mark(), t.Pending} }

// Restore undoes what waits for the commit since Waiting returned w.
func (t *Transaction) Restore(w Waiting) {
	t.Constraints.Restore(w.constraints)
	t.Pending = w.pending
}

// Rollback ends the transaction, and undoes all of it.
func (t *Transaction) Rollback() {
	t.Tx.Rollback()
	t.Constraints.Close()
}

// Release releases what the transaction held here.
func (t *Transaction) Release() {
	t.Tx.Release()
	t.Constraints.Close()
}

// makes reports whether the transaction has made a table, which no other session knows.
func (t *Transaction) makes(table catalog.OID) bool {
	return t.Schema != nil && t.Schema.Change.Makes(table)
}

// takeID returns the number for the next id of a table that the transaction has made.
func (t *Transaction) takeID(table catalog.OID) uint64 {
	if t.newIDs == nil {
		t.newIDs = map[catalog.OID]uint64{}
	}
	n := max(t.newIDs[table], 1)
	t.newIDs[table] = n + 1
	return n
}

// define adds the schema change to what the transaction commits with its rows.
func (t *Transaction) define(database catalog.OID, p *tx.Temporary) error {
	if t.Schema == nil {
		return nil
	}
	for table, next := range t.newIDs {
		t.Schema.Change.StartIDs(table, next)
	}
	t.Sequences.Define(t.Schema.Change)
	ch := p.Shared(t.Tx)
	if ch == nil {
		return nil
	}
	ch, err := t.DDL.Condition(database, ch)
	if err != nil {
		return err
	}
	t.Parts.Define(ch)
	return nil
}
