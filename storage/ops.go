package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/sherddb/sherd/storage/logentry"
)

// userMeta gives the mark of the operation's version in Badger.
func userMeta(op logentry.Op) byte {
	switch op {
	case logentry.OpPutHead:
		return headMeta
	case logentry.OpPutKept:
		return keptMeta
	case logentry.OpPutHeadKept:
		return headMeta | keptMeta
	}
	return 0
}

// putOf gives the put that leaves such a mark.
func putOf(meta byte) logentry.Op {
	for _, op := range []logentry.Op{logentry.OpPutHead, logentry.OpPutKept, logentry.OpPutHeadKept} {
		if userMeta(op) == meta {
			return op
		}
	}
	return logentry.OpPut
}

// chunkSize bounds a value in Badger, so that none goes to its value log.
const chunkSize = 256 << 10

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
