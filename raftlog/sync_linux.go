package raftlog

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const maxPieces = 1024 // IOV_MAX

// writeSynced writes pieces one after another at off and returns when they are on disk. One system
// call does both if the kernel supports it.
func writeSynced(f *os.File, pieces [][]byte, off int64) error {
	for len(pieces) > 0 {
		n, err := unix.Pwritev2(int(f.Fd()), pieces[:min(len(pieces), maxPieces)], off, unix.RWF_DSYNC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return writeThenSync(f, pieces, off)
		case err != nil:
			return &os.PathError{Op: "write", Path: f.Name(), Err: err}
		}
		off += int64(n)
		pieces = skip(pieces, n)
	}
	return nil
}

func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
		return nil
	}
}

// reserve sets the length of f and allocates its blocks on the disk.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return f.Truncate(size)
	}
	if err != nil {
		return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
	return nil
}

// roomFor reports whether the disk has n free bytes.
func roomFor(dir string, n int64) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && int64(st.Bavail)*int64(st.Bsize) > n
}
