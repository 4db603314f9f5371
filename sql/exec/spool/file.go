package spool

import (
	"fmt"
	"hash/crc32"
	"os"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/memory"
)

// File is a temporary file of an operation. Its runs share it: each is a list of blocks. It is
// created for the first block, and counts in the query's files until it is closed.
type File struct {
	mem   *memory.Account // counts the buffers
	file  *os.File
	end   int64
	taken int64  // bytes of buffers
	spare []byte // the buffer of a run that has ended
}

// NewFile returns a file whose buffers are counted, but never refused.
func NewFile(mem *memory.Account) *File { return &File{mem: mem} }

// block is a part of a run in the file.
type block struct {
	offset int64
	size   int32
	sum    uint32
	first  int64 // number of its first record
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// write appends a block.
func (f *File) write(b []byte, first int64) (block, error) {
	if f.file == nil {
		file, err := f.mem.TempFile()
		if err != nil {
			return block{}, FileError(err)
		}
		f.file = file
	}
	if err := f.mem.GrowFiles(int64(len(b))); err != nil {
		return block{}, err
	}
	at := block{offset: f.end, size: int32(len(b)), sum: crc32.Checksum(b, castagnoli), first: first}
	f.end += int64(len(b))
	_, err := f.file.WriteAt(b, at.offset)
	return at, FileError(err)
}

// read reads a block into b, which it returns, and refuses a damaged one.
func (f *File) read(at block, b []byte) ([]byte, error) {
	if cap(b) < int(at.size) {
		b = f.buffer(b, int(at.size))
	}
	b = b[:at.size]
	if _, err := f.file.ReadAt(b, at.offset); err != nil {
		return b, FileError(err)
	}
	if sum := crc32.Checksum(b, castagnoli); sum != at.sum {
		return b, FileError(fmt.Errorf("block at %d: checksum %08x, not %08x", at.offset, sum, at.sum))
	}
	return b, nil
}

// buffer returns an empty buffer of at least n bytes in the place of old.
func (f *File) buffer(old []byte, n int) []byte {
	if spare := f.spare; cap(old) == 0 && cap(spare) >= n {
		f.spare = nil
		return spare[:0]
	}
	f.count(int64(n - cap(old)))
	return make([]byte, 0, n)
}

// leave takes back a buffer.
func (f *File) leave(b []byte) {
	if f.taken < int64(cap(b)) {
		return // the file is closed
	}
	if f.spare == nil && cap(b) <= BufferSize {
		f.spare = b
		return
	}
	f.count(-int64(cap(b)))
}

func (f *File) count(n int64) {
	f.taken += n
	f.mem.Force(n)
}

// Size returns the number of bytes in the file.
func (f *File) Size() int64 { return f.end }

// Close deletes the file. Its runs must not be used any more.
func (f *File) Close() {
	if f.file != nil {
		f.file.Close() // it has no name any more
	}
	f.mem.ReleaseFiles(f.end)
	f.mem.Release(f.taken)
	*f = File{mem: f.mem}
}

// errTooLarge is the error of a record that no block can hold.
func errTooLarge(n int) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "a row of %d bytes is too large for a temporary file", n)
}
