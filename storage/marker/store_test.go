package marker

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s := New(Config{
		Dir: dir, Fault: func(string) {},
		Stream: func(uint64) (io.ReadCloser, int64, error) {
			return io.NopCloser(strings.NewReader("live")), 4, nil
		},
	})
	if err := s.Init(); err != nil {
		t.Fatal(err)
	}
	return s
}

// save writes a marker, with a stream unless that is empty.
func save(s *Store, index uint64, stream string) error {
	sink, err := s.Create(1, index, 1, raft.Configuration{}, 1, nil)
	if err == nil && stream != "" {
		_, err = io.WriteString(sink, stream)
	}
	return errors.Join(err, sink.Close())
}

// read returns the index of the newest marker and what a follower would get.
func read(t *testing.T, s *Store) (uint64, string) {
	t.Helper()
	meta, rd, err := s.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	b, err := io.ReadAll(rd)
	if err != nil || meta.Size != int64(len(b)) {
		t.Fatal(meta.Size, len(b), err)
	}
	return meta.Index, string(b)
}

// TestStore: the newest marker counts, and a follower gets the live database unless a stream was
// received that is not released.
func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "snapshots")
	s := open(t, dir)
	if _, _, err := s.Open(""); !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		t.Fatal(err)
	}
	if err := save(s, 5, ""); err != nil {
		t.Fatal(err)
	}
	if index, what := read(t, s); index != 5 || what != "live" {
		t.Error(index, what)
	}
	if err := save(s, 9, "received"); err != nil {
		t.Fatal(err)
	}
	// a marker that was begun before the stream came
	if err := save(s, 7, ""); !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		t.Error(err)
	}
	s = open(t, dir)
	if index, what := read(t, s); index != 9 || what != "received" || !s.Received() {
		t.Error(index, what)
	}
	if err := s.Release(); err != nil || s.Received() {
		t.Error(err)
	}
	if index, what := read(t, s); index != 9 || what != "live" {
		t.Error(index, what)
	}
}

// TestUnacknowledged: a stream without its marker was not acknowledged, and is removed.
func TestUnacknowledged(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, StreamFile), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := open(t, dir); s.Received() {
		t.Error("the stream is there")
	}
	s := open(t, dir)
	sink, err := s.Create(1, 3, 1, raft.Configuration{}, 1, nil)
	if err == nil {
		_, err = io.WriteString(sink, "half")
	}
	if err := errors.Join(err, sink.Cancel()); err != nil || s.Received() {
		t.Error(err)
	}
}
