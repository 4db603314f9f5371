package engine

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/rowcache"
	"github.com/sherddb/sherd/txn"
)

// Options are what an Engine is opened with. Dir, Logger, Merges and Stop are required.
type Options struct {
	Dir      string // of the replica; the database is in the folder data
	Fragment txn.FragmentID
	Logger   *slog.Logger
	Merges   *Merges         // shared by the engines of a node
	Rows     *rowcache.Cache // shared by them too; nil: none
	Stop     <-chan struct{} // closed when the replica closes: no batch waits any more

	MemTable   int64 // bytes of a memtable, two are kept
	IndexCache int64 // bytes for table indexes; 0 keeps them all in memory
	// bytes that must be free on the disk for clients to write, besides what merges may take
	MinFree int64

	// ReadOnly: the tables belong to another directory. None is merged, no room is waited for, and
	// the directory is not locked.
	ReadOnly bool

	Name    func() string                   // the fragment and this replica, in messages for people
	Free    func(dir string) (int64, error) // bytes on the disk; nil: as the system says
	Fault   func(point string)              // called at every durable step, for tests; may be nil
	Follows func() bool                     // another replica leads and may have room; nil: never
	Keep    func() (at txn.Timestamp)       // versions above it are kept (Discard); nil: none
	Closed  error                           // what readers get when the engine is closed
}

// Engine is the database of one replica. All methods may be called concurrently.
type Engine struct {
	o      Options
	lock   *os.File
	db     *badger.DB
	latest Snapshot
	rows   *rowcache.Database
	gate   gate
	merges mergeState
	quiet  quiet
	room   roomState
	keep   discards
	access accesses

	over  chan struct{} // closed when the engine ends
	ended sync.Once
	done  sync.WaitGroup
}

// Open opens the database in o.Dir, creating it if there is none. It fails (53100) if the disk has
// too little room to write again what an unclean stop has left to the log.
func Open(o Options) (_ *Engine, err error) {
	o.setDefaults()
	e := &Engine{o: o, over: make(chan struct{})}
	e.gate.e = e
	e.room.least.Store(o.MinFree)
	defer func() {
		if err != nil {
			e.Abandon()
		}
	}()
	if !o.ReadOnly {
		if e.lock, err = LockDir(o.Dir); err != nil {
			return nil, err
		}
		if err := e.gate.roomToStart(); err != nil {
			return nil, err
		}
	}
	if err := dropMemtables(o.Dir); err != nil {
		return nil, err
	}
	o.Fault("open.memtables-dropped")
	if e.db, err = openBadger(&o); err != nil {
		return nil, err
	}
	e.latest = e.At(math.MaxUint64)
	if o.ReadOnly {
		return e, nil
	}
	e.rows = o.Rows.Open(e.InTables())
	e.look(time.Now()) // before the first merge begins
	e.done.Add(1)
	go e.watch()
	return e, nil
}

func (o *Options) setDefaults() {
	if o.Free == nil {
		o.Free = freeOf
	}
	if o.Fault == nil {
		o.Fault = func(string) {}
	}
	if o.Follows == nil {
		o.Follows = func() bool { return false }
	}
	if o.Keep == nil {
		o.Keep = func() txn.Timestamp { return txn.MaxTimestamp }
	}
	if o.Name == nil {
		o.Name = func() string { return fmt.Sprintf("fragment %d", o.Fragment) }
	}
	if o.Closed == nil {
		o.Closed = pgerr.New(pgerr.CannotConnectNow, "the database is closed")
	}
}

