package storage

import (
	"encoding/binary"
	"fmt"
)

// An operation of a write set: op(1) · len · key [· len · value]. It names one key of Badger and its value, nothing to be
// computed at apply (V3): the chunks of a large row are operations of their own.
type opKind byte

// The operations. Numbers are on disk for ever.
const (
	opPut     opKind = 1
	opDelete  opKind = 2
	opPutHead opKind = 3 // the value is a chunkHead: the row's bytes are under chunkKey
	opLock    opKind = 4 // writes nothing; the key is locked while the transaction is prepared
)

// chunkSize bounds a value in Badger, so that none goes to its value log.
const chunkSize = 256 << 10

func appendOp(b []byte, op opKind, key, value []byte) []byte {
	b = append(b, byte(op))
	b = putBytes(b, key)
	if op == opPut || op == opPutHead {
		b = putBytes(b, value)
	}
	return b
}

// eachOp calls fn with every operation of b. Slices share b's memory.
func eachOp(b []byte, fn func(op opKind, key, value []byte) error) error {
	r := reader{b: b}
	for len(r.b) > 0 {
		op := opKind(r.byte())
		key := r.bytes()
		var value []byte
		switch op {
		case opPut, opPutHead:
			value = r.bytes()
		case opDelete, opLock:
		default:
			return fmt.Errorf("%w: operation %d is not known to this release", errEntry, op)
		}
		if r.err != nil || len(key) == 0 {
			return errEntry
		}
		if err := fn(op, key, value); err != nil {
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
