package stmt

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/sherddb/sherd/sql/exec/memory"
)

// heldCopy keeps what the client of a COPY FROM sends, so that the statement can be run again if rows have moved: little
// in memory, more in a file, and not more than maxCopyKept.
type heldCopy struct {
	live   CopyReader
	dir    string
	few    []byte
	file   *os.File
	size   int64 // of what is kept
	at     int64 // the next byte of it that is read
	ended  bool  // the client has sent all
	passed bool  // something is not kept
	buf    []byte
}

const (
	copyInMemory = 256 << 10
	maxCopyKept  = 1 << 30
	copyRead     = 64 << 10 // bytes that are read at a time of what is kept
)

// Next implements CopyReader.
func (k *heldCopy) Next(ctx context.Context) ([]byte, error) {
	if k.at < k.size {
		return k.again()
	}
	if k.ended {
		return nil, io.EOF
	}
	b, err := k.live.Next(ctx)
	if err != nil {
		k.ended = errors.Is(err, io.EOF)
		return nil, err
	}
	k.keep(b)
	return b, nil
}

// again reads what is kept.
func (k *heldCopy) again() ([]byte, error) {
	n := min(k.size-k.at, copyRead)
	if k.file == nil {
		b := k.few[k.at : k.at+n]
		k.at += n
		return b, nil
	}
	if k.buf == nil {
		k.buf = make([]byte, copyRead)
	}
	if _, err := k.file.ReadAt(k.buf[:n], k.at); err != nil {
		return nil, err
	}
	k.at += n
	return k.buf[:n], nil
}

// keep keeps what has come. If there is no room for it, the statement cannot be run again.
func (k *heldCopy) keep(b []byte) {
	if k.passed {
		return
	}
	if k.size+int64(len(b)) > maxCopyKept || k.write(b) != nil {
		k.close()
		k.passed = true
		return
	}
	k.size += int64(len(b))
	k.at = k.size
}

func (k *heldCopy) write(b []byte) (err error) {
	if k.file == nil {
		k.few = append(k.few, b...)
		if len(k.few) < copyInMemory {
			return nil
		}
		if k.file, err = memory.TempFile(k.dir); err != nil {
			return err
		}
		b, k.few = k.few, nil
		_, err = k.file.WriteAt(b, 0)
		return err
	}
	_, err = k.file.WriteAt(b, k.size)
	return err
}

// rewind lets the statement read from the start.
func (k *heldCopy) rewind() { k.at = 0 }

func (k *heldCopy) close() {
	if k.file != nil {
		k.file.Close()
	}
	k.few, k.file, k.size, k.at = nil, nil, 0, 0
}
