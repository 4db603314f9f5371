package cluster

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Outcome tells what became of a transaction that wrote to a database, and the commit's timestamp: committed, aborted (it took no effect and
// never will), in progress (open, held, or being decided), or unknown, where it is too long ago or a fragment that may know is out of reach.
func (h *Host) Outcome(context.Context, catalog.OID, txn.ID) (txn.Outcome, txn.Timestamp, error) {
	return txn.Unknown, 0, nil
}

// ResolveTransaction is an operator's decision about a transaction that stays undecided since its anchor is out of reach (T7). The anchor's own
// word goes before the operator's: 55000 where it has decided otherwise.
func (h *Host) ResolveTransaction(context.Context, catalog.OID, txn.ID, txn.Outcome) error {
	return pgerr.Unsupported("sherd.resolve_transaction is not supported yet")
}
