package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
)

// Marks in Badger's user byte.
const (
	headMark = 1 // the head of a large row
	keptMark = 2 // a new version of a row that was there, with the same keys
)

// markOf returns the mark of the version that an operation leaves.
func markOf(op logentry.Op) byte {
	switch op {
	case logentry.OpPutHead:
		return headMark
	case logentry.OpPutKept:
		return keptMark
	case logentry.OpPutHeadKept:
		return headMark | keptMark
	}
	return 0
}

// IsHead reports whether an operation writes the head of a large row.
func IsHead(op logentry.Op) bool { return markOf(op)&headMark != 0 }

// IsKept reports whether an operation writes a new version of a row that was there, with the same
// keys.
func IsKept(op logentry.Op) bool { return markOf(op)&keptMark != 0 }

// ChunkSize bounds a value in Badger, so that none goes to its value log.
const ChunkSize = 256 << 10

// The head of a large row stands at its key: format(1) · bytes(4) · chunks(2).
const headLen = 7

// Head returns the head of a large row of so many bytes.
func Head(size int) []byte {
	b := make([]byte, headLen)
	b[0] = 1
	binary.BigEndian.PutUint32(b[1:], uint32(size))
	binary.BigEndian.PutUint16(b[5:], uint16(Chunks(size)))
	return b
}

// decodeHead returns the size of a large row, and the number of its chunks.
func decodeHead(b []byte) (size, chunks int, err error) {
	if len(b) != headLen || b[0] != 1 {
		return 0, 0, fmt.Errorf("malformed head of a large row: %x", b)
	}
	size, chunks = int(binary.BigEndian.Uint32(b[1:])), int(binary.BigEndian.Uint16(b[5:]))
	if chunks != Chunks(size) {
		return 0, 0, fmt.Errorf("malformed head of a large row: %x", b)
	}
	return size, chunks, nil
}

// SizeOfHead returns the size of the large row that has the head b.
func SizeOfHead(b []byte) (size int, err error) {
	size, _, err = decodeHead(b)
	return size, err
}

// Chunks returns the number of chunks of a value: 0 if it is stored whole.
func Chunks(size int) int {
	if size <= ChunkSize {
		return 0
	}
	return (size + ChunkSize - 1) / ChunkSize
}

// readChunks puts a large row together.
func readChunks(t *badger.Txn, item *badger.Item) ([]byte, error) {
	var size, n int
	err := item.Value(func(b []byte) (err error) {
		size, n, err = decodeHead(b)
		return err
	})
	if err != nil {
		return nil, pgerr.New(pgerr.DataCorrupted, "%v", err)
	}
	value := make([]byte, 0, size)
	for i := range n {
		c, err := t.Get(keyspace.ChunkKey(item.Key(), i))
		if err == nil {
			err = c.Value(func(b []byte) error { value = append(value, b...); return nil })
		}
		if err != nil {
			return nil, pgerr.New(pgerr.DataCorrupted, "piece %d of a row of %d bytes: %v", i, size, err)
		}
	}
	if len(value) != size {
		return nil, pgerr.New(pgerr.DataCorrupted, "a row of %d bytes has %d", size, len(value))
	}
	return value, nil
}
