package txn

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// ID identifies a transaction, cluster-wide and for ever: 80 random bits, and in the middle the
// time at which the transaction began, which shows a later question for its outcome whether it may
// have been forgotten.
type ID [16]byte

// NewID returns a new random id.
func NewID() ID {
	var id, at ID
	if _, err := rand.Read(id[:]); err != nil {
		panic("txn: no randomness: " + err.Error()) // crypto/rand never fails on a supported system
	}
	binary.BigEndian.PutUint64(at[2:], uint64(time.Now().UnixMilli()))
	copy(id[4:10], at[4:10])
	return id
}

// Began returns the time at which the transaction began, to the millisecond, by the clock of its
// node.
func (id ID) Began() time.Time {
	var at [8]byte
	copy(at[2:], id[4:10])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(at[:]))).UTC()
}

// XID returns the 32 bits that clients see as xid; never below 3, PostgreSQL's first for a
// transaction.
func (id ID) XID() uint32 {
	return max(binary.BigEndian.Uint32(id[12:]), 3)
}

// IsZero reports whether id is that of no transaction.
func (id ID) IsZero() bool { return id == ID{} }

// String returns the id in hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }
