package storage

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/skl"

	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// Marks in Badger's user byte.
const (
	headMeta = 1 // the head of a large row
	keptMeta = 2 // a new version of a row that was there, with the same keys
)

// cleanFile exists while the database was closed in order: then all of it is in tables.
const cleanFile = "CLEAN"

func openBadger(cfg *Config) (*badger.DB, error) {
	dir := filepath.Join(cfg.Dir, "data")
	if err := dirsync.Make(dir); err != nil {
		return nil, err
	}
	opt := badger.DefaultOptions(dir).
		WithSyncWrites(false). // the Raft log is the durability
		WithLogger(badgerLogger{cfg.Logger.With("fragment", cfg.Fragment)}).
		WithMetricsEnabled(false).
		WithCompression(options.None).
		WithBlockCacheSize(0).
		// Tables are verified whole when they are opened: at a damaged block an iterator ends as if there were no more rows.
		WithChecksumVerificationMode(options.OnTableRead).
		WithIndexCacheSize(cfg.IndexCache).
		WithDetectConflicts(false).
		WithNumVersionsToKeep(1). // below the discard timestamp; above it all are kept
		WithMemTableSize(cfg.MemTable).
		WithNumMemtables(1).
		WithNumCompactors(2).
		// A table is made in a buffer of twice its size, and a compaction makes a dozen at a time.
		WithBaseTableSize(min(cfg.MemTable, 1<<20)).
		WithBaseLevelSize(64 * cfg.MemTable). // beyond it, the base level is overfull
		// Each merge of level 0 rewrites the level below: with two tables before a merge updates of single rows ran at half the speed. Where
		// the base level is overfull, Badger merges level 0 into itself, for which it asks for 256 MiB at once: see Pace.
		WithNumLevelZeroTables(levelZeroTables).
		WithNumLevelZeroTablesStall(math.MaxInt32). // see writeStall
		WithValueThreshold(min(1<<20, cfg.MemTable*15/100)).
		WithValueLogFileSize(16 << 20)
	if cfg.stopped { // its tables are another's: none may be merged, for those that were are deleted. They have been verified
		opt = opt.WithNumCompactors(0).WithChecksumVerificationMode(options.NoVerification)
	}
	db, err := badger.OpenManaged(opt)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", pgerr.New(pgerr.DataCorrupted, "could not open the data of fragment %d", cfg.Fragment), err)
	}
	return db, nil
}

// lockDir takes the replica's directory for this process.
func lockDir(dir string) (*os.File, error) {
	if err := dirsync.Make(dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, pgerr.New(pgerr.ObjectInUse, "data directory %s is in use by another process", dir)
	}
	return f, nil
}

// dropMemtables deletes Badger's memtable files after an unclean stop (S2): after a power loss they may have holes, and Badger
// would flush those into tables. What they held is in the log. Called with the directory locked.
func dropMemtables(dir string) error {
	clean := filepath.Join(dir, cleanFile)
	if _, err := os.Stat(clean); err == nil {
		if err := os.Remove(clean); err != nil {
			return err
		}
		return dirsync.Sync(dir)
	}
	mems, err := filepath.Glob(filepath.Join(dir, "data", "*.mem"))
	if err != nil {
		return err
	}
	for _, m := range mems {
		if err := os.Remove(m); err != nil {
			return err
		}
	}
	return dropEmptyValueLogs(dir)
}

// dropEmptyValueLogs deletes value log files without a byte: what a process leaves that is killed between making such a file and giving it its
// size. Badger does not open a database that has one.
func dropEmptyValueLogs(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "data", "*.vlog"))
	if err != nil {
		return err
	}
	for _, l := range logs {
		info, err := os.Stat(l)
		if err != nil {
			return err
		}
		if info.Size() > 0 {
			continue
		}
		if err := os.Remove(l); err != nil {
			return err
		}
	}
	return nil
}

// discardMemtable takes from a database what it has in memory and in no table, and the file in which that is kept: Close then
// writes no table. Nothing writes to the database any more. Called with the replica's log at hand, which has it all.
func discardMemtable(db *badger.DB) {
	v := reflect.ValueOf(db).Elem()
	lock := (*sync.RWMutex)(unsafe.Pointer(v.FieldByName("lock").UnsafeAddr()))
	place := v.FieldByName("mt")
	lock.Lock()
	defer lock.Unlock()
	before := place.UnsafePointer()
	empty := reflect.New(place.Type().Elem()) // it has no file: there is no room for one
	sl := empty.Elem().FieldByName("sl")
	*(**skl.Skiplist)(unsafe.Pointer(sl.UnsafeAddr())) = skl.NewSkiplist(emptyArena)
	*(*unsafe.Pointer)(unsafe.Pointer(place.UnsafeAddr())) = empty.UnsafePointer()
	releaseMemtable(before)
}

const emptyArena = 4 << 10

//go:linkname releaseMemtable github.com/dgraph-io/badger/v4.(*memTable).DecrRef
func releaseMemtable(memtable unsafe.Pointer)

