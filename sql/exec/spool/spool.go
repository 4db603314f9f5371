package spool

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
)

// Spool keeps records in order, to be read once: in memory while they are few, then in a file. So a
// statement over millions of rows needs only the memory of a few thousand.
type Spool struct {
	Mem   *memory.Account
	few   []byte // records behind their lengths
	taken int64
	count int64
	file  *os.File
	out   *bufio.Writer
}

const (
	inMemory = 2 << 20
	// BufferSize is the size of the buffers for files.
	BufferSize = 64 << 10
)

// Add appends a copy of a record.
func (s *Spool) Add(record []byte) error {
	s.count++
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(len(record)))
	if s.file == nil && len(s.few)+n+len(record) <= inMemory {
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
	return FileError(err)
}

func (s *Spool) account(n int64) error {
	if n <= s.taken {
		return nil
	}
	if err := s.Mem.Grow(n - s.taken); err != nil {
		return err
	}
	s.taken = n
	return nil
}

// spill switches to a file.
func (s *Spool) spill() (err error) {
	if s.file != nil {
		return nil
	}
	if s.file, err = s.Mem.TempFile(); err != nil {
		return FileError(err)
	}
	s.out = bufio.NewWriterSize(s.file, BufferSize)
	if _, err := s.out.Write(s.few); err != nil {
		return FileError(err)
	}
	s.few = nil
	return s.account(BufferSize)
}

// Len returns the number of records.
func (s *Spool) Len() int64 { return s.count }

// Each calls fn with the records, which are valid during the call.
func (s *Spool) Each(fn func(record []byte) error) error {
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
		return FileError(err)
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return FileError(err)
	}
	in := bufio.NewReaderSize(s.file, BufferSize)
	var buf []byte
	for range s.count {
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return FileError(err)
		}
		buf = slices.Grow(buf[:0], int(n))[:n]
		if _, err := io.ReadFull(in, buf); err != nil {
			return FileError(err)
		}
		if err := fn(buf); err != nil {
			return err
		}
	}
	return nil
}

// Free forgets the records.
func (s *Spool) Free() {
	if s.file != nil {
		s.file.Close() // it has no name any more
	}
	s.Mem.Release(s.taken)
	*s = Spool{Mem: s.Mem}
}

// FileError returns the error for the client of a temporary file that cannot be used.
func FileError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		full := pgerr.New(pgerr.DiskFull, "could not write to a temporary file: no space left on device")
		return fmt.Errorf("%w: %w", full, err)
	}
	return fmt.Errorf("%w: %w", pgerr.New(pgerr.IOError, "could not use a temporary file"), err)
}
