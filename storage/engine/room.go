package engine

import (
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Badger writes through memory maps, and a page that finds no room on the disk ends the process
// (gate). Long before, writes of clients are refused while less is left than MinFree and what
// merges may take (merges.go); what resolves transactions or cleans up goes on. Half of MinFree is
// kept for transactions that only delete: they take little, and are how room comes back.
const lookEvery = 500 * time.Millisecond

// roomState is the room left for clients' writes, as watch has seen it.
type roomState struct {
	left  atomic.Int32 // roomForAll and so on
	least atomic.Int64 // Options.MinFree
}

const (
	roomForAll int32 = iota
	roomForDeletes
	noRoom
)

// watch looks at the disk until the replica closes. It waits for no entry to be applied: if level 0
// is full and merges are held, entries are applied when watch has started merges again.
func (e *Engine) watch() {
	defer e.done.Done()
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-e.o.Stop:
			return
		case <-e.over:
			return
		case now := <-t.C:
			e.look(now)
		}
	}
}

// look looks at the room left.
func (e *Engine) look(now time.Time) {
	free, err := e.o.Free(e.o.Dir)
	if err != nil {
		return
	}
	e.gate.saw(free)
	e.watchMerges(free, now)
	left := roomForAll
	if least := e.room.least.Load(); free < least/2 || e.merges.levelFull.Load() {
		left = noRoom
	} else if free < least+e.merges.need.Load() {
		left = roomForDeletes
	}
	if e.room.left.Swap(left) != left {
		e.o.Logger.Warn("disk space", "fragment", e.o.Fragment, "free", free,
			"writes refused", left != roomForAll, "deletes refused", left == noRoom)
	}
}

// freeOf returns how many bytes are free on the disk of a directory.
func freeOf(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// Room refuses a client's write (53100) while the disk is full; deletes says that it only deletes.
func (e *Engine) Room(deletes bool) error {
	need := e.merges.need.Load()
	switch left := e.room.left.Load(); {
	case left == roomForAll, left == roomForDeletes && deletes:
		return nil
	case deletes:
		return pgerr.New(pgerr.DiskFull, "could not delete: no space left on device").
			WithDetail("Less than %d MB are free for %s.", max(e.o.MinFree/2, need+mergeFloor)>>20, e.o.Name()).
			WithHint("Free disk space, or use TRUNCATE or DROP TABLE; the server continues by itself.")
	}
	return pgerr.New(pgerr.DiskFull, "could not write: no space left on device").
		WithDetail("Less than %d MB are free for %s.", (e.o.MinFree+need)>>20, e.o.Name()).
		WithHint("Free disk space, or DELETE rows; the server continues by itself.")
}

// SetMinFree changes Options.MinFree.
func (e *Engine) SetMinFree(bytes int64) { e.room.least.Store(bytes) }

// Condition is what an engine knows of its disk and its tables.
type Condition struct {
	LevelZero  int  // tables of level 0
	Levels     int  // that have tables
	Seen       int  // the same, as batches know it
	MergesHeld bool // merges are stopped for want of room, or because it is another engine's turn
	NoMerges   bool // there is no room for any merge
	Waiting    int  // batches that wait for room

	Discards txn.Timestamp // versions below it may be discarded
}

// Condition returns the engine's condition.
func (e *Engine) Condition() (c Condition) {
	c.NoMerges = e.merges.noRoom.Load()
	for _, l := range e.levels() {
		if l.Level == 0 {
			c.LevelZero = l.NumTables
		}
		if l.NumTables > 0 {
			c.Levels++
		}
	}
	e.merges.mu.Lock()
	c.MergesHeld = e.merges.held
	e.merges.mu.Unlock()
	e.gate.mu.Lock()
	c.Seen, c.Waiting = e.gate.tables, e.gate.short
	e.gate.mu.Unlock()
	e.keep.mu.Lock()
	c.Discards = e.keep.told
	e.keep.mu.Unlock()
	return c
}
