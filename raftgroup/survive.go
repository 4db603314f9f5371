package raftgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// Remains is what a replica of a group that is not open has.
type Remains struct {
	Members []raft.Server
	Last    uint64    // index of its last entry
	At      time.Time // when its leader appended that; zero: not known
}

// Look tells what the replica in o.Dir has, without opening it.
func Look(o Options) (Remains, error) {
	var out Remains
	err := stopped(o, func(s *still) (err error) {
		out, err = s.remains()
		return err
	})
	return out, err
}

// ReadStopped gives f what the replica in o.Dir consists of, which is not open. Opening a log may cut off what was torn, and makes what is missing: where
// nothing may change, o.Dir is a copy.
func ReadStopped(o Options, f func(was Remains, log raft.LogStore, snaps raft.SnapshotStore) error) error {
	return stopped(o, func(s *still) error {
		was, err := s.remains()
		if err != nil {
			return err
		}
		return f(was, s.log, s.snaps)
	})
}

// Survive makes the replica in o.Dir, which is not open, the only one that decides: the majority of the group is lost for good. What was
// acknowledged and did not reach it is lost. The replicas that are not here must not be started again with what they have: a majority of them would
// go on as the group that was.
func Survive(o Options) error {
	return stopped(o, func(s *still) error {
		if err := dropReplaced(s.log, s.snaps); err != nil {
			return err
		}
		was, err := s.remains()
		if err != nil {
			return err
		}
		if was.Members == nil {
			return fmt.Errorf("%s has no members: nothing of the group is here", o.Name)
		}
		return s.appoint()
	})
}

// still is a group's replica whose Raft does not run.
type still struct {
	o     Options
	log   logStore
	snaps raft.SnapshotStore
}

func stopped(o Options, f func(*still) error) error {
	o.setDefaults()
	if o.Dir == "" || o.Name == "" || o.ID == "" {
		return errors.New("raftgroup: Dir, Name and ID are required")
	}
	log, err := openLog(&o)
	if err != nil {
		return fmt.Errorf("raft group %s: open log: %w", o.Name, diskError(err))
	}
	s := &still{o: o, log: log, snaps: o.Snapshots}
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

// newest gives index and term of the last entry, those of the snapshot where the log has none.
func (s *still) newest() (l raft.Log, err error) {
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

func (s *still) remains() (Remains, error) {
	l, err := s.newest()
	if err != nil || l.Index == 0 {
		return Remains{}, err
	}
	_, trans := raft.NewInmemTransport(raft.ServerAddress(s.o.ID))
	conf := s.o.raftConfig(nil)
	conf.NoSnapshotRestoreOnStart = true
	now, err := raft.GetConfiguration(conf, nothing{}, s.log, s.log, s.snaps, trans)
	return Remains{now.Servers, l.Index, l.AppendedAt}, err
}

// beyond is by how much the term of the new beginning is above any that this replica has heard of: others may have had later ones, and what they
// wrote in them must not be taken for what is written here.
const beyond = 1000

// termKey is where Raft keeps its term.
var termKey = []byte("CurrentTerm")

// appoint appends a configuration with this server alone.
func (s *still) appoint() error {
	l, err := s.newest()
	if err != nil {
		return err
	}
	term := l.Term
	if b, err := s.log.Get(termKey); err == nil && len(b) == 8 {
		term = max(term, binary.BigEndian.Uint64(b))
	}
	term += beyond
	if err := s.log.SetUint64(termKey, term); err != nil {
		return diskError(err)
	}
	alone := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: s.o.ID, Address: raft.ServerAddress(s.o.ID)}}}
	return diskError(s.log.StoreLog(&raft.Log{
		Index: l.Index + 1, Term: term, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(alone), AppendedAt: time.Now(),
	}))
}