func openBadger(o *Options) (*badger.DB, error) {
	dir := filepath.Join(o.Dir, "data")
	if err := dirsync.Make(dir); err != nil {
		return nil, err
	}
	opt := badger.DefaultOptions(dir).
		WithSyncWrites(false). // the Raft log is the durability
		WithLogger(badgerLogger{o.Logger.With("fragment", o.Fragment)}).
		WithMetricsEnabled(false).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		// Tables are verified whole when they are opened: at a damaged block an iterator ends as if
		// there were no more rows.
		WithChecksumVerificationMode(options.OnTableRead).
		WithIndexCacheSize(o.IndexCache).
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1). // below the discard timestamp; above it all are kept
		WithMemTableSize(o.MemTable).
		WithNumMemtables(1).
		WithNumCompactors(2).
		// A table is made in a buffer of twice its size, and a compaction makes a dozen at a time.
		WithBaseTableSize(min(o.MemTable, 1<<20)).
		WithBaseLevelSize(64 * o.MemTable). // beyond it, the base level is overfull
		// Each merge of level 0 rewrites the level below: with two tables before a merge updates of
		// single rows ran at half the speed. If the base level is overfull, Badger merges level 0
		// into itself, for which it asks for 256 MiB at once: see Crowded.
		WithNumLevelZeroTables(LevelZeroTables).
		WithNumLevelZeroTablesStall(math.MaxInt32). // see gate
		WithValueThreshold(min(1<<20, o.MemTable*15/100)).
		WithValueLogFileSize(16 << 20)
	if o.ReadOnly { // merges delete the tables that they have read. The tables have been verified
		opt = opt.WithNumCompactors(0).WithChecksumVerificationMode(options.NoVerification)
	}
	db, err := badger.OpenManaged(opt)
	if err != nil {
		corrupted := pgerr.New(pgerr.DataCorrupted, "could not open the data of fragment %d", o.Fragment)
		return nil, fmt.Errorf("%w: %w", corrupted, err)
	}
	return db, nil
}

// Close ends the engine, in which nothing is read any more. If clean, all that was written is in
// tables after it, and the next Open finds it there.
func (e *Engine) Close(clean bool) error {
	e.access.end()
	err := e.end()
	e.o.Fault("close.flushed")
	if err == nil && clean {
		err = markClean(e.o.Dir)
	}
	e.release()
	return err
}

// Abandon ends an engine whose replica could not be opened. It may be closed already.
func (e *Engine) Abandon() {
	_ = e.end()
	e.release()
}

func (e *Engine) end() error {
	e.ended.Do(func() { close(e.over) })
	e.done.Wait()
	if e.db == nil {
		return nil
	}
	return e.db.Close()
}

// release returns the turn to merge, and unlocks the directory.
func (e *Engine) release() {
	e.o.Merges.forget(e)
	if e.lock != nil {
		e.lock.Close()
	}
}

// Clear empties the database.
func (e *Engine) Clear() error {
	e.merges.mu.Lock()
	defer e.merges.mu.Unlock()
	e.merges.held = false
	defer e.rows.Clear()
	return e.db.DropAll()
}

// Flatten merges tables until each key is in one level: the last level is merged by nothing else.
func (e *Engine) Flatten() error {
	e.quiet.flat.Lock()
	defer e.quiet.flat.Unlock()
	return e.db.Flatten(1)
}

// InTables returns the largest version that is in a table. Memtables are flushed in order, so what
// was written before that version is in tables too.
func (e *Engine) InTables() (largest txn.Timestamp) {
	for _, t := range e.db.Tables() {
		largest = max(largest, txn.Timestamp(t.MaxVersion))
	}
	return largest
}

// badgerLogger passes Badger's warnings and errors on.
type badgerLogger struct{ l *slog.Logger }

func trimmed(f string, v []any) string { return strings.TrimSpace(fmt.Sprintf(f, v...)) }

// Errorf implements badger.Logger.
func (b badgerLogger) Errorf(f string, v ...any) { b.l.Error(trimmed(f, v)) }

// Warningf implements badger.Logger.
func (b badgerLogger) Warningf(f string, v ...any) { b.l.Warn(trimmed(f, v)) }

// Infof implements badger.Logger.
func (b badgerLogger) Infof(string, ...any) {}

// Debugf implements badger.Logger.
func (b badgerLogger) Debugf(string, ...any) {}
