package raftgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// Remains is the content of a replica of a group that is not open.
type Remains struct {
	Members []raft.Server
	Last    uint64    // index of its last entry
	At      time.Time // when its leader appended that; zero: unknown
}

// Look returns the content of the replica in o.Dir without opening the group.
func Look(o Options) (Remains, error) {
	var out Remains
	err := stopped(o, func(s *stoppedReplica) (err error) {
		out, err = s.remains()
		return err
	})
	return out, err
}

// ReadStopped calls f with the content of the replica in o.Dir, whose group is not open. Opening
// its log may cut off a torn tail and create missing files: if nothing may change, o.Dir must be a
// copy.
func ReadStopped(o Options, f func(was Remains, log raft.LogStore, snaps raft.SnapshotStore) error) error {
	return stopped(o, func(s *stoppedReplica) error {
		was, err := s.remains()
		if err != nil {
			return err
		}
		return f(was, s.log, s.snaps)
	})
}

// UnsafeRecover makes the replica in o.Dir, whose group is not open, the only voter, because the majority
// of the group is lost for good. Acknowledged entries that did not reach this replica are lost. The
// other replicas must not be started again with their data: a majority of them would continue the
// old group.
func UnsafeRecover(o Options) error {
	return stopped(o, func(s *stoppedReplica) error {
		if err := dropReplaced(s.log, s.snaps); err != nil {
			return err
		}
		was, err := s.remains()
		if err != nil {
			return err
		}
		if was.Members == nil {
			return fmt.Errorf("%s has no members: its directory holds no replica", o.Name)
		}
		return s.appoint()
	})
}

// stoppedReplica is a group's replica whose Raft does not run.
type stoppedReplica struct {
	o     Options
	log   logStore
	snaps raft.SnapshotStore
}

func stopped(o Options, f func(*stoppedReplica) error) error {
	o.setDefaults()
	if o.Dir == "" || o.Name == "" || o.ID == "" {
		return errors.New("raftgroup: Dir, Name and ID are required")
	}
	log, err := openLog(&o)
	if err != nil {
		return fmt.Errorf("raft group %s: open log: %w", o.Name, diskError(err))
	}
	s := &stoppedReplica{o: o, log: log, snaps: o.Snapshots}
	if s.snaps == nil {
		s.snaps, err = raft.NewFileSnapshotStoreWithLogger(o.Dir, 2, newLogger(o.Logger, o.Name))
	}
	if err == nil {
		err = f(s)
	}
	if err != nil {
		err = fmt.Errorf("raft group %s: %w", o.Name, err)
	}
	return errors.Join(err, log.Close())
}

// newest returns index and term of the last entry, or of the snapshot if the log is empty.
func (s *stoppedReplica) newest() (l raft.Log, err error) {
	last, err := s.log.LastIndex()
	if err != nil {
		return l, diskError(err)
	}
	if last > 0 {
		return l, diskError(s.log.GetLog(last, &l))
	}
	metas, err := s.snaps.List()
	if err == nil && len(metas) > 0 {
		l.Index, l.Term = metas[0].Index, metas[0].Term
	}
	return l, diskError(err)
}

func (s *stoppedReplica) remains() (Remains, error) {
	l, err := s.newest()
	if err != nil || l.Index == 0 {
		return Remains{}, err
	}
	_, trans := raft.NewInmemTransport(raft.ServerAddress(s.o.ID))
	conf := s.o.raftConfig(nil)
	conf.NoSnapshotRestoreOnStart = true
	now, err := raft.GetConfiguration(conf, noFSM{}, s.log, s.log, s.snaps, trans)
	return Remains{now.Servers, l.Index, l.AppendedAt}, err
}

// termGap is the distance of the new term from any that this replica knows: other replicas may have
// had later terms, and what they wrote in them must not be taken for what is written here.
const termGap = 1000

// termKey is the key of Raft's term.
var termKey = []byte("CurrentTerm")

// appoint appends a configuration with this server as the only voter.
func (s *stoppedReplica) appoint() error {
	l, err := s.newest()
	if err != nil {
		return err
	}
	term := l.Term
	if b, err := s.log.Get(termKey); err == nil && len(b) == 8 {
		term = max(term, binary.BigEndian.Uint64(b))
	}
	term += termGap
	if err := s.log.SetUint64(termKey, term); err != nil {
		return diskError(err)
	}
	sole := raft.Configuration{
		Servers: []raft.Server{{Suffrage: raft.Voter, ID: s.o.ID, Address: raft.ServerAddress(s.o.ID)}},
	}
	return diskError(s.log.StoreLog(&raft.Log{
		Index: l.Index + 1, Term: term, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(sole),
		AppendedAt: time.Now(),
	}))
}
