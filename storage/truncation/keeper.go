// Package truncation decides how far a replica's Raft log may be cut (S2). A restart needs the log
// from the newest checkpoint that is certainly in tables, and the entries whose content is only in
// the log. Other replicas need more: one that was away for a moment continues from the log, and one
// that was streamed the database needs what was logged meanwhile. Beyond that, a stream is cheaper.
//
// A Keeper knows indexes, stamps and byte counts. It reads no entry and no table: its caller notes
// each checkpoint, and says which versions are in tables.
package truncation

import (
	"io"
	"path/filepath"
	"sync/atomic"

	"github.com/sherddb/sherd/txn"
)

// GrowthBytes is the number of bytes of entries after which the log is cut, whatever their number:
// those of a bulk load have 4 MiB each.
const GrowthBytes = 64 << 20

// Config has what a Keeper uses.
type Config struct {
	Dir string // of the file that bounds the log
	// Newest returns a version that is in a table: all that was written before it is in tables.
	Newest func() txn.Timestamp
	// Replaced reports whether a stream, which is on disk, has replaced what the log led to.
	Replaced func() bool
	// Release deletes the stream that was received, because a checkpoint after it is in tables.
	Release func() error
	Fault   func(point string)
}

// Keeper keeps what is needed of one replica's log. All methods may be called concurrently.
type Keeper struct {
	cfg      Config
	bound    bound
	retained retention
	several  atomic.Bool
	logged   atomic.Int64
}

// New returns a Keeper that is to be opened.
func New(cfg Config) *Keeper {
	return &Keeper{cfg: cfg, bound: bound{path: filepath.Join(cfg.Dir, File)}}
}

// Open reads the bound. It checks that the checkpoint in the tables, of the entry applied, reaches
// as far as the log was cut, unless a received stream will replace both.
func (k *Keeper) Open(applied uint64, streamed bool) error { return k.bound.read(applied, streamed) }

// CutAt returns the index up to which the log may be gone.
func (k *Keeper) CutAt() uint64 { return k.bound.cutAt() }

// Note adds the mark of a checkpoint. A First of 0 stands for the entry after Index.
func (k *Keeper) Note(m Mark) { k.bound.note(m) }

// Reset forgets the marks of a state that a stream has replaced.
func (k *Keeper) Reset() { k.bound.reset() }

// Newest returns the mark of the newest checkpoint.
func (k *Keeper) Newest() (m Mark, ok bool) { return k.bound.newest() }

// InTables returns the newest checkpoint that is certainly in tables.
func (k *Keeper) InTables() (m Mark, ok bool) { return k.bound.inTables(k.cfg.Newest()) }

// SetSeveral says whether the group has several replicas, which may need more of the log.
func (k *Keeper) SetSeveral(several bool) { k.several.Store(several) }

// Several returns what SetSeveral was told last.
func (k *Keeper) Several() bool { return k.several.Load() }

// Logged adds the size of an entry that was applied.
func (k *Keeper) Logged(bytes int) { k.logged.Add(int64(bytes)) }

// Grown reports whether the log has grown by GrowthBytes since it last did, up to the index last.
func (k *Keeper) Grown(last func() uint64) bool {
	if k.logged.Load() < GrowthBytes {
		return false
	}
	k.logged.Store(0)
	k.retained.grown(last())
	return true
}

// Stream keeps the log behind an index while a follower reads rd, and for its way from there.
func (k *Keeper) Stream(index uint64, rd io.ReadCloser) io.ReadCloser {
	return k.retained.stream(index, rd)
}
