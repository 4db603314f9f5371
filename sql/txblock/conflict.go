package txblock

import (
	"errors"

	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/txn"
)

// nameConflict returns a conflict of the commit with table and key in its DETAIL, because storage knows
// only bytes. The executor does this for the conflicts of statements.
func (b *Block) nameConflict(err error) error {
	var met *txn.ConflictError
	if !errors.As(err, &met) {
		return err
	}
	view := b.View()
	for t := range view.Tables(b.env.Database) {
		if t.StorageID != table.StorageIDOfKey(met.Key) {
			continue
		}
		own, e := *met, *met.Err
		e.Detail = own.Detail("%s", table.NameOfKey(t, met.Key, b.env.Values()))
		e.Table = t.Name
		if schema := view.Schema(t.Schema); schema != nil {
			e.Schema = schema.Name
		}
		own.Err = &e
		return &own
	}
	return err
}
