package storage

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/txn"
)

// durable knows how far the log may be truncated (S2): only below a checkpoint known to be in
// tables, and below the entries whose content is only in the log. The bound is written to disk
// before the log is cut.
type durable struct {
	path string

	mu sync.Mutex
	// checkpoints not known to be in tables, and the last one that is; ascending; guarded by mu
	marks []mark
	cut   uint64 // the log was cut at most up to here; guarded by mu
}

// mark is one checkpoint: everything up to index was written to Badger before it, and what is open
// then needs the log from first on. While a restart begins with it, Badger may discard what is
// below watermark.
type mark struct {
	index, first     uint64
	stamp, watermark txn.Timestamp
}

// truncatedFile holds the index up to which the log may be gone: format(1) · index(8).
const truncatedFile = "TRUNCATED"

// openDurable checks that the checkpoint found in the tables reaches as far as the log was cut,
// unless a received stream will replace both.
func openDurable(dir string, s *state, streamed bool) (*durable, error) {
	d := &durable{path: filepath.Join(dir, truncatedFile)}
	b, err := os.ReadFile(d.path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if err == nil {
		if len(b) != 9 || b[0] != 1 {
			return nil, damaged("%s is malformed", truncatedFile)
		}
		d.cut = binary.BigEndian.Uint64(b[1:])
	}
	if s.index < d.cut && !streamed {
		return nil, damaged("the tables reach log entry %d, but the log was cut at %d", s.index, d.cut)
	}
	if s.index > 0 {
		d.note(s, s.remaining())
	}
	return d, nil
}

// cutAt returns the index up to which the log may be gone.
func (d *durable) cutAt() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cut
}

// note adds the mark of the checkpoint of s, whose record names the installs in again. A restart
// from it writes their rows once more, so deletions above them must be kept, wherever the watermark
// is.
func (d *durable) note(s *state, again []remaining) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := mark{index: s.index, first: s.firstIndex(again), stamp: s.stamp, watermark: s.watermark}
	if m.first == 0 {
		m.first = s.index + 1
	}
	for _, x := range again {
		m.watermark = min(m.watermark, x.version-1)
	}
	d.marks = append(d.marks, m)
}

// reset forgets the marks of a state that a stream has replaced.
func (d *durable) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks = nil
}

// inTables returns the newest checkpoint that is certainly in tables: one whose stamp is below a
// version found in a table. A key of a later entry was written after it, and memtables are flushed
// in order.
func (d *durable) inTables(maxVersion txn.Timestamp) (mark, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for n < len(d.marks) && d.marks[n].stamp < maxVersion {
		n++
	}
	if n == 0 {
		return mark{}, false
	}
	d.marks = d.marks[n-1:]
	return d.marks[0], true
}

// allow returns the largest index up to which the log may be cut, and writes it to disk.
func (d *durable) allow(m mark, fault func(string)) (uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	upTo := min(m.index, m.first-1)
	if upTo <= d.cut {
		return d.cut, nil
	}
	fault("truncate.before")
	b := binary.BigEndian.AppendUint64([]byte{1}, upTo)
	if err := writeFile(d.path, b); err != nil {
		return 0, err
	}
	d.cut = upTo
	fault("truncate.noted")
	return upTo, nil
}

// writeFile replaces path by content, durably.
func writeFile(path string, content []byte) error {
	tmp := path + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		err = dirsync.Sync(filepath.Dir(path))
	}
	return err
}

// guardedLog is the Raft log with truncation at its head held back (S2). Raft believes that the log
// is cut up to its snapshot; additional entries do no harm.
type guardedLog struct {
	raft.LogStore
	r *Replica
}

func (r *Replica) guardLog(l raft.LogStore) raft.LogStore { return &guardedLog{l, r} }

// IsMonotonic implements raft.MonotonicLogStore as the underlying log does.
func (g *guardedLog) IsMonotonic() bool {
	m, ok := g.LogStore.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}

// DeleteRange implements raft.LogStore.
func (g *guardedLog) DeleteRange(lo, hi uint64) error {
	first, err := g.FirstIndex()
	if err != nil {
		return err
	}
	if lo > first { // a follower drops a conflicting tail
		return g.LogStore.DeleteRange(lo, hi)
	}
	if g.r.machine.fresh.Load() { // a stream, which is on disk, has replaced what the log led to
		return g.LogStore.DeleteRange(lo, hi)
	}
	m, ok := g.r.kept.durable.inTables(g.r.db.InTables())
	if !ok {
		return nil
	}
	if err := g.r.snaps.settle(); err != nil {
		return err
	}
	upTo, err := g.r.kept.durable.allow(m, g.r.fault)
	if err != nil {
		return err
	}
	if g.r.kept.several.Load() {
		last, err := g.LastIndex()
		if err != nil {
			return err
		}
		upTo = min(upTo, g.r.kept.retained.bound(last, time.Now()))
	}
	if upTo < lo {
		return nil
	}
	err = g.LogStore.DeleteRange(lo, min(hi, upTo))
	g.r.fault("truncate.after")
	return err
}
