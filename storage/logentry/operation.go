package logentry

import (
	"fmt"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// MaxBody bounds the operations of an entry, unless it has only one. Larger write sets are cut into
// parts.
const MaxBody = 1 << 20

// Op is the kind of an operation of a write set, which is encoded as
//
//	op(1) · len · key [· len · value]
//
// An operation names one key of the database and its value, so that apply computes nothing (V3):
// the chunks of a large row are operations of their own.
type Op byte

// The operations. Numbers are on disk for ever.
const (
	OpPut     Op = 1
	OpDelete  Op = 2
	OpPutHead Op = 3 // the value is the head of a large row, whose bytes are in chunks

	// These write nothing: the key is locked while the transaction is prepared.
	OpLock            Op = 4 // UPDATE
	OpLockKeyShare    Op = 5
	OpLockShare       Op = 6
	OpLockNoKeyUpdate Op = 7

	// A put to a row that was there, which leaves its keys as they were: its lock is NO KEY UPDATE.
	OpPutKept     Op = 8
	OpPutHeadKept Op = 9
)

// HasValue reports whether the operation writes a value.
func (op Op) HasValue() bool {
	return op == OpPut || op == OpPutHead || op == OpPutKept || op == OpPutHeadKept
}

// Writes reports whether the operation writes; others only lock.
func (op Op) Writes() bool { return op.HasValue() || op == OpDelete }

// Mode returns the lock that the transaction of the operation has of its key while it is prepared.
func (op Op) Mode() txn.LockMode {
	switch op {
	case OpLockKeyShare:
		return txn.KeyShare
	case OpLockShare:
		return txn.Share
	case OpLockNoKeyUpdate, OpPutKept, OpPutHeadKept:
		return txn.NoKeyUpdate
	}
	return txn.Update
}

// LockOp returns the operation that has a lock and writes nothing.
func LockOp(m txn.LockMode) Op {
	return [...]Op{
		txn.KeyShare: OpLockKeyShare, txn.Share: OpLockShare, txn.NoKeyUpdate: OpLockNoKeyUpdate, txn.Update: OpLock,
	}[m]
}

// AppendOp appends an operation.
func AppendOp(b []byte, op Op, key, value []byte) []byte {
	b = append(b, byte(op))
	b = codec.AppendBytes(b, key)
	if op.HasValue() {
		b = codec.AppendBytes(b, value)
	}
	return b
}

// EachOp calls fn with every operation of b. Slices share b's memory.
func EachOp(b []byte, fn func(op Op, key, value []byte) error) error {
	r := codec.Reader{B: b}
	for len(r.B) > 0 {
		op := Op(r.Byte())
		key := r.Bytes()
		var value []byte
		switch {
		case op.HasValue():
			value = r.Bytes()
		case op < OpPut || op > OpPutHeadKept:
			return fmt.Errorf("%w: operation %d is not known to this release", codec.ErrMalformed, op)
		}
		if r.Err != nil || len(key) == 0 {
			return codec.ErrMalformed
		}
		if err := fn(op, key, value); err != nil {
			return err
		}
	}
	return nil
}

// AppendIngested appends an operation of an Ingest entry: version(8), then as in a write set.
func AppendIngested(b []byte, at txn.Timestamp, op Op, key, value []byte) []byte {
	return AppendOp(codec.AppendTimestamp(b, at), op, key, value)
}

// EachIngested calls fn with every operation of an Ingest entry. Slices share b's memory.
func EachIngested(b []byte, fn func(at txn.Timestamp, op Op, key, value []byte) error) error {
	r := codec.Reader{B: b}
	for len(r.B) > 0 {
		at := r.Timestamp()
		op := Op(r.Byte())
		key := r.Bytes()
		var value []byte
		if op.HasValue() {
			value = r.Bytes()
		}
		if r.Err != nil || len(key) < 5 || !op.Writes() {
			return codec.ErrMalformed
		}
		if err := fn(at, op, key, value); err != nil {
			return err
		}
	}
	return nil
}
