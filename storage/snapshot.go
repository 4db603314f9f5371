package storage

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	"github.com/sherddb/sherd/internal/pgerr"
)

// markerStore is the raft.SnapshotStore of a fragment (S3): a snapshot is a marker, index and configuration, and no copy of
// the data. One file holds the newest.
type markerStore struct {
	dir string
	r   *Replica
}

const markerFile = "marker.json"

// marker is the file's content.
type marker struct {
	Format int // 1
	Meta   raft.SnapshotMeta
}

func newMarkerStore(dir string, r *Replica) (*markerStore, error) {
	return &markerStore{dir, r}, os.MkdirAll(dir, 0o700)
}

// Create implements raft.SnapshotStore.
func (s *markerStore) Create(v raft.SnapshotVersion, index, term uint64, conf raft.Configuration, confIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	return &markerSink{s, raft.SnapshotMeta{
		Version: v, ID: "marker", Index: index, Term: term, Configuration: conf, ConfigurationIndex: confIndex,
	}}, nil
}

// List implements raft.SnapshotStore.
func (s *markerStore) List() ([]*raft.SnapshotMeta, error) {
	b, err := os.ReadFile(filepath.Join(s.dir, markerFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m marker
	if err := json.Unmarshal(b, &m); err != nil || m.Format != 1 {
		return nil, damaged("%s is malformed", markerFile)
	}
	return []*raft.SnapshotMeta{&m.Meta}, nil
}

// Open implements raft.SnapshotStore: it streams the live database to a follower.
func (s *markerStore) Open(string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	metas, err := s.List()
	if err != nil {
		return nil, nil, err
	}
	if len(metas) == 0 {
		return nil, nil, raft.ErrNothingNewToSnapshot
	}
	rd, err := s.r.stream()
	return metas[0], rd, err
}

type markerSink struct {
	s    *markerStore
	meta raft.SnapshotMeta
}

// Write implements io.Writer; a marker has no content.
func (k *markerSink) Write(p []byte) (int, error) { return len(p), nil }

// Close implements raft.SnapshotSink.
func (k *markerSink) Close() error {
	b, err := json.Marshal(marker{1, k.meta})
	if err != nil {
		return err
	}
	k.s.r.fault("snapshot.before")
	err = writeFile(filepath.Join(k.s.dir, markerFile), b)
	k.s.r.fault("snapshot.after")
	return err
}

// ID implements raft.SnapshotSink.
func (k *markerSink) ID() string { return k.meta.ID }

// Cancel implements raft.SnapshotSink.
func (k *markerSink) Cancel() error { return nil }

// Snapshot implements raft.FSM.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) { return emptySnapshot{}, nil }

// Restore implements raft.FSM: it replaces this replica's database by a stream from another.
func (m *machine) Restore(rc io.ReadCloser) error {
	defer rc.Close()
	return pgerr.Unsupported("a fragment with one replica restores no stream")
}

type emptySnapshot struct{}

// Persist implements raft.FSMSnapshot.
func (emptySnapshot) Persist(sink raft.SnapshotSink) error { return nil }

// Release implements raft.FSMSnapshot.
func (emptySnapshot) Release() {}

func (r *Replica) stream() (io.ReadCloser, error) {
	return nil, pgerr.Unsupported("a fragment with one replica streams to nobody")
}
