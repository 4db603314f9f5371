// Package dirsync makes changes of directories that a power loss does not undo: a file or a
// directory that was made, renamed or removed is so on disk only when its directory was synced.
package dirsync

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Sync returns when all that was made, renamed or removed in a directory is so on disk.
func Sync(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Make makes a directory, closed to others, and those above it that are missing. It returns when
// their names are on disk. A process before may have made the directory and died, so that is done
// for one that is there too.
func Make(path string) error { return makeDir(filepath.Clean(path), Sync) }

func makeDir(path string, sync func(string) error) error {
	parent := filepath.Dir(path)
	st, err := os.Stat(path)
	switch {
	case err == nil && !st.IsDir():
		return &os.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	case err == nil:
		// The directory above may be the operator's: not readable, or of a file system that cannot
		// sync it.
		if err := sync(parent); errors.Is(err, syscall.EIO) {
			return err
		}
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := makeDir(parent, sync); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return sync(parent)
}

// WriteFile replaces a file by one with other content: after a crash one of the two is there.
func WriteFile(path string, content []byte) error {
	tmp := path + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		err = Sync(filepath.Dir(path))
	}
	return err
}
