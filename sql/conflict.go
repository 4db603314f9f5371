package sql

import (
	"errors"

	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/txn"
)

// inWords returns a conflict of the commit with table and key in its DETAIL, because storage knows
// only bytes. The executor does this for the conflicts of statements.
func (s *Session) inWords(err error) error {
	var met *txn.ConflictError
	if !errors.As(err, &met) {
		return err
	}
	for t := range s.view().Tables(s.database) {
		if t.StorageID != table.StorageIDOfKey(met.Key) {
			continue
		}
		own, e := *met, *met.Err
		e.Detail = own.Detail("%s", table.NameOfKey(t, met.Key, s.Env()))
		e.Table = t.Name
		if schema := s.view().Schema(t.Schema); schema != nil {
			e.Schema = schema.Name
		}
		own.Err = &e
		return &own
	}
	return err
}