func markClean(dir string) error {
	f, err := os.Create(filepath.Join(dir, cleanFile))
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return dirsync.Sync(dir)
}

// kvBatch collects the keys of applied entries and writes them to Badger. It is not atomic, and need not be: readers are
// kept below what is being applied, and a crash replays the log (S1).
type kvBatch struct {
	db    *badger.DB
	stall *writeStall // passed before Badger gets anything
	small []kv
	bytes int
	rows  bool // there are some, or parts of some, and not only deletions and records
	// later: the batch can wait until the disk has room for rows.
	later bool
	// starting: the replica is being opened.
	starting bool
	halt     <-chan struct{} // closed: the batch is not wanted any more; nil: never
	// again: a version of a key may come that came before, with other versions of it between. Badger's write batch puts such writes in an order of
	// its own.
	again  bool
	bulk   *badger.KVLoader // once the batch has grown large
	loaded int              // bytes that bulk got since the last look at the disk
	item   pb.KV
}

type kv struct {
	key, value []byte
	version    uint64
	op         logentry.Op
	expires    uint64 // seconds since 1970, 0: never
}

const (
	bulkKeys  = 4096
	bulkBytes = 512 << 10
)

var (
	metaDelete = []byte{1} // Badger's bitDelete
	userMetas  = [...][]byte{nil, {1}, {2}, {3}}
)

// add adds the version that an operation of a write set leaves at its key.
func (b *kvBatch) add(op logentry.Op, key, value []byte, at txn.Timestamp) error {
	return b.put(kv{key: key, value: value, version: uint64(at), op: op})
}

// set adds a version of one of the replica's own records.
func (b *kvBatch) set(key, value []byte, at txn.Timestamp) error {
	return b.put(kv{key: key, value: value, version: uint64(at), op: logentry.OpPut})
}

// remove adds a deletion.
func (b *kvBatch) remove(key []byte, at txn.Timestamp) error {
	return b.put(kv{key: key, version: uint64(at), op: logentry.OpDelete})
}

func (b *kvBatch) put(x kv) error {
	if b.bulk != nil {
		return b.load(x)
	}
	b.rows = b.rows || x.op != logentry.OpDelete && keyspace.HasRow(x.key)
	b.small = append(b.small, x)
	b.bytes += len(x.key) + len(x.value)
	if len(b.small) < bulkKeys && b.bytes < bulkBytes {
		return nil
	}
	if err := b.stall.await(b, b.weight()); err != nil {
		return err
	}
	b.bulk = b.db.NewKVLoader(8)
	for _, x := range b.small {
		if err := b.load(x); err != nil {
			return err
		}
	}
	b.small = b.small[:0]
	return nil
}

// weight returns what small takes of a memtable.
func (b *kvBatch) weight() int { return b.bytes + keyBytes*len(b.small) }

func (b *kvBatch) load(x kv) error {
	if b.loaded += len(x.key) + len(x.value) + keyBytes; b.loaded > bulkBytes {
		if err := b.stall.await(b, b.loaded); err != nil {
			return err
		}
		b.loaded = 0
	}
	b.item = pb.KV{Key: x.key, Value: x.value, Version: x.version, ExpiresAt: x.expires}
	if x.op == logentry.OpDelete {
		b.item.Meta = metaDelete
	}
	b.item.UserMeta = userMetas[userMeta(x.op)]
	return b.bulk.Set(&b.item)
}

// flush returns when everything added can be read. errHalted: the replica closes, and not everything was written.
func (b *kvBatch) flush() error {
	defer func() { b.small, b.bytes, b.bulk, b.loaded, b.again, b.rows = b.small[:0], 0, nil, 0, false, false }()
	if b.bulk != nil {
		return b.bulk.Finish()
	}
	if len(b.small) == 0 {
		return nil
	}
	if err := b.stall.await(b, b.weight()); err != nil {
		return err
	}
	if b.again {
		b.small = lastOfEach(b.small)
	}
	w := b.db.NewManagedWriteBatch()
	for _, x := range b.small {
		var err error
		if x.op == logentry.OpDelete {
			err = w.DeleteAt(x.key, x.version)
		} else {
			e := badger.NewEntry(x.key, x.value)
			e.ExpiresAt = x.expires
			e = e.WithMeta(userMeta(x.op))
			err = w.SetEntryAt(e, x.version)
		}
		if err != nil {
			w.Cancel()
			return err
		}
	}
	return w.Flush()
}

// lastOfEach leaves of each version of a key the last.
func lastOfEach(list []kv) []kv {
	type at struct {
		key     string
		version uint64
	}
	place := make(map[at]int, len(list))
	out := list[:0]
	for _, x := range list {
		k := at{string(x.key), x.version}
		if i, ok := place[k]; ok {
			out[i] = x
			continue
		}
		place[k] = len(out)
		out = append(out, x)
	}
	return out
}

// badgerLogger lets Badger speak through slog, more quietly.
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
