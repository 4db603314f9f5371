package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// A merge of Badger writes the new tables before it deletes the old ones, through memory maps:
// without room on the disk the process ends by SIGBUS, and does so again at each start, because the
// merge is the first thing that a start does. So merges need their room before they begin:
//
//	free ≥ what the merges of all replicas may take, and MinFree     all replicas merge
//	free ≥ what those of one replica may take, and mergeFloor        one replica at a time merges
//	less                                                             none merges: reads go on,
//	                                                                 and deletes if level 0 has room
//
// All other writes to Badger need room too (gate). Writes of clients are refused before, so that
// the room is left for merges (Engine.Room).
const (
	// HeldTables is how many tables of level 0 there may be while merges are held, until nothing
	// more is written for clients, well before Badger holds up all writes.
	HeldTables = 30

	mergeFloor = 64 << 20         // for logs and memtables besides a merge
	mergeSlack = 32 << 20         // for a merge of a few tables of a lower level
	mergeTurn  = 10 * time.Second // after that another replica merges
)

// Merges says which engines of a node may merge tables. Its zero value is ready. mu is taken by
// each engine's watch, twice a second, and by its gate.
type Merges struct {
	mu    sync.Mutex
	needs map[*Engine]int64 // what each may take for its merges; guarded by mu
	turn  *Engine           // the one that merges while there is not room for all; guarded by mu
	since time.Time         // it has the turn; guarded by mu
	asked bool              // another wants it; guarded by mu
	quiet *Engine           // the one that merges because it is quiet; guarded by mu
}

// space is what an engine says of itself and its disk.
type space struct {
	free, least int64 // of the disk; what must be free for clients' writes, without merges
	need        int64 // what its merges may take
	wants       bool  // there is something to merge
}

// may reports whether e may merge. One that has merged and may not any more calls done when it has
// stopped.
func (m *Merges) may(e *Engine, at space, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.needs == nil {
		m.needs = map[*Engine]int64{}
	}
	m.needs[e] = at.need
	all := max(at.least, mergeFloor)
	for _, n := range m.needs {
		all += n
	}
	if at.free >= all {
		return true
	}
	if at.free < at.need+mergeFloor {
		return false
	}
	switch {
	case m.turn == e:
		return at.wants && (!m.asked || now.Sub(m.since) < mergeTurn)
	case m.turn == nil && at.wants:
		m.turn, m.since, m.asked = e, now, false
		return true
	}
	m.asked = m.asked || at.wants
	return false
}

// done says that e does not merge.
func (m *Merges) done(e *Engine) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.turn == e {
		m.turn = nil
	}
}

// forget is done of an engine that is closed.
func (m *Merges) forget(e *Engine) {
	m.done(e)
	m.calmed(e)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.needs, e)
}

// engines returns how many engines of the node there are.
func (m *Merges) engines() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.needs)
}

// mergeState is what an engine does of that. mu is held while merges are stopped or started, by
// watch and by Clear.
type mergeState struct {
	mu   sync.Mutex
	held bool // guarded by mu

	need atomic.Int64 // bytes that merges may take temporarily
	// merges are held, and it is not another engine's turn: the disk has no room for one
	noRoom    atomic.Bool
	levelFull atomic.Bool // merges are held, and level 0 has grown
}

// mergeNeed returns what merges of a database may write before they delete: level 0 and the base
// level whole.
func mergeNeed(levels []badger.LevelInfo) (need int64, wants bool) {
	for _, l := range levels {
		if l.Level == 0 || l.IsBaseLevel {
			need += l.Size
		}
		wants = wants || l.Score >= 1
	}
	if need > 0 {
		need += mergeSlack
	}
	return need, wants
}

// watchMerges stops merges for which there is no room, and starts them again.
func (e *Engine) watchMerges(free int64, now time.Time) {
	m := &e.merges
	levels := e.levels()
	need, wants := mergeNeed(levels)
	m.need.Store(need)
	may := e.o.Merges.may(e, space{free: free, least: e.room.least.Load(), need: need, wants: wants}, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !may {
		stopCompactions(e.db) // each time: DropAll starts them
		e.o.Merges.done(e)
	} else if m.held {
		startCompactions(e.db)
	}
	if m.held == may && (wants || may) {
		e.o.Logger.Debug("merges", "fragment", e.o.Fragment, "held", !may, "free", free, "need", need)
	}
	m.held = !may
	e.watchQuiet(levels, need, may, now)
	m.noRoom.Store(!may && free < need+mergeFloor)
	m.levelFull.Store(!may && len(levels) > 0 && levels[0].NumTables >= HeldTables)
}

// levelZero returns the number of tables of level 0.
func (e *Engine) levelZero() int {
	if levels := e.levels(); len(levels) > 0 {
		return levels[0].NumTables
	}
	return 0
}

// A writer of rows that can wait leaves level 0 room. Badger takes tables of level 0 to the base
// level from LevelZeroTables on. If the base level is overfull, it merges level 0 into itself
// instead, in a buffer of 256 MiB, and if level 0 is full all writes are held up. So rows that can
// wait leave level 0 at levelZeroCalm while the base level is overfull, and below levelZeroBusy,
// with room for others, in any case.
//
// Each merge of level 0 rewrites what it overlaps of the base level, which with keys at random is
// all of it: the more tables go at once, the less often. Twenty instead of twelve took a fifth off
// the processor time of a transaction of two updates; with larger memtables instead the buffers in
// which Badger builds tables grow as well, and it keeps two dozen of them.
const (
	// LevelZeroTables is the number of tables of level 0 from which on Badger merges them.
	LevelZeroTables = 20
	// LevelZeroStall is the number of tables of level 0 from which on batches wait for merges.
	LevelZeroStall = 40

	levelZeroCalm   = 10
	levelZeroBusy   = LevelZeroTables + 1
	levelZeroUrgent = 30
)

// Crowded reports whether a writer of rows that can wait should wait for merges; urgent says that a
// reader waits for the rows. While the disk has no room for any merge there is nothing to wait for:
// each wait would last as long as it may, at a start too, which installs again what was not
// installed.
func (e *Engine) Crowded(urgent bool) bool {
	if e.o.ReadOnly || e.merges.noRoom.Load() { // nothing is merged
		return false
	}
	if urgent {
		return e.levelZero() >= levelZeroUrgent
	}
	return crowded(e.levels())
}

func crowded(levels []badger.LevelInfo) bool {
	if len(levels) == 0 || levels[0].NumTables < levelZeroCalm {
		return false
	}
	if levels[0].NumTables >= levelZeroBusy {
		return true
	}
	return overfull(levels)
}

// Widen adds versions at both edges of the keys to a batch of rows that can wait.
//
// A table of level 0 that lies apart from others is taken to the base level alone. While that goes
// on, Badger merges the others into themselves too, if they have been there for ten seconds. With
// both edges, as tables have that small transactions write, all tables overlap and go to the base
// level together.
func (b *Batch) Widen(at txn.Timestamp) error {
	if err := b.Remove(keyspace.LowEdge, at); err != nil {
		return err
	}
	return b.Remove(keyspace.HighEdge, at)
}
