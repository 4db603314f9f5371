package storage

import (
	"sync"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/dgraph-io/badger/v4"
)

// A merge of Badger writes the new tables before it deletes the old ones, through memory maps: without room on the disk the process ends by SIGBUS, and does
// so again at each start, since the merge is the first thing that a start does. So merges need their room before they begin:
//
//	free ≥ what the merges of all replicas may take, and MinFree       all replicas merge
//	free ≥ what those of one replica may take, and mergeFloor          one replica at a time merges
//	less                                                               none does: reads go on, and deletes while level 0 has room
//
// All other writes to Badger need room too (writeStall).
//
// Clients' writes are refused before, so that the room is left for merges (watchDisk).
const (
	mergeFloor = 64 << 20         // for logs and memtables beside a merge
	mergeSlack = 32 << 20         // for a merge of a few tables of a lower level
	mergeTurn  = 10 * time.Second // after that another replica merges
	heldTables = 30               // of level 0: without merges no more is written, well before Badger holds up all writes
)

// Badger has these for its own purposes, and calls them around DropAll. Both may be called again in the same state, under a lock of ours.
//
//go:linkname stopCompactions github.com/dgraph-io/badger/v4.(*DB).stopCompactions
func stopCompactions(db *badger.DB)

//go:linkname startCompactions github.com/dgraph-io/badger/v4.(*DB).startCompactions
func startCompactions(db *badger.DB)

// merges says which replicas of a node may merge.
type merges struct {
	mu    sync.Mutex
	needs map[*Replica]int64 // guarded by mu
	turn  *Replica           // the one that merges while there is not room for all; guarded by mu
	since time.Time          // it has the turn; guarded by mu
	asked bool               // another wants it; guarded by mu
}

// room is what a replica says of itself and its disk.
type room struct {
	free, least int64 // of the disk; what must be free for clients' writes, without merges
	need        int64 // what its merges may take
	wants       bool  // there is something to merge
}

// may reports whether r may merge. One that has merged and may not any more calls done when it has stopped.
func (m *merges) may(r *Replica, at room, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.needs == nil {
		m.needs = map[*Replica]int64{}
	}
	m.needs[r] = at.need
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
	case m.turn == r:
		return at.wants && (!m.asked || now.Sub(m.since) < mergeTurn)
	case m.turn == nil && at.wants:
		m.turn, m.since, m.asked = r, now, false
		return true
	}
	m.asked = m.asked || at.wants
	return false
}

// done says that r does not merge.
func (m *merges) done(r *Replica) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.turn == r {
		m.turn = nil
	}
}

// forget is done of a replica that is closed.
func (m *merges) forget(r *Replica) {
	m.done(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.needs, r)
}

// replicas returns how many replicas of the node there are.
func (m *merges) replicas() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.needs)
}

// mergeNeed returns what merges of a database may write before they delete: level 0 and the base level whole.
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

// watchMerges stops merges for which there is no room, and starts them again. Called when the database is open, and by watchDisk.
func (r *Replica) watchMerges(free int64, now time.Time) {
	if r.cfg.stopped {
		return
	}
	levels := r.db.Levels()
	need, wants := mergeNeed(levels)
	r.mergeNeed.Store(need)
	may := r.cfg.Pace.merges.may(r, room{free: free, least: r.minFree.Load(), need: need, wants: wants}, now)
	r.mergeMu.Lock()
	defer r.mergeMu.Unlock()
	if !may {
		stopCompactions(r.db) // each time: DropAll starts them
		r.cfg.Pace.merges.done(r)
	} else if r.mergesHeld {
		startCompactions(r.db)
	}
	if r.mergesHeld == may && (wants || may) {
		r.cfg.Logger.Debug("merges", "fragment", r.cfg.Fragment, "held", !may, "free", free, "need", need)
	}
	r.mergesHeld = !may
	r.stall.noMerges.Store(!may && free < need+mergeFloor)
	r.levelFull.Store(!may && len(levels) > 0 && levels[0].NumTables >= heldTables)
}

// dropAll empties the database.
func (r *Replica) dropAll() error {
	r.mergeMu.Lock()
	defer r.mergeMu.Unlock()
	r.mergesHeld = false
	return r.db.DropAll()
}
