package locktable

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"slices"

	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/scratch"
	"github.com/sherddb/sherd/txn"
)

// pinFile has the keys of pinned locks that are in an owner's set, where no keys are: a prepare has
// them. The file has no name. A record is the lock's number and its key.
type pinFile struct {
	f    *os.File
	w    *bufio.Writer
	size int64
	most int      // bytes of the longest key
	cuts []pinCut // ascending in both
}

// pinCut is a return to a savepoint: of the records before size, those above number count no more.
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
	p.most = max(p.most, len(key))
	n, err := p.w.Write(b)
	p.size += int64(n)
	if err != nil {
		return scratch.Failed(err)
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

// each calls fn with the keys that count. A key may come twice, or be one that is locked and not
// pinned any more.
func (p *pinFile) each(fn func(key []byte) error) error {
	if err := p.w.Flush(); err != nil {
		return scratch.Failed(err)
	}
	in := bufio.NewReaderSize(io.NewSectionReader(p.f, 0, p.size), pinBuffer)
	cuts := p.cuts
	var key []byte
	for at := int64(0); at < p.size; {
		number, err := binary.ReadUvarint(in)
		if err != nil {
			return scratch.Failed(err)
		}
		n, err := binary.ReadUvarint(in)
		if err != nil || n > uint64(p.most) {
			return scratch.Damaged(at)
		}
		key = append(key[:0], make([]byte, n)...)
		if _, err := io.ReadFull(in, key); err != nil {
			return scratch.Failed(err)
		}
		for len(cuts) > 0 && cuts[0].size <= at {
			cuts = cuts[1:]
		}
		at += int64(codec.UvarintLen(int(number)) + codec.UvarintLen(int(n)) + len(key))
		if len(cuts) > 0 && number > uint64(cuts[0].number) {
			continue
		}
		if err := fn(key); err != nil {
			return err
		}
	}
	return nil
}

// Pinned calls fn with the pinned locks. A key may come twice. fn must not use the owner.
func (o *Owner) Pinned(fn func(key []byte, mode txn.LockMode) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pins == 0 {
		return nil
	}
	held := o.held
	if set := o.set.Load(); set != nil {
		held = append(slices.Clone(held), set.unpackedLocks()...)
	}
	for _, l := range held {
		if !l.pinned || l.onDisk {
			continue
		}
		if err := fn([]byte(l.key), l.mode); err != nil {
			return err
		}
	}
	if o.pinFile == nil {
		return nil
	}
	return o.pinFile.each(func(key []byte) error {
		if l := o.table.find(o, key); l != nil && l.pinned {
			return fn(key, l.mode)
		}
		return nil
	})
}

// PinsOnDisk reports whether keys of pinned locks are in a file, so that there may be many.
func (o *Owner) PinsOnDisk() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pinFile != nil
}
