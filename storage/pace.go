package storage

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sherddb/sherd/internal/pgerr"
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
	if r.stall.noMerges.Load() {
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

// Badger writes memtables, tables and the values of large rows through memory maps: without room on the disk the process
// ends by SIGBUS, and again at each start. Badger's own gate, which stalls its writer while level 0 is full, is off: while
// merges are held it would never open, and Close and DropAll wait for the writer. So every batch passes writeStall first.
// It waits
//
//   - while level 0 has levelZeroStall tables and merges are behind. If the disk has no room for merges, waiting for them
//     is of no use, and only the room counts.
//   - while the disk has less room than lastRoom. That is what flushes of all memtables may take that are full already,
//     and what the Raft log needs so that reads and changes of members go on.
//   - while it has less than rowsRoom beside lastRoom, if the batch has rows that others may write without end: a
//     follower's leader may have room, and a large transaction or a stream may bring any number. What is between the two
//     is kept for entries by which room comes back: DROP, the deletions behind a move, outcomes, the watermark. A leader
//     refuses writes of clients before (Replica.room), so little is in its log in front of them.
//
// While the applying goroutine waits, readers see what is applied. When the replica closes, a batch that waits for room
// returns errHalted: nothing more is written, and the next start applies the log again.
type writeStall struct {
	r        *Replica
	noMerges atomic.Bool // merges are held, and it is not another replica's turn: the disk has no room for one

	mu     sync.Mutex
	unseen int64 // bytes let through since the last look; guarded by mu
	free   int64 // of the disk, at the last look; guarded by mu
	tables int   // of level 0, at the last look; guarded by mu
	others int   // replicas of the node that share the disk, at the last look; guarded by mu
	short  int   // batches that wait for room; guarded by mu
}

const (
	lastRoom  = 64 << 20
	rowsRoom  = 64 << 20
	startRoom = 32 << 20  // for a start, which writes again what the memtables had that it has deleted
	tightRoom = 256 << 20 // with less beside what is needed the disk is looked at before each batch
	keyBytes  = 128       // that a key takes of a memtable besides itself
)

// newBatch returns an empty batch of r.
func newBatch(r *Replica) kvBatch { return kvBatch{db: r.db, stall: &r.stall} }

// await returns when Badger may get so many bytes of the batch: errHalted if that is not before the replica closes. At a
// start it does not wait for room, but fails.
func (s *writeStall) await(b *kvBatch, bytes int) error {
	if s == nil || s.r.cfg.stopped {
		return nil
	}
	var w roomWait
	defer func() { w.end(s) }()
	for {
		room, merged := s.look(b, int64(bytes))
		switch {
		case room && merged:
			return nil
		case !room && b.starting:
			return fmt.Errorf("%w: %w", errHalted, s.errStart())
		case !room:
			w.goOn(s)
		}
		select {
		case <-time.After(pause):
		case <-b.halt:
			return errHalted
		case <-s.r.stop:
			if room { // Close flushes what Badger has, however many tables there are
				return nil
			}
			return errHalted
		}
	}
}

// roomWait is one batch's wait for room. It is logged if it lasts.
type roomWait struct {
	began time.Time
	noted bool
}

const notedWait = time.Second

func (w *roomWait) goOn(s *writeStall) {
	if w.began.IsZero() {
		w.began = time.Now()
		s.mu.Lock()
		s.short++
		s.mu.Unlock()
	}
	if !w.noted && time.Since(w.began) > notedWait {
		w.noted = true
		s.r.cfg.Logger.Warn("writes to the database wait for disk space", "fragment", s.r.cfg.Fragment)
	}
}

func (w *roomWait) end(s *writeStall) {
	if w.began.IsZero() {
		return
	}
	s.mu.Lock()
	s.short--
	s.mu.Unlock()
	if w.noted {
		s.r.cfg.Logger.Warn("writes to the database do not wait for disk space any more", "fragment", s.r.cfg.Fragment,
			"waited", time.Since(w.began))
	}
}

// open reports whether a batch need not wait now.
func (s *writeStall) open(b *kvBatch) bool {
	if s.r.cfg.stopped {
		return true
	}
	room, merged := s.look(b, 0)
	return room && merged
}

// look reports whether there is room for so many bytes of a batch, and whether merges have kept up. It counts the bytes if
// both are so. It looks at the disk and at level 0 once in half a memtable, and each time if the disk is nearly full.
func (s *writeStall) look(b *kvBatch, bytes int64) (room, merged bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unseen+bytes > s.r.cfg.MemTable/2 || s.unseen == 0 || s.short > 0 || s.free < s.least(b)+tightRoom {
		s.see()
	}
	room = s.free >= s.least(b)
	merged = s.tables < levelZeroStall || s.noMerges.Load()
	if room && merged {
		s.unseen += bytes
	}
	if !merged {
		s.unseen = 0 // look again
	}
	return room, merged
}

// roomToStart fails if the disk has too little room to open the database.
func (s *writeStall) roomToStart() error {
	if free, err := s.r.cfg.free(s.r.cfg.Dir); !s.r.cfg.stopped && err == nil && free < startRoom {
		return s.errStart()
	}
	return nil
}

func (s *writeStall) errStart() error {
	return pgerr.New(pgerr.DiskFull, "could not open %s: no space left on device", s.r.cfg.Name()).
		WithDetail("Less than %d MB are free.", startRoom>>20).
		WithHint("Free disk space, then start the server again.")
}

// saw is called with what watch has found free: the disk may fill up between two looks of a replica that writes little.
func (s *writeStall) saw(free int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = free
}

// see looks at the disk and at level 0. Called with mu held.
func (s *writeStall) see() {
	free, err := s.r.cfg.free(s.r.cfg.Dir)
	if err != nil {
		free = math.MaxInt64 / 2
	}
	s.free, s.unseen, s.others, s.tables = free, 0, s.r.cfg.Pace.merges.replicas(), 0
	if levels := s.r.db.Levels(); len(levels) > 0 {
		s.tables = levels[0].NumTables
	}
}

// least returns what must be free for a batch. Called with mu held.
func (s *writeStall) least(b *kvBatch) int64 {
	if b.starting {
		return startRoom
	}
	least := max(lastRoom, lastRoom/2+int64(s.others)*s.r.cfg.MemTable)
	if b.rows && (b.later || s.r.term.Load() == 0 && s.r.several.Load()) {
		least += rowsRoom
	}
	return least
}
