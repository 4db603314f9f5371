package engine

import (
	"reflect"
	"sync"
	"time"
	"unsafe" // for an option of Badger

	"github.com/dgraph-io/badger/v4"
)

// Each table of level 0 is one more place where a reader looks for each key, and Badger leaves up to
// LevelZeroTables of them: after a load, until something is written again. So an engine to which
// nothing has added a table for a while is quiet, and has few of them merged already. That rewrites
// the base level, so the larger it is, the longer nothing must have been added. One engine of a node
// at a time does that. It ends when the tables are merged, or when a table is added.
const (
	// quietTables is the number of tables of level 0 from which on a quiet engine merges them.
	quietTables = 3
	// quietFor is how long an engine has no new tables until it is quiet, and a second more for each
	// quietBytes that the merge may write.
	quietFor   = 5 * time.Second
	quietBytes = 16 << 20
)

// quiet is what an engine knows of that. The first fields are for watch alone.
type quiet struct {
	tables int       // of level 0, at the last look
	grown  time.Time // level 0 had more tables than before

	mu    sync.RWMutex // held to read what Badger says of its levels, and to change the option
	merge bool         // the option is set to merge now; guarded by mu

	flat sync.Mutex // held while compactions are stopped, by Flatten or here
}

// levels returns what Badger says of its levels.
func (e *Engine) levels() []badger.LevelInfo {
	e.quiet.mu.RLock()
	defer e.quiet.mu.RUnlock()
	return e.db.Levels()
}

// watchQuiet has level 0 merged while the engine is quiet. may reports whether merges may run. Called
// with merges.mu held.
func (e *Engine) watchQuiet(levels []badger.LevelInfo, need int64, may bool, now time.Time) {
	q := &e.quiet
	tables := 0
	if len(levels) > 0 {
		tables = levels[0].NumTables
	}
	grown := tables > q.tables
	if q.tables = tables; grown || q.grown.IsZero() {
		q.grown = now
	}
	wait := quietFor + time.Duration(need/quietBytes)*time.Second
	switch {
	case tables < quietTables || grown || !may:
		e.setQuiet(false)
	case now.Sub(q.grown) >= wait && !overfull(levels):
		e.setQuiet(true)
	}
}

// overfull reports whether the base level is overfull: then Badger merges level 0 into itself.
func overfull(levels []badger.LevelInfo) bool {
	for _, l := range levels {
		if l.IsBaseLevel {
			return l.Score >= 1
		}
	}
	return false
}

// setQuiet says whether level 0 is merged from few tables on. Called with merges.mu held.
func (e *Engine) setQuiet(merge bool) {
	q := &e.quiet
	if q.merge == merge || !q.flat.TryLock() {
		return
	}
	defer q.flat.Unlock()
	if merge && !e.o.Merges.calm(e) {
		return
	}
	// The goroutines that read the option are stopped meanwhile, and wait for a merge that runs.
	if !e.merges.held {
		stopCompactions(e.db)
	}
	q.mu.Lock()
	q.merge = merge
	option := levelZeroTables(e.db)
	if *option = LevelZeroTables; merge {
		*option = quietTables
	}
	q.mu.Unlock()
	if !e.merges.held {
		startCompactions(e.db)
	}
	if !merge {
		e.o.Merges.calmed(e)
	}
}

// levelZeroTables returns Badger's option NumLevelZeroTables.
func levelZeroTables(db *badger.DB) *int {
	options := reflect.ValueOf(db).Elem().FieldByName("opt")
	return (*int)(unsafe.Pointer(options.FieldByName("NumLevelZeroTables").UnsafeAddr()))
}

// calm reports whether e may merge because it is quiet. It calls calmed afterwards.
func (m *Merges) calm(e *Engine) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quiet == nil {
		m.quiet = e
	}
	return m.quiet == e
}

// calmed lets another engine merge that is quiet.
func (m *Merges) calmed(e *Engine) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quiet == e {
		m.quiet = nil
	}
}
