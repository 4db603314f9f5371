// Package marker is the raft.SnapshotStore of a fragment (S3): a snapshot is a marker with an index
// and a configuration, and no copy of the data. What a follower needs is streamed from the live
// database, and stays in a file at the follower until what it brought is in tables.
package marker

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/internal/pgerr"
)

// Config has what a Store uses.
type Config struct {
	Dir string
	// Stream returns the live database, for a follower that is to go on from the marker's index,
	// and its size.
	Stream func(index uint64) (rd io.ReadCloser, size int64, err error)
	Fault  func(point string)
}

// Store keeps the newest marker, and the stream that was received, in one file each.
type Store struct {
	cfg Config
	mu  sync.Mutex // held while the marker is written
}

const markerFile = "marker.json"

// marker is the file's content.
type marker struct {
	Format int // 1
	Meta   raft.SnapshotMeta
}

// New returns the store of a directory. It changes nothing on the disk before Init.
func New(cfg Config) *Store { return &Store{cfg: cfg} }

// Init makes the directory if there is none, and removes what a process left that was killed.
func (s *Store) Init() error {
	if err := dirsync.Make(s.cfg.Dir); err != nil {
		return err
	}
	metas, err := s.List()
	if err == nil && len(metas) == 0 {
		// no marker: a process that was killed before it wrote one has not acknowledged the stream
		err = s.Release()
	}
	return err
}

// Create implements raft.SnapshotStore.
func (s *Store) Create(
	v raft.SnapshotVersion, index, term uint64, conf raft.Configuration, confIndex uint64, _ raft.Transport,
) (raft.SnapshotSink, error) {
	return &sink{s: s, meta: raft.SnapshotMeta{
		Version: v, ID: "marker", Index: index, Term: term, Configuration: conf, ConfigurationIndex: confIndex,
	}}, nil
}

// List implements raft.SnapshotStore.
func (s *Store) List() ([]*raft.SnapshotMeta, error) {
	b, err := os.ReadFile(filepath.Join(s.cfg.Dir, markerFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m marker
	if err := json.Unmarshal(b, &m); err != nil || m.Format != 1 {
		return nil, pgerr.New(pgerr.DataCorrupted, "the fragment's data is damaged: %s is malformed", markerFile)
	}
	return []*raft.SnapshotMeta{&m.Meta}, nil
}

// Open implements raft.SnapshotStore. It returns the stream that was received and not yet released,
// or otherwise, for a follower, one of the live database.
func (s *Store) Open(string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	metas, err := s.List()
	if err != nil {
		return nil, nil, err
	}
	if len(metas) == 0 {
		return nil, nil, raft.ErrNothingNewToSnapshot
	}
	f, err := os.Open(filepath.Join(s.cfg.Dir, StreamFile))
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
	rd, size, err := s.cfg.Stream(metas[0].Index)
	if err != nil {
		return nil, nil, err
	}
	metas[0].Size = size
	return metas[0], rd, nil
}

// StreamFile is a stream received from the leader. It stays until what it brought is in tables.
const StreamFile = "incoming"

// Release deletes the received stream. Called when a checkpoint after it is in tables.
func (s *Store) Release() error {
	err := os.Remove(filepath.Join(s.cfg.Dir, StreamFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return dirsync.Sync(s.cfg.Dir)
}

// Received reports whether a stream was received and not released.
func (s *Store) Received() bool {
	_, err := os.Stat(filepath.Join(s.cfg.Dir, StreamFile))
	return err == nil
}

// sink takes a marker, into which nothing is written, or a stream from the leader.
type sink struct {
	s    *Store
	meta raft.SnapshotMeta
	f    *os.File // of a stream
}

// Write implements io.Writer.
func (k *sink) Write(p []byte) (int, error) {
	if k.f == nil {
		f, err := os.Create(filepath.Join(k.s.cfg.Dir, StreamFile+".tmp"))
		if err != nil {
			return 0, err
		}
		k.f = f
	}
	return k.f.Write(p)
}

// Close implements raft.SnapshotSink. It refuses a marker that was made while a stream came, for an
// entry before the stream's.
func (k *sink) Close() error {
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
			err = os.Rename(k.f.Name(), filepath.Join(k.s.cfg.Dir, StreamFile))
		}
		if err != nil {
			return err
		}
	}
	b, err := json.Marshal(marker{1, k.meta})
	if err != nil {
		return err
	}
	k.s.cfg.Fault("snapshot.before")
	err = dirsync.WriteFile(filepath.Join(k.s.cfg.Dir, markerFile), b)
	k.s.cfg.Fault("snapshot.after")
	return err
}

// ID implements raft.SnapshotSink.
func (k *sink) ID() string { return k.meta.ID }

// Cancel implements raft.SnapshotSink.
func (k *sink) Cancel() error {
	if k.f == nil {
		return nil
	}
	return errors.Join(k.f.Close(), os.Remove(k.f.Name()))
}
