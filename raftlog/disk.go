package raftlog

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sherddb/sherd/internal/dirsync"
)

// disk is the file system as a device uses it. The tests have one that loses what was not synced
// and fails at chosen steps.
type disk interface {
	// lock makes the directory, durably, and returns its lock; errInUse if another process holds
	// it.
	lock(dir string) (io.Closer, error)
	list(dir string) ([]string, error)
	read(path string) ([]byte, error)
	// create makes an empty file, or truncates an existing one.
	create(path string) (file, error)
	open(path string, readOnly bool) (file, error)
	rename(from, to string) error
	remove(path string) error
	// syncDir makes all files created, renamed or removed in the directory durable.
	syncDir(dir string) error
	// hasRoom reports whether n bytes are free.
	hasRoom(dir string, n int64) bool
}

// file is an open file of a disk.
type file interface {
	io.ReaderAt
	io.Closer
	Name() string
	size() (int64, error)
	// reserve sets the file's length and allocates its blocks on the disk, durably.
	reserve(size int64) error
	// write writes pieces one after another at off and returns when they are on disk.
	write(pieces [][]byte, off int64) error
}

var errInUse = errors.New("in use by another process")

// osDisk is the disk of the operating system.
type osDisk struct{}

type osFile struct{ *os.File }

func (osDisk) lock(dir string) (io.Closer, error) {
	if err := dirsync.Make(dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errInUse
	}
	return f, nil
}

func (osDisk) list(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (osDisk) read(path string) ([]byte, error) { return os.ReadFile(path) }

func (osDisk) create(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osDisk) open(path string, readOnly bool) (file, error) {
	mode := os.O_RDWR
	if readOnly {
		mode = os.O_RDONLY
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) remove(path string) error { return os.Remove(path) }

func (osDisk) syncDir(dir string) error { return dirsync.Sync(dir) }

func (osDisk) hasRoom(dir string, n int64) bool { return roomFor(dir, n) }

func (f osFile) size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (f osFile) reserve(size int64) error {
	if err := reserve(f.File, size); err != nil {
		return err
	}
	return f.Sync() // the length must be on disk before a sync of the data alone is enough
}

func (f osFile) write(pieces [][]byte, off int64) error { return writeSynced(f.File, pieces, off) }

// writeThenSync is writeSynced in two system calls.
func writeThenSync(f *os.File, pieces [][]byte, off int64) error {
	for _, p := range pieces {
		if _, err := f.WriteAt(p, off); err != nil {
			return err
		}
		off += int64(len(p))
	}
	return syncData(f)
}

// skip leaves out the first n bytes of pieces.
func skip(pieces [][]byte, n int) [][]byte {
	for len(pieces) > 0 && n >= len(pieces[0]) {
		n -= len(pieces[0])
		pieces = pieces[1:]
	}
	if n > 0 {
		pieces[0] = pieces[0][n:]
	}
	return pieces
}
