package exec

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/plan"
)

// gone is what a statement of READ COMMITTED meets that has waited for a row which is deleted now. The row may be there under another key. Then
// the statement is run again, at a snapshot that shows where.
// Else the row is simply left out; so it is, too, where the scan has asked for the old key: what has another one is not asked for.
func (o *scanOp) gone(c *Ctx, key []byte) error {
	t := o.table
	if t.def.Forwarding == 0 {
		if o.access == plan.ScanKeys {
			return nil
		}
		if left, err := c.local.tx.Left(key); err != nil || !left {
			return err
		}
	}
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
		WithDetail("%s was deleted, or has another key now.", pgerr.Capital(t.nameOf(c.Env, key))).WithHint("Try the transaction again.")
}
