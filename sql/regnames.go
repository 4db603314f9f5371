package sql

import "github.com/sherddb/sherd/sql/types"

// regIn resolves the text form of a reg* type that is no number.
func (s *Session) regIn(oid types.OID, text string) (uint32, error) {
	return s.names().RegIn(oid, text)
}

// regOut appends the name of an object as its reg* type prints it.
func (s *Session) regOut(dst []byte, oid types.OID, value uint32) []byte {
	return s.names().RegOut(dst, oid, value)
}
