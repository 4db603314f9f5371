package txn

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
)

// ID names a transaction, cluster-wide and for ever.
type ID [16]byte

// NewID draws a random id.
func NewID() ID {
	var id ID
	if _, err := rand.Read(id[:]); err != nil {
		panic("txn: no randomness: " + err.Error()) // crypto/rand never fails on a supported system
	}
	return id
}

// XID gives the 32 bits that clients see as xid; never below 3, the first that PostgreSQL gives to a transaction.
func (id ID) XID() uint32 {
	return max(binary.BigEndian.Uint32(id[12:]), 3)
}

// IsZero tells whether id names no transaction.
func (id ID) IsZero() bool { return id == ID{} }

// String gives the id in hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }
