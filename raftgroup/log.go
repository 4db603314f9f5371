package raftgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/raftlog"
)

// logStore is a group's log and stable store: a raft-wal of its own, or its part of a shared
// device.
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
	if err := dirsync.Make(o.Dir); err != nil {
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
	if err := dirsync.Make(dir); err != nil {
		return nil, err
	}
	filer := segment.NewFiler(dir, newVFS())
	if err := sealTail(dir, filer); err != nil {
		return nil, fmt.Errorf("finish the log's last segment: %w", err)
	}
	return wal.Open(
		dir, wal.WithSegmentSize(o.SegmentSize), wal.WithSegmentFiler(filer),
		wal.WithLogger(newLogger(o.Logger, o.Name)),
	)
}

// movedDir is the new name of Dir/log once the shared device holds the whole log.
const movedDir = "log.moved"

// moveLog copies the log in dir into the shared device. As long as dir exists it is authoritative,
// and what an interrupted copy has left in the device is deleted.
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
	if err := errors.Join(os.Rename(dir, moved), dirsync.Sync(o.Dir)); err != nil {
		return err
	}
	return os.RemoveAll(moved)
}

// stableKeys are the keys of hashicorp/raft in its stable store, two numbers and a name.
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

// replacing is a group's log as Raft sees it. Raft deletes a tail that conflicts with its leader's
// and then appends the leader's entries. If the second step fails, hashicorp/raft still takes the
// old tail for the end of its log and refuses every append until it is restarted. So replacing
// keeps the tail until the append, which replaces it in one step.
type replacing struct {
	*raftlog.Group
	mu   sync.Mutex
	tail uint64 // the first entry of a tail to delete, or 0; guarded by mu
}

// DeleteRange implements raft.LogStore. A tail that changes the configuration is deleted at once,
// because Raft uses an earlier configuration from here on.
func (l *replacing) DeleteRange(lo, hi uint64) error {
	first, ferr := l.FirstIndex()
	last, lerr := l.LastIndex()
	if err := errors.Join(ferr, lerr); err != nil {
		return err
	}
	if lo <= first || lo > last || hi < last {
		return l.Group.DeleteRange(lo, hi)
	}
	for i := lo; i <= last; i++ {
		var e raft.Log
		if err := l.GetLog(i, &e); err != nil {
			return err
		}
		if e.Type == raft.LogConfiguration {
			return l.Group.DeleteRange(lo, hi)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = lo
	return nil
}

// StoreLog implements raft.LogStore.
func (l *replacing) StoreLog(e *raft.Log) error { return l.StoreLogs([]*raft.Log{e}) }

// StoreLogs implements raft.LogStore.
func (l *replacing) StoreLogs(logs []*raft.Log) error {
	l.mu.Lock()
	tail := l.tail
	l.tail = 0
	l.mu.Unlock()
	if tail != 0 && len(logs) > 0 && logs[0].Index != tail {
		if err := l.Group.DeleteRange(tail, math.MaxUint64); err != nil {
			return err
		}
	}
	return l.Group.StoreLogs(logs)
}
