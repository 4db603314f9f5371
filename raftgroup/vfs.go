package raftgroup

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/types"
)

// vfs is raft-wal's file system with one difference: a log file's Sync does not wait for the file's
// times to reach the disk. The file's blocks and length are durable since its creation, so
// fdatasync makes an entry as durable as fsync does, in about two thirds of the time.
type vfs struct{ *fs.FS }

func newVFS() types.VFS { return vfs{fs.New()} }

// Create implements types.VFS.
func (v vfs) Create(dir, name string, size uint64) (types.WritableFile, error) {
	f, err := v.FS.Create(dir, name, size)
	if err != nil {
		return nil, err
	}
	// The length and the directory's entry must be durable before fdatasync is enough.
	if err := f.Sync(); err != nil {
		f.Close()
		return nil, err
	}
	return reopen(f, dir, name)
}

// OpenWriter implements types.VFS.
func (v vfs) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := v.FS.OpenWriter(dir, name)
	if err != nil {
		return nil, err
	}
	return reopen(f, dir, name)
}

func reopen(f types.WritableFile, dir, name string) (types.WritableFile, error) {
	g, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0o644)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return &logFile{g}, nil
}

type logFile struct{ *os.File }

// Sync implements types.WritableFile.
func (f *logFile) Sync() error { return syncData(f.File) }
