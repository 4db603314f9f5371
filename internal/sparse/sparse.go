// Package sparse copies files and directories that are mostly zero: memtables and value logs have
// their whole length from the first byte on, and parts that were never written stay holes in the
// copy. It does not fsync.
package sparse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const blockSize = 64 << 10

// File copies a file to a path that does not exist; the copy has the permissions of the original.
func File(to, from string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	return copyData(dst, src)
}

func copyData(dst, src *os.File) error {
	var zero, b [blockSize]byte
	for at := int64(0); ; {
		at = nextData(src, at)
		n, err := src.ReadAt(b[:], at)
		if n > 0 && !bytes.Equal(b[:n], zero[:n]) {
			if _, err := dst.WriteAt(b[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		switch {
		case errors.Is(err, io.EOF):
			return dst.Truncate(at)
		case err != nil:
			return err
		}
	}
}

// Dir copies a directory and everything in it to a path that has no file of these names. Files that
// are removed during the copy are left out.
func Dir(to, from string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = entry(filepath.Join(to, path[len(from):]), path, e)
		}
		if errors.Is(err, fs.ErrNotExist) && path != from {
			return nil
		}
		return err
	})
}

func entry(to, from string, e fs.DirEntry) error {
	switch {
	case e.IsDir():
		return os.MkdirAll(to, 0o700)
	case e.Type().IsRegular():
		return File(to, from)
	}
	return fmt.Errorf("%s is neither a file nor a directory", from)
}
