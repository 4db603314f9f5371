package exec

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/types"
)

// spool keeps records in order, to be read once: in memory while they are few, then in a file. So a
// statement over millions of rows needs only the memory of a few thousand.
type spool struct {
	mem   *memory.Account
	few   []byte // records behind their lengths
	taken int64
	count int64
	file  *os.File
	out   *bufio.Writer
}

const (
	spoolMemory = 2 << 20
	spoolBuffer = 64 << 10
)

// add appends a copy of a record.
func (s *spool) add(record []byte) error {
	s.count++
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(record)))
	if s.file == nil && len(s.few)+n+len(record) <= spoolMemory {
		s.few = append(append(s.few, head[:n]...), record...)
		return s.account(int64(cap(s.few)))
	}
	if err := s.spill(); err != nil {
		return err
	}
	_, err := s.out.Write(head[:n])
	if err == nil {
		_, err = s.out.Write(record)
	}
	return spoolError(err)
}

func (s *spool) account(n int64) error {
	if n <= s.taken {
		return nil
	}
	if err := s.mem.Grow(n - s.taken); err != nil {
		return err
	}
	s.taken = n
	return nil
}

// spill switches to a file.
func (s *spool) spill() (err error) {
	if s.file != nil {
		return nil
	}
	if s.file, err = s.mem.TempFile(); err != nil {
		return spoolError(err)
	}
	s.out = bufio.NewWriterSize(s.file, spoolBuffer)
	if _, err := s.out.Write(s.few); err != nil {
		return spoolError(err)
	}
	s.few = nil
	return s.account(spoolBuffer)
}

// each calls fn with the records, which are valid during the call.
func (s *spool) each(fn func(record []byte) error) error {
	if s.file == nil {
		for b := s.few; len(b) > 0; {
			n, k := binary.Uvarint(b)
			end := k + int(n)
			if err := fn(b[k:end:end]); err != nil {
				return err
			}
			b = b[end:]
		}
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return spoolError(err)
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return spoolError(err)
	}
	in := bufio.NewReaderSize(s.file, spoolBuffer)
	var buf []byte
	for range s.count {
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return spoolError(err)
		}
		buf = slices.Grow(buf[:0], int(n))[:n]
		if _, err := io.ReadFull(in, buf); err != nil {
			return spoolError(err)
		}
		if err := fn(buf); err != nil {
			return err
		}
	}
	return nil
}

// free forgets the records.
func (s *spool) free() {
	if s.file != nil {
		s.file.Close() // it has no name any more
	}
	s.mem.Release(s.taken)
	*s = spool{mem: s.mem}
}

func spoolError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		full := pgerr.New(pgerr.DiskFull, "could not write to a temporary file: no space left on device")
		return fmt.Errorf("%w: %w", full, err)
	}
	return fmt.Errorf("%w: %w", pgerr.New(pgerr.IOError, "could not use a temporary file"), err)
}

// rowSpool is a spool of rows.
type rowSpool struct {
	spool
	buf []byte
	row types.Row
}

func (s *rowSpool) keep(row types.Row) error {
	b := appendRow(s.buf[:0], row)
	s.buf, s.row = b, slices.Grow(s.row[:0], len(row))[:len(row)]
	return s.add(b)
}

// emit passes the rows on, each valid during the call.
func (s *rowSpool) emit(c *Ctx, emit Emit) error {
	return s.each(func(b []byte) error {
		if err := c.Tick(); err != nil {
			return err
		}
		r := record{b}
		r.row(s.row)
		return emit(s.row)
	})
}

// record decodes a record of a spool, which this process has encoded.
type record struct{ b []byte }

func (r *record) byte() byte {
	x := r.b[0]
	r.b = r.b[1:]
	return x
}

func (r *record) varint() int64 {
	x, n := binary.Varint(r.b)
	r.b = r.b[n:]
	return x
}

func (r *record) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	r.b = r.b[n:]
	return x
}

func (r *record) bytes() []byte {
	n := int(r.uvarint())
	x := r.b[:n:n]
	r.b = r.b[n:]
	return x
}

// writeSpool is a spool of writes, each for the fragment of a bucket.
type writeSpool struct {
	spool
	buf []byte
}

func (s *writeSpool) keep(bucket uint32, w *Write) error {
	flags := byte(0)
	if w.Exclusive {
		flags = 1
	}
	b := append(s.buf[:0], byte(w.Kind), flags)
	b = binary.AppendVarint(b, int64(bucket))
	b = binary.AppendVarint(b, int64(w.Index))
	for _, x := range [][]byte{w.Key, w.Value, w.Row} {
		b = append(binary.AppendUvarint(b, uint64(len(x))), x...)
	}
	s.buf = b
	return s.add(b)
}

// writes calls fn with the writes, in memory of their own.
func (s *writeSpool) writes(fn func(bucket uint32, w Write) error) error {
	return s.each(func(b []byte) error {
		r := record{slices.Clone(b)}
		w := Write{Kind: WriteKind(r.byte())}
		w.Exclusive = r.byte() != 0
		bucket := uint32(r.varint())
		w.Index = int(r.varint())
		w.Key, w.Value, w.Row = r.bytes(), r.bytes(), r.bytes()
		return fn(bucket, w)
	})
}
