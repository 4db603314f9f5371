package engine

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// gate is what every batch passes before Badger gets anything of it.
//
// Badger writes memtables, tables and the values of large rows through memory maps: without room on
// the disk the process ends by SIGBUS, and again at each start. Badger's own gate, which stalls its
// writer while level 0 is full, is off: while merges are held it would never open, and Close and
// DropAll wait for the writer. So a batch waits here
//
//   - while level 0 has LevelZeroStall tables and merges are behind. If the disk has no room for
//     merges, waiting for them is of no use, and only the room counts.
//   - while the disk has less room than LastRoom. That is what flushes of all memtables may take
//     that are full already, and what the Raft log needs so that reads and changes of members go
//     on.
//   - while it has less than RowsRoom besides LastRoom, if the batch has rows that others may write
//     without end: a follower's leader may have room, and a large transaction or a stream may bring
//     any number. What is between the two is kept for entries by which room comes back: DROP, the
//     deletions behind a move, outcomes, the watermark. A leader refuses writes of clients before
//     (Engine.Room), so little is in its log in front of them.
//
// While the applying goroutine waits, readers see what is applied. When the replica closes, a batch
// that waits for room returns ErrHalted: nothing more is written, and the next start applies the
// log again.
//
// mu guards what the last look has found. Writers of batches take it for the time of a look, and so
// does watch.
type gate struct {
	e *Engine

	mu     sync.Mutex
	unseen int64 // bytes let through since the last look; guarded by mu
	free   int64 // of the disk, at the last look; guarded by mu
	tables int   // of level 0, at the last look; guarded by mu
	others int   // replicas of the node that share the disk, at the last look; guarded by mu
	short  int   // batches that wait for room; guarded by mu
}

const (
	// LastRoom is what must be free on the disk for any write.
	LastRoom = 64 << 20
	// RowsRoom must be free in addition for rows that others may write without end.
	RowsRoom = 64 << 20
	// StartRoom must be free for a start, which writes again what the deleted memtables had.
	StartRoom = 32 << 20

	// with less than this in addition to what is needed, the disk is checked before each batch
	tightRoom = 256 << 20
	keyBytes  = 128 // that a key takes in a memtable in addition to its own bytes

	pause = 5 * time.Millisecond
)

// await returns when Badger may get so many bytes of the batch: ErrHalted if that is not before the
// replica closes. At a start it does not wait for room, but fails.
func (g *gate) await(b *Batch, bytes int) error {
	if g.e.o.ReadOnly || b.Forced {
		return nil
	}
	var w roomWait
	defer func() { w.end(g) }()
	for {
		room, merged := g.look(b, int64(bytes))
		switch {
		case room && merged:
			return nil
		case !room && b.Starting:
			return fmt.Errorf("%w: %w", ErrHalted, g.errStart())
		case !room:
			w.goOn(g)
		}
		select {
		case <-time.After(pause):
		case <-b.Halt:
			return ErrHalted
		case <-g.e.o.Stop:
			if room { // Close flushes what Badger has, however many tables there are
				return nil
			}
			return ErrHalted
		}
	}
}

// roomWait is one batch's wait for room. It is logged if it lasts.
type roomWait struct {
	began time.Time
	noted bool
}

const notedWait = time.Second

func (w *roomWait) goOn(g *gate) {
	if w.began.IsZero() {
		w.began = time.Now()
		g.mu.Lock()
		g.short++
		g.mu.Unlock()
	}
	if !w.noted && time.Since(w.began) > notedWait {
		w.noted = true
		g.e.o.Logger.Warn("writes to the database wait for disk space", "fragment", g.e.o.Fragment)
	}
}

func (w *roomWait) end(g *gate) {
	if w.began.IsZero() {
		return
	}
	g.mu.Lock()
	g.short--
	g.mu.Unlock()
	if w.noted {
		g.e.o.Logger.Warn("writes to the database do not wait for disk space any more", "fragment", g.e.o.Fragment,
			"waited", time.Since(w.began))
	}
}

// MayWrite reports whether a batch need not wait now.
func (e *Engine) MayWrite(b *Batch) bool {
	if e.o.ReadOnly {
		return true
	}
	room, merged := e.gate.look(b, 0)
	return room && merged
}

// HasRoom reports whether the disk has room for deletions and records.
func (e *Engine) HasRoom() bool {
	room, _ := e.gate.look(&Batch{}, 0)
	return room
}

// look reports whether there is room for so many bytes of a batch, and whether merges have kept up.
// It counts the bytes if both are so. It looks at the disk and at level 0 once in half a memtable,
// and each time if the disk is nearly full.
func (g *gate) look(b *Batch, bytes int64) (room, merged bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unseen+bytes > g.e.o.MemTable/2 || g.unseen == 0 || g.short > 0 || g.free < g.least(b)+tightRoom {
		g.see()
	}
	room = g.free >= g.least(b)
	merged = g.tables < LevelZeroStall || g.e.merges.noRoom.Load()
	if room && merged {
		g.unseen += bytes
	}
	if !merged {
		g.unseen = 0 // look again
	}
	return room, merged
}

// roomToStart fails if the disk has too little room to open the database.
func (g *gate) roomToStart() error {
	if free, err := g.e.o.Free(g.e.o.Dir); err == nil && free < StartRoom {
		return g.errStart()
	}
	return nil
}

func (g *gate) errStart() error {
	return pgerr.New(pgerr.DiskFull, "could not open %s: no space left on device", g.e.o.Name()).
		WithDetail("Less than %d MB are free.", StartRoom>>20).
		WithHint("Free disk space, then start the server again.")
}

// saw is called with what watch has found free: the disk may fill up between two looks of a replica
// that writes little.
func (g *gate) saw(free int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free = free
}

// see looks at the disk and at level 0. Called with mu held.
func (g *gate) see() {
	free, err := g.e.o.Free(g.e.o.Dir)
	if err != nil {
		free = math.MaxInt64 / 2
	}
	g.free, g.unseen, g.others, g.tables = free, 0, g.e.o.Merges.engines(), g.e.levelZero()
}

// least returns what must be free for a batch. Called with mu held.
func (g *gate) least(b *Batch) int64 {
	if b.Starting {
		return StartRoom
	}
	least := max(LastRoom, LastRoom/2+int64(g.others)*g.e.o.MemTable)
	if b.rows && (b.Later || g.e.o.Follows()) {
		least += RowsRoom
	}
	return least
}
