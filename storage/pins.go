package storage

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"

	"github.com/sherddb/sherd/txn"
)

// pinFile has the keys of pinned locks that are in a transaction's set, where no keys are: a prepare carries them. Like the stage's file it has no
// name. A record is the lock's number and its key.
type pinFile struct {
	f    *os.File
	w    *bufio.Writer
	size int64
	cuts []pinCut // ascending in both
}

// pinCut says that of the records before size those above number count no more: a savepoint was returned to.
type pinCut struct {
	size   int64
	number int
}

const pinBuffer = 32 << 10

func newPinFile(f *os.File) *pinFile {
	return &pinFile{f: f, w: bufio.NewWriterSize(f, pinBuffer)}
}

func (p *pinFile) add(number int32, key string) error {
	b := binary.AppendUvarint(make([]byte, 0, 16+len(key)), uint64(number))
	b = append(binary.AppendUvarint(b, uint64(len(key))), key...)
	n, err := p.w.Write(b)
	p.size += int64(n)
	if err != nil {
		return stageError(err)
	}
	return nil
}

// cut forgets the records above a number.
func (p *pinFile) cut(number int) {
	n := len(p.cuts)
	for n > 0 && p.cuts[n-1].number >= number {
		n--
	}
	p.cuts = append(p.cuts[:n], pinCut{p.size, number})
}

// each calls fn with the keys that count. A key may come twice, or be one that is locked and not pinned any more.
func (p *pinFile) each(fn func(key []byte) error) error {
	if err := p.w.Flush(); err != nil {
		return stageError(err)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(p.f, 0, p.size), pinBuffer)
	cuts := p.cuts
	var key []byte
	for at := int64(0); at < p.size; {
		number, err := binary.ReadUvarint(in)
		if err != nil {
			return stageError(err)
		}
		n, err := binary.ReadUvarint(in)
		if err != nil || n > MaxKey {
			return damagedStage(at)
		}
		key = append(key[:0], make([]byte, n)...)
		if _, err := io.ReadFull(in, key); err != nil {
			return stageError(err)
		}
		for len(cuts) > 0 && cuts[0].size <= at {
			cuts = cuts[1:]
		}
		at += int64(uvarintLen(int(number)) + uvarintLen(int(n)) + len(key))
		if len(cuts) > 0 && number > uint64(cuts[0].number) {
			continue
		}
		if err := fn(key); err != nil {
			return err
		}
	}
	return nil
}

// file writes the key of a lock that is pinned down, before it comes into the set. Called with mu held.
func (t *Tx) file(l *rowLock, number int32) error {
	if l.filed {
		return nil
	}
	if t.pinned == nil {
		f, err := t.stageFile()
		if err != nil {
			return err
		}
		t.pinned = newPinFile(f)
	}
	err := t.pinned.add(number, l.key)
	l.filed = err == nil
	return err
}

// carried tells whether what t has staged of a row brings a lock of it with it, at least as strong as the one that t holds: then a pin adds
// nothing. Called with mu held.
func (t *Tx) carried(l *rowLock) bool {
	op, written, err := t.stage.get([]byte(l.key), t.stage.mark())
	return err == nil && written && (!op.kept || l.mode <= txn.NoKeyUpdate)
}
