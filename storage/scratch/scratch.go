// Package scratch makes the files for what a transaction does not keep in memory: its buffered
// writes and the keys of its pinned locks. A file loses its name when it is made, so that a crash
// leaves nothing of it.
//
// The package does not decide when there is room for a file, and never reads one. Errors of these
// files reach clients: Failed and Damaged make them.
package scratch

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/sherddb/sherd/internal/pgerr"
)

// Create makes a file without a name in a directory, which is made too if it does not exist. The
// directory need not survive a crash.
func Create(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		return nil, Failed(err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Failed returns the error for the client of a file that could not be written or read.
func Failed(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		full := pgerr.New(pgerr.DiskFull, "could not keep the transaction's writes: no space left on device")
		return fmt.Errorf("%w: %w", full.WithHint("Free disk space, or split the transaction into smaller ones."), err)
	}
	return fmt.Errorf("%w: %w", pgerr.New(pgerr.IOError, "could not keep the transaction's writes"), err)
}

// Damaged returns the error for the client of a file that does not contain what was written.
func Damaged(at int64) error {
	return pgerr.New(pgerr.DataCorrupted, "the file of a transaction's writes is damaged at %d", at)
}
