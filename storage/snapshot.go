package storage

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/storage/engine"
)

// markerStore is the raft.SnapshotStore of a fragment (S3). A snapshot is a marker with an index
// and a configuration, and no copy of the data. One file holds the newest.
type markerStore struct {
	dir string
	r   *Replica
	mu  sync.Mutex // held while the file is written
}

const markerFile = "marker.json"

// marker is the file's content.
type marker struct {
	Format int // 1
	Meta   raft.SnapshotMeta
}

func newMarkerStore(dir string, r *Replica) (*markerStore, error) {
	s := &markerStore{dir: dir, r: r}
	if err := dirsync.Make(dir); err != nil {
		return nil, err
	}
	metas, err := s.List()
	if err == nil && len(metas) == 0 {
		// no marker: a process that was killed before it wrote one has not acknowledged the stream
		err = s.settle()
	}
	return s, err
}

// Create implements raft.SnapshotStore.
func (s *markerStore) Create(
	v raft.SnapshotVersion, index, term uint64, conf raft.Configuration, confIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	return &markerSink{s: s, meta: raft.SnapshotMeta{
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

// Open implements raft.SnapshotStore. It returns the stream that was received and not yet settled,
// or otherwise, for a follower, one of the live database.
func (s *markerStore) Open(string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	metas, err := s.List()
	if err != nil {
		return nil, nil, err
	}
	if len(metas) == 0 {
		return nil, nil, raft.ErrNothingNewToSnapshot
	}
	f, err := os.Open(filepath.Join(s.dir, incomingFile))
	if err == nil {
		st, err := f.Stat()
		if err == nil {
			metas[0].Size = st.Size()
		}
		return metas[0], f, err
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	rd, size, err := s.r.stream()
	if err != nil {
		return nil, nil, err
	}
	metas[0].Size = size
	return metas[0], s.r.kept.retained.stream(metas[0].Index, rd), nil
}

// incomingFile is a stream received from the leader. It stays until what it brought is in tables.
const incomingFile = "incoming"

// settle deletes the received stream. Called when a checkpoint after it is in tables.
func (s *markerStore) settle() error {
	err := os.Remove(filepath.Join(s.dir, incomingFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return dirsync.Sync(s.dir)
}

func (s *markerStore) received() bool {
	_, err := os.Stat(filepath.Join(s.dir, incomingFile))
	return err == nil
}

// markerSink takes a marker, into which nothing is written, or a stream from the leader.
type markerSink struct {
	s    *markerStore
	meta raft.SnapshotMeta
	f    *os.File // of a stream
}

// Write implements io.Writer.
func (k *markerSink) Write(p []byte) (int, error) {
	if k.f == nil {
		f, err := os.Create(filepath.Join(k.s.dir, incomingFile+".tmp"))
		if err != nil {
			return 0, err
		}
		k.f = f
	}
	return k.f.Write(p)
}

// Close implements raft.SnapshotSink. It refuses a marker that was made while a stream came, for an
// entry before the stream's.
func (k *markerSink) Close() error {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if metas, err := k.s.List(); err != nil {
		return err
	} else if k.f == nil && len(metas) > 0 && metas[0].Index > k.meta.Index {
		return raft.ErrNothingNewToSnapshot
	}
	if k.f != nil {
		err := errors.Join(k.f.Sync(), k.f.Close())
		if err == nil {
			err = os.Rename(k.f.Name(), filepath.Join(k.s.dir, incomingFile))
		}
		if err != nil {
			return err
		}
	}
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
func (k *markerSink) Cancel() error {
	if k.f == nil {
		return nil
	}
	return errors.Join(k.f.Close(), os.Remove(k.f.Name()))
}

// Snapshot implements raft.FSM.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) { return emptySnapshot{}, nil }

// Restore implements raft.FSM: it replaces this replica's database by a stream from the leader.
func (m *machine) Restore(rc io.ReadCloser) error {
	metas, err := m.r.snaps.List() // the newest came with the stream
	if err == nil && len(metas) == 0 {
		err = damaged("there is no %s of a stream", markerFile)
	}
	if err != nil {
		return errors.Join(err, rc.Close())
	}
	return m.restoreAt(rc, metas[0].Index)
}

// restoreAt replaces the database by a stream that came with the marker of an index.
func (m *machine) restoreAt(rc io.ReadCloser, covered uint64) error {
	defer rc.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.r.db.BeginReplacing()
	m.r.db.Discard(0)
	m.fresh.Store(true)
	err := m.restore(rc, covered)
	switch {
	case err == nil:
		m.r.db.Replaced()
	case errors.Is(err, engine.ErrHalted) && m.r.stopper.IsStopped():
		m.halted = err // the next start begins with the stream that was received
	}
	return err
}

type emptySnapshot struct{}

// Persist implements raft.FSMSnapshot.
func (emptySnapshot) Persist(sink raft.SnapshotSink) error { return nil }

// Release implements raft.FSMSnapshot.
func (emptySnapshot) Release() {}
