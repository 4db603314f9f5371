package install

import (
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/storage/engine"
)

// Pace is what the replicas of a node share. They install the rows of large transactions one at a
// time, because each install makes its database merge tables, and the memory of such merges adds
// up. They merge tables when the disk has room for it.
type Pace struct {
	turn   chan struct{} // has one token
	merges engine.Merges
	pieces pieceCache
	writes atomic.Int64 // small commits that were applied
}

// NewPace makes one for a node.
func NewPace() *Pace {
	p := &Pace{turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// Merges returns what the databases of the replicas share.
func (p *Pace) Merges() *engine.Merges { return &p.merges }

// CountCommit notes that a small commit was applied.
func (p *Pace) CountCommit() { p.writes.Add(1) }

// Commits returns how many were.
func (p *Pace) Commits() int64 { return p.writes.Load() }

// Cached returns how many bytes of pieces are in memory because single rows were read from them.
func (p *Pace) Cached() int { return p.pieces.size() }

// turnBytes is how much one replica installs before others may: enough for its database to merge
// level 0 once.
const turnBytes = 96 << 20

const (
	pause      = 5 * time.Millisecond
	longestNap = 10 * time.Second // however full level 0 is: a reader may wait for the rows

	wantedWorkers    = 2               // pieces that a replica installs at once for readers
	longestWantedNap = 2 * time.Second // for a wanted piece while level 0 is full
)

// An installer that has written a batch rests for yieldShare times as long if small transactions
// have committed meanwhile. Their writes wait behind its batches in Badger, and share the
// processors and the disk with it; single rows are read without it (Installer.Find).
const (
	yieldShare  = 2
	longestRest = 100 * time.Millisecond
)

// yieldFor returns how long an installer rests after writing a batch for so long. waiting is the
// number of large transactions to be installed: if another one waits for this one, the log grows.
func yieldFor(took time.Duration, committed bool, waiting int) time.Duration {
	if !committed || waiting > 1 {
		return 0
	}
	return min(took*yieldShare, longestRest)
}
