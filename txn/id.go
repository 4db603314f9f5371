package txn

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// ID names a transaction, cluster-wide and for ever: 80 random bits, and in the middle the time at which it began, from which a later question
// for its outcome tells whether it may have been forgotten.
type ID [16]byte

// NewID draws an id.
func NewID() ID {
	var id, at ID
	if _, err := rand.Read(id[:]); err != nil {
		panic("txn: no randomness: " + err.Error()) // crypto/rand never fails on a supported system
	}
	binary.BigEndian.PutUint64(at[2:], uint64(time.Now().UnixMilli()))
	copy(id[4:10], at[4:10])
	return id
}

// Began gives the time at which the transaction began, to the millisecond, by the clock of its node.
func (id ID) Began() time.Time {
	var at [8]byte
	copy(at[2:], id[4:10])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(at[:]))).UTC()
}

// XID gives the 32 bits that clients see as xid; never below 3, the first that PostgreSQL gives to a transaction.
func (id ID) XID() uint32 {
	return max(binary.BigEndian.Uint32(id[12:]), 3)
}

// IsZero tells whether id names no transaction.
func (id ID) IsZero() bool { return id == ID{} }

// String gives the id in hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }
