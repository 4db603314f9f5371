package sql

import (
	"context"

	"github.com/sherddb/sherd/sql/types"
)

// regIn returns the oid for the text form of a reg* type that is not a number.
func (s *Session) regIn(oid types.OID, text string) (value uint32, err error) {
	ctx := s.running
	if ctx == nil {
		ctx = context.Background()
	}
	err = s.db.knownNames(ctx, func() error {
		value, err = s.names().RegIn(oid, text)
		return err
	})
	return value, err
}

// regOut appends the name of an object as its reg* type prints it.
func (s *Session) regOut(dst []byte, oid types.OID, value uint32) []byte {
	return s.names().RegOut(dst, oid, value)
}
