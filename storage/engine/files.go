package engine

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/internal/pgerr"
)

// CleanFile exists in a replica's directory while its database is closed and all of it is in
// tables.
const CleanFile = "CLEAN"

// LockDir takes the replica's directory for this process.
func LockDir(dir string) (*os.File, error) {
	if err := dirsync.Make(dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, pgerr.New(pgerr.ObjectInUse, "data directory %s is in use by another process", dir)
	}
	return f, nil
}

// dropMemtables deletes Badger's memtable files after an unclean stop (S2): after a power loss they
// may have holes, and Badger would flush those into tables. What they had is in the log. Called
// with the directory locked.
func dropMemtables(dir string) error {
	clean := filepath.Join(dir, CleanFile)
	if _, err := os.Stat(clean); err == nil {
		if err := os.Remove(clean); err != nil {
			return err
		}
		return dirsync.Sync(dir)
	}
	mems, err := filepath.Glob(filepath.Join(dir, "data", "*.mem"))
	if err != nil {
		return err
	}
	for _, m := range mems {
		if err := os.Remove(m); err != nil {
			return err
		}
	}
	return dropEmptyValueLogs(dir)
}

// dropEmptyValueLogs deletes value log files without a byte, which a process leaves that is killed
// between making such a file and setting its size. Badger does not open a database that has one.
func dropEmptyValueLogs(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "data", "*.vlog"))
	if err != nil {
		return err
	}
	for _, l := range logs {
		info, err := os.Stat(l)
		if err != nil {
			return err
		}
		if info.Size() > 0 {
			continue
		}
		if err := os.Remove(l); err != nil {
			return err
		}
	}
	return nil
}

func markClean(dir string) error {
	f, err := os.Create(filepath.Join(dir, CleanFile))
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return dirsync.Sync(dir)
}
