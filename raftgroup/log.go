package raftgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/sherddb/sherd/raftlog"
)

// logStore is a group's log and stable store: a raft-wal of its own, or its part of a shared device.
type logStore interface {
	raft.LogStore
	raft.StableStore
	Close() error
}

func openLog(o *Options) (logStore, error) {
	dir := filepath.Join(o.Dir, "log")
	if o.Device == nil {
		return openWAL(o, dir)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err == nil {
		if err := moveLog(o, dir); err != nil {
			return nil, fmt.Errorf("move to the shared log: %w", err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return o.Device.Group(o.DeviceGroup)
}

func openWAL(o *Options, dir string) (*wal.WAL, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	filer := segment.NewFiler(dir, newVFS())
	if err := sealTail(dir, filer); err != nil {
		return nil, fmt.Errorf("finish the log's last segment: %w", err)
	}
	return wal.Open(dir, wal.WithSegmentSize(o.SegmentSize), wal.WithSegmentFiler(filer), wal.WithLogger(newLogger(o.Logger, o.Name)))
}

// movedDir is what Dir/log is called once the shared device holds it all.
const movedDir = "log.moved"

// moveLog copies the log in dir into the shared device. As long as dir is there it is the truth, and what an interrupted copy
// has left in the device is thrown away.
func moveLog(o *Options, dir string) error {
	from, err := openWAL(o, dir)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := o.Device.Forget(o.DeviceGroup); err != nil {
		return err
	}
	to, err := o.Device.Group(o.DeviceGroup)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := copyLog(from, to); err != nil {
		return err
	}
	moved := filepath.Join(o.Dir, movedDir)
	if err := errors.Join(os.Rename(dir, moved), syncDir(o.Dir)); err != nil {
		return err
	}
	return os.RemoveAll(moved)
}

// stableKeys are those that hashicorp/raft keeps in its stable store, two numbers and a name.
var stableKeys = []string{"CurrentTerm", "LastVoteTerm", "LastVoteCand"}

func copyLog(from *wal.WAL, to *raftlog.Group) error {
	for _, k := range stableKeys {
		v, err := from.Get([]byte(k))
		if err == nil && len(v) > 0 {
			err = to.Set([]byte(k), v)
		}
		if err != nil {
			return err
		}
	}
	first, ferr := from.FirstIndex()
	last, lerr := from.LastIndex()
	if err := errors.Join(ferr, lerr); err != nil || last == 0 {
		return err
	}
	for i := first; i <= last; i++ {
		var l raft.Log
		if err := from.GetLog(i, &l); err != nil {
			return err
		}
		if err := to.StoreLog(&l); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
