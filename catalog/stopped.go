package catalog

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/internal/sparse"
	"github.com/sherddb/sherd/raftgroup"
)

// Stopped is what the catalog of a stopped node contains.
type Stopped struct {
	View     *View  // nil if it cannot be read
	Snapshot uint64 // index of the snapshot that was restored, 0 if there is none
	Entries  uint64 // of the log that were read
	Applied  uint64 // index of the last entry that is known to be committed
	Last     uint64 // index of the last entry; entries above Applied may not be committed
	Alone    bool   // this node is the only voter: no other node has newer entries
	Damage   []error
}

// ReadStopped reads the catalog of a stopped node from its directory without changing it. scratch
// is an empty directory for a copy that may be written to. Damage is part of the result; an error
// has other causes.
func ReadStopped(o Options, scratch string) (*Stopped, error) {
	if err := sparse.Dir(scratch, o.Dir); err != nil {
		return nil, fmt.Errorf("copy the catalog: %w", err)
	}
	k, upTo, err := openMark(filepath.Join(scratch, markFile))
	if err != nil {
		return nil, err
	}
	defer k.close()
	s, m := &Stopped{}, newMachine()
	g := raftgroup.Options{Dir: scratch, Name: "catalog", ID: o.ID, Logger: o.Logger}
	err = raftgroup.ReadStopped(g, func(was raftgroup.Remains, log raft.LogStore, snaps raft.SnapshotStore) error {
		s.Last = was.Last
		s.Alone = len(was.Members) == 1 && (was.Members[0].ID == o.ID || was.Members[0].ID == raft.ServerID(g.Name))
		if s.Alone {
			upTo = was.Last
		}
		if !s.restore(m, snaps) {
			return nil
		}
		return s.replay(m, log, upTo)
	})
	if err != nil {
		s.Damage = append(s.Damage, err)
	}
	if len(s.Damage) == 0 && s.Applied < upTo {
		s.Damage = append(s.Damage, fmt.Errorf("entries up to %d had been applied, and the log ends at %d", upTo,
			s.Applied))
	}
	if v := m.view.Load(); v.Cluster() != nil && s.Applied > 0 {
		s.View = v
	}
	return s, nil
}

// restore restores the newest snapshot that can be read. It returns false if there are snapshots
// and none can be read.
func (s *Stopped) restore(m *machine, snaps raft.SnapshotStore) bool {
	metas, err := snaps.List()
	if err != nil {
		s.Damage = append(s.Damage, err)
		return false
	}
	for _, meta := range metas {
		_, rd, err := snaps.Open(meta.ID)
		if err == nil {
			err = m.Restore(rd)
		}
		if err == nil {
			s.Snapshot, s.Applied = meta.Index, meta.Index
			return true
		}
		s.Damage = append(s.Damage, fmt.Errorf("snapshot %s: %w", meta.ID, err))
	}
	return len(metas) == 0
}

// replay applies the entries up to upTo, and reads those after it.
func (s *Stopped) replay(m *machine, log raft.LogStore, upTo uint64) (err error) {
	first, ferr := log.FirstIndex()
	last, lerr := log.LastIndex()
	if err := errors.Join(ferr, lerr); err != nil || last == 0 {
		return err
	}
	if s.Applied+1 < first {
		return fmt.Errorf("entries %d to %d are missing from the log", s.Applied+1, first-1)
	}
	at := first
	defer func() {
		if x := recover(); x != nil { // the entry cannot be applied
			err = fmt.Errorf("entry %d of the log: %v", at, x)
		}
	}()
	m.index = max(m.index, s.Snapshot)
	for ; at <= last; at++ {
		var l raft.Log
		if err := log.GetLog(at, &l); err != nil {
			return fmt.Errorf("entry %d of the log: %w", at, err)
		}
		if l.Type == raft.LogCommand {
			if _, err := decodeEntry(l.Data); err != nil {
				return fmt.Errorf("entry %d of the log: %w", at, err)
			}
		}
		s.Entries++
		if at > upTo {
			continue
		}
		if l.Type == raft.LogCommand {
			m.Apply(&l)
		}
		s.Applied = max(s.Applied, at)
	}
	return nil
}
