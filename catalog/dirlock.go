package catalog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockDir takes the directory's lock for this process. The kernel releases it when the process ends
// for whatever reason; the process number in the file is for people.
func lockDir(path string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(path, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the data directory %s is in use by another process of Sherd%s. "+
				"Stop that one first, or name another directory", path, holder(f))
		}
		return nil, fmt.Errorf("cannot lock the data directory: %w", err)
	}
	if err := writeHolder(f); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write to the data directory: %w", err), f.Close())
	}
	return f, nil
}

// shareDir locks the directory against a node's process, but not against other readers. It changes
// nothing. A directory without the lock file was never used, and needs no lock.
func shareDir(path string) (*os.File, error) {
	f, err := os.Open(filepath.Join(path, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock the data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the data directory %s is in use by another process of Sherd%s. Stop it first, "+
				"or ask the running node", path, holder(f))
		}
		return nil, fmt.Errorf("cannot lock the data directory: %w", err)
	}
	return f, nil
}

// holder names the process that has the lock, if it has written its number already.
func holder(f *os.File) string {
	data, err := io.ReadAll(io.LimitReader(f, 32))
	pid, perr := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || perr != nil {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

func writeHolder(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	return err
}
