package schemachange

import (
	"context"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn/locks"
)

// Transaction is a transaction that changes definitions. It remembers the bucket map by which it
// has filled indexes with entries of rows that it has only read. If a row has moved since, its new
// fragment has no entry for it. So that map must still be in force when the index is committed.
type Transaction struct {
	*tx.Tx
	filled bool
	epoch  uint64 // of the map when the first index was filled
}

// Lock locks tables exclusively until the transaction ends.
func (t *Transaction) Lock(ctx context.Context, tables []catalog.OID) error {
	return lockEach(ctx, t.Tx, tables, locks.AccessExclusive)
}

// Quiet blocks writers of tables.
func (t *Transaction) Quiet(ctx context.Context, tables []catalog.OID) error {
	return lockEach(ctx, t.Tx, tables, locks.ShareRowExclusive)
}

// Reserve blocks changes of the definitions of tables by others.
func (t *Transaction) Reserve(ctx context.Context, tables []catalog.OID) error {
	return lockEach(ctx, t.Tx, tables, locks.ShareUpdateExclusive)
}

func lockEach(ctx context.Context, t *tx.Tx, tables []catalog.OID, mode locks.Mode) error {
	tables = slices.Clone(tables)
	slices.Sort(tables)
	for _, oid := range tables {
		if err := t.LockTable(ctx, oid, mode, false); err != nil {
			return err
		}
	}
	return nil
}

// noteFilled notes that an index was filled by a bucket map.
func (t *Transaction) noteFilled(epoch uint64) {
	if !t.filled {
		t.filled, t.epoch = true, epoch
	}
}

// Condition returns a change that the transaction commits as one that comes into force only while
// the buckets are where they were when indexes were filled.
func (t *Transaction) Condition(database catalog.OID, ch *catalog.Change) (*catalog.Change, error) {
	newest := t.Newest()
	if !t.filled {
		return ch, nil
	}
	ch, err := ch.On(newest) // other changes of the database do not matter, such as those of replicas
	if err != nil {
		return nil, err
	}
	if d := newest.Database(database); d == nil || d.Map.Epoch() != t.epoch {
		return nil, pgerr.New(pgerr.SerializationFailure,
			"could not serialize access: rows have moved to another fragment").
			WithDetail("An index was filled in this transaction before they moved.").
			WithHint("Try again, or create the index outside of a transaction block, where it is built beside moves.")
	}
	same := newest.Plan()
	if err := same.Require(database); err != nil {
		return nil, err
	}
	return ch.Then(same), nil
}
