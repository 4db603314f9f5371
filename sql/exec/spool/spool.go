package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	file  *File
	run   *Run // nil: the records are few
}

const (
	inMemory = 2 << 20
	// BufferSize is the size of the buffers for files.
	BufferSize = 64 << 10
	minBlock   = 4 << 10
)

// BlockSize returns the size of the blocks of an operation whose share is small or large.
func BlockSize(mem *memory.Account) int {
	return int(min(max(mem.Size()/32, minBlock), BufferSize))
}

// Add appends a copy of a record.
func (s *Spool) Add(record []byte) error {
	s.count++
	if s.run == nil && len(s.few)+binary.MaxVarintLen64+len(record) <= inMemory {
		s.few = append(binary.AppendUvarint(s.few, uint64(len(record))), record...)
		return s.account(int64(cap(s.few)))
	}
	if err := s.spill(); err != nil {
		return err
	}
	return s.run.Add(record)
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
func (s *Spool) spill() error {
	if s.run != nil {
		return nil
	}
	s.file = NewFile(s.Mem)
	s.run = s.file.NewRun(BufferSize)
	err := s.eachOfFew(s.run.Add)
	s.Mem.Release(s.taken)
	s.few, s.taken = nil, 0
	return err
}

// Len returns the number of records.
func (s *Spool) Len() int64 { return s.count }

// Each calls fn with the records, which are valid during the call.
func (s *Spool) Each(fn func(record []byte) error) error {
	if s.run == nil {
		return s.eachOfFew(fn)
	}
	r := s.run.Reader()
	defer r.Close()
	for {
		b, ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		if err := fn(b); err != nil {
			return err
		}
	}
}

func (s *Spool) eachOfFew(fn func(record []byte) error) error {
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

// Free forgets the records.
func (s *Spool) Free() {
	if s.file != nil {
		s.file.Close()
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
