package exec

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/plan"
)

// gone handles a row that a READ COMMITTED statement has waited for and that is deleted now. The
// row may exist under another key; then the statement runs again, with a snapshot that shows it.
// Otherwise the row is left out. It is also left out if the scan looks up the old key, because a
// row under another key is not asked for.
func (o *scanOp) gone(c *Ctx, key []byte) error {
	t := o.table
	if t.Def.Forwarding == 0 {
		if o.access == plan.ScanKeys {
			return nil
		}
		if left, err := c.local.tx.Left(key); err != nil || !left {
			return err
		}
	}
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
		WithDetail("%s was deleted, or has another key now.", pgerr.Capital(t.NameOf(c.Env, key))).
		WithHint("Try the transaction again.")
}
