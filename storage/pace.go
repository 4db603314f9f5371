package storage

import (
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Pace is what the replicas of a node share: they install the rows of large transactions one at a time, because each makes its database merge
// tables, and what those merges hold in memory adds up. They merge tables when the disk has room for that.
type Pace struct {
	turn   chan struct{} // has one token
	merges merges
	pieces pieceCache
	writes atomic.Int64 // small commits that were applied
}

// NewPace makes one for a node.
func NewPace() *Pace {
	p := &Pace{turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// turnBytes is how much one installs before others may: enough for its database to merge level 0 once.
const turnBytes = 96 << 20

// An installation waits while its database has not merged what it wrote before. Badger takes tables of level 0 to the base level from
// levelZeroTables on. Where the base level is overfull, it merges level 0 into itself instead, in a buffer of 256 MiB, and where level 0 is full
// all writes are held up. So rows that can wait leave level 0 at levelZeroCalm while the base level is overfull, and below levelZeroBusy, with
// room for others, in any case.
//
// Each merge of level 0 rewrites what it overlaps of the base level, which with keys at random is all of it: the more tables go at once, the less
// often. Twenty in place of twelve took a fifth off the processor time of a transaction of two updates; with larger memtables instead the buffers in
// which Badger builds tables, of which it keeps two dozen, grow as well.
//
// A table of level 0 that lies apart from others is taken to the base level alone; while that goes on, Badger merges the others into themselves
// too, if they have been there for ten seconds. So what is installed at once is given both edges of the keys, as tables have that small
// transactions write: all of them overlap, and go to the base level together.
const (
	levelZeroTables = 20
	levelZeroStall  = 40
	levelZeroCalm   = 10
	levelZeroBusy   = levelZeroTables + 1

	pause      = 5 * time.Millisecond
	longestNap = 10 * time.Second // whatever level 0 is like: somebody waits for the rows
)

// crowded reports whether an installation should wait for merges; wanted says that a reader waits for the rows. While the disk has no room for any merge there
// is nothing to wait for: each wait would last as long as it may, at a start too, which installs again what was not installed.
func (r *Replica) crowded(wanted bool) bool {
	if r.noMerges.Load() {
		return false
	}
	levels := r.db.Levels()
	if wanted {
		return len(levels) > 0 && levels[0].NumTables >= wantedLevelZero
	}
	return crowded(levels)
}

// An installer that has written a batch rests for yieldShare times as long if small transactions have committed meanwhile. Their writes wait behind its batches in Badger,
// and they share the processors and the disk with it, while single rows are read without it (install_rows.go).
const (
	yieldShare  = 2
	longestRest = 100 * time.Millisecond
)

// yieldFor returns how long an installer rests that has written a batch for so long. waiting are the large transactions that are to be installed: where another one waits for
// this one, the log grows.
func yieldFor(took time.Duration, committed bool, waiting int) time.Duration {
	if !committed || waiting > 1 {
		return 0
	}
	return min(took*yieldShare, longestRest)
}

// crowded tells whether a database should be left in peace.
func crowded(levels []badger.LevelInfo) bool {
	if len(levels) == 0 || levels[0].NumTables < levelZeroCalm {
		return false
	}
	if levels[0].NumTables >= levelZeroBusy {
		return true
	}
	for _, l := range levels {
		if l.IsBaseLevel {
			return l.Score >= 1
		}
	}
	return false
}
