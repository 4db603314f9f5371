package cluster

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Hold is PREPARE TRANSACTION: what is staged, and the locks, survive restarts under a name, until CommitHeld or RollbackHeld. The handle is
// done with afterwards, whether it worked or not: after an error the transaction is rolled back, except 40003. 42710 where the name is taken;
// 0A000 where the transaction is SERIALIZABLE and has read what it did not lock.
func (t *Transaction) Hold(context.Context, txn.HoldRequest) error {
	t.Rollback()
	return pgerr.Unsupported("PREPARE TRANSACTION is not supported yet")
}

// Held lists the transactions held in a database, in the order of their names.
func (h *Host) Held(context.Context, catalog.OID) ([]txn.HeldTransaction, error) { return nil, nil }

// CommitHeld is COMMIT PREPARED; the commit is above floor. 42704 where no transaction of that name is held. After any other error but 40003
// the transaction is still held.
func (h *Host) CommitHeld(_ context.Context, _ catalog.OID, gid string, _ txn.Timestamp) (txn.Timestamp, error) {
	return 0, noHeld(gid)
}

// RollbackHeld is ROLLBACK PREPARED, with the errors of CommitHeld.
func (h *Host) RollbackHeld(_ context.Context, _ catalog.OID, gid string) error { return noHeld(gid) }

func noHeld(gid string) error {
	return pgerr.New(pgerr.UndefinedObject, "prepared transaction with identifier \"%s\" does not exist", gid)
}
