package storage

import (
	"errors"
	"io"
	"os"
)

// copyFile copies a file; what is zero stays a hole, for memtables and value logs are mostly that.
func copyFile(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	b, at := make([]byte, 64<<10), int64(0)
	for {
		n, err := io.ReadFull(src, b)
		if n > 0 && !allZero(b[:n]) {
			if _, err := dst.WriteAt(b[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return dst.Truncate(at)
		case err != nil:
			return err
		}
	}
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
