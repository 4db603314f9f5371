package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/txn"
)

// An operation of a write set: op(1) · len · key [· len · value]. It names one key of Badger and its value, nothing to be
// computed at apply (V3): the chunks of a large row are operations of their own.
type opKind byte

// The operations. Numbers are on disk for ever.
const (
	opPut     opKind = 1
	opDelete  opKind = 2
	opPutHead opKind = 3 // the value is a chunkHead: the row's bytes are under chunkKey

	// These write nothing: the key is locked while the transaction is prepared.
	opLock            opKind = 4 // UPDATE
	opLockKeyShare    opKind = 5
	opLockShare       opKind = 6
	opLockNoKeyUpdate opKind = 7

	// A put to a row that was there, which leaves its keys as they were: its lock is NO KEY UPDATE.
	opPutKept     opKind = 8
	opPutHeadKept opKind = 9
)

// hasValue tells whether the operation writes a value.
func (op opKind) hasValue() bool {
	return op == opPut || op == opPutHead || op == opPutKept || op == opPutHeadKept
}

// writes tells whether the operation writes, or locks alone.
func (op opKind) writes() bool { return op.hasValue() || op == opDelete }

// mode gives the lock that the operation's transaction has of its key while it is prepared.
func (op opKind) mode() txn.LockMode {
	switch op {
	case opLockKeyShare:
		return txn.KeyShare
	case opLockShare:
		return txn.Share
	case opLockNoKeyUpdate, opPutKept, opPutHeadKept:
		return txn.NoKeyUpdate
	}
	return txn.Update
}

// lockOp gives the operation that carries a lock.
func lockOp(m txn.LockMode) opKind {
	return [...]opKind{txn.KeyShare: opLockKeyShare, txn.Share: opLockShare, txn.NoKeyUpdate: opLockNoKeyUpdate, txn.Update: opLock}[m]
}

// userMeta gives the mark of the operation's version in Badger.
func (op opKind) userMeta() byte {
	switch op {
	case opPutHead:
		return headMeta
	case opPutKept:
		return keptMeta
	case opPutHeadKept:
		return headMeta | keptMeta
	}
	return 0
}

// putOf gives the put that leaves such a mark.
func putOf(meta byte) opKind {
	for _, op := range []opKind{opPutHead, opPutKept, opPutHeadKept} {
		if op.userMeta() == meta {
			return op
		}
	}
	return opPut
}

// chunkSize bounds a value in Badger, so that none goes to its value log.
const chunkSize = 256 << 10

func appendOp(b []byte, op opKind, key, value []byte) []byte {
	b = append(b, byte(op))
	b = codec.AppendBytes(b, key)
	if op.hasValue() {
		b = codec.AppendBytes(b, value)
	}
	return b
}

// eachOp calls fn with every operation of b. Slices share b's memory.
func eachOp(b []byte, fn func(op opKind, key, value []byte) error) error {
	r := codec.Reader{B: b}
	for len(r.B) > 0 {
		op := opKind(r.Byte())
		key := r.Bytes()
		var value []byte
		switch {
		case op.hasValue():
			value = r.Bytes()
		case op < opPut || op > opPutHeadKept:
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

// An operation of an Ingest entry: version(8), then as in a write set.
func appendCarried(b []byte, at txn.Timestamp, op opKind, key, value []byte) []byte {
	return appendOp(codec.AppendTimestamp(b, at), op, key, value)
}

// eachCarried calls fn with every operation of an Ingest entry. Slices share b's memory.
func eachCarried(b []byte, fn func(at txn.Timestamp, op opKind, key, value []byte) error) error {
	r := codec.Reader{B: b}
	for len(r.B) > 0 {
		at := r.Timestamp()
		op := opKind(r.Byte())
		key := r.Bytes()
		var value []byte
		if op.hasValue() {
			value = r.Bytes()
		}
		if r.Err != nil || len(key) < 5 || !op.writes() {
			return codec.ErrMalformed
		}
		if err := fn(at, op, key, value); err != nil {
			return err
		}
	}
	return nil
}

// chunkHead is what stands at the key of a large row: format(1) · bytes(4) · chunks(2).
const chunkHeadLen = 7

func encodeChunkHead(size int) []byte {
	b := make([]byte, chunkHeadLen)
	b[0] = 1
	binary.BigEndian.PutUint32(b[1:], uint32(size))
	binary.BigEndian.PutUint16(b[5:], uint16(chunksOf(size)))
	return b
}

func decodeChunkHead(b []byte) (size, chunks int, err error) {
	if len(b) != chunkHeadLen || b[0] != 1 {
		return 0, 0, fmt.Errorf("malformed head of a large row: %x", b)
	}
	size, chunks = int(binary.BigEndian.Uint32(b[1:])), int(binary.BigEndian.Uint16(b[5:]))
	if chunks != chunksOf(size) {
		return 0, 0, fmt.Errorf("malformed head of a large row: %x", b)
	}
	return size, chunks, nil
}

// chunksOf gives the number of chunks of a value: 0 if it is stored whole.
func chunksOf(size int) int {
	if size <= chunkSize {
		return 0
	}
	return (size + chunkSize - 1) / chunkSize
}
