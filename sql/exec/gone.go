package exec

import "github.com/sherddb/sherd/internal/pgerr"

// gone is what a statement of READ COMMITTED meets that has waited for a row which is deleted now. In a collection whose documents may get other ids it may
// be there under another one, so the statement is run again, at a snapshot that shows where. In all others the row is simply left out.
func (t *table) gone(c *Ctx, key []byte) error {
	if t.def.Forwarding == 0 {
		return nil
	}
	return pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent delete").
		WithDetail("%s was deleted, or has another id now.", capital(t.rowName(c.Env, key))).WithHint("Try the statement again.")
}
