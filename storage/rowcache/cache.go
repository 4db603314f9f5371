package rowcache

import (
	"context"
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/allegro/bigcache/v3"
	"github.com/cespare/xxhash/v2"

	"github.com/sherddb/sherd/txn"
)

// Cache has the rows of all databases of a node. All methods may be called concurrently.
type Cache struct {
	entries *bigcache.BigCache
	largest int // bytes of a value that is kept
	numbers atomic.Uint64
	stripes [stripes]stripe
}

// stripe is a part of all keys. Its lock makes adding an entry and removing it atomic.
type stripe struct {
	mu     sync.Mutex
	newest txn.Timestamp // no version was written above it, in any database
	_      [48]byte      // stripes do not share a cache line
}

const (
	stripes      = 256 // a power of two
	largestValue = 8 << 10
	// header is what an entry has before its value: the number of the database and the version.
	header = 16
)

// New returns a cache that grows up to a number of bytes, at least a MiB.
func New(bytes int64) *Cache {
	entries, err := bigcache.New(context.Background(), bigcache.Config{
		Shards:             stripes,
		LifeWindow:         math.MaxInt64 / 2, // the oldest entry goes when there is no room
		MaxEntriesInWindow: stripes,           // of these two the first memory is computed
		MaxEntrySize:       64,
		HardMaxCacheSize:   int(max(bytes>>20, 1)), // MiB
		Hasher:             hasher{},
	})
	if err != nil { // the only errors are those of this configuration
		panic(err)
	}
	return &Cache{entries: entries, largest: int(min(bytes/stripes/8, largestValue))}
}

type hasher struct{}

// Sum64 implements bigcache.Hasher.
func (hasher) Sum64(key string) uint64 { return xxhash.Sum64String(key) }

func (c *Cache) stripeOf(key []byte) *stripe { return &c.stripes[xxhash.Sum64(key)%stripes] }

// text returns key as a string without a copy. The callee must not keep it: bigcache copies what it
// keeps.
func text(key []byte) string { return unsafe.String(unsafe.SliceData(key), len(key)) }

// Database is what the cache has of one database. The methods of a nil Database do nothing.
type Database struct {
	c      *Cache
	number atomic.Uint64 // entries with another number are those of another database
	floor  txn.Timestamp // when it was opened, no version was above it
	open   atomic.Int64  // batches that are being written
	ended  atomic.Uint64 // batches that have ended
}

// Open returns the part of a database, which has no version above newest. If c is nil, it returns
// nil.
func (c *Cache) Open(newest txn.Timestamp) *Database {
	if c == nil {
		return nil
	}
	d := &Database{c: c, floor: newest}
	d.number.Store(c.numbers.Add(1))
	return d
}

// Clear removes all entries of the database, whose keys must not be read meanwhile.
func (d *Database) Clear() {
	if d != nil {
		d.ended.Add(1)
		d.number.Store(d.c.numbers.Add(1))
	}
}

// Get returns the value that a read of key at T finds, and its version, if the cache has it. The
// value is the caller's.
func (d *Database) Get(key []byte, T txn.Timestamp) (value []byte, version txn.Timestamp, ok bool) {
	if d == nil {
		return nil, 0, false
	}
	b, err := d.c.entries.Get(text(key))
	if err != nil || len(b) < header || binary.LittleEndian.Uint64(b) != d.number.Load() {
		return nil, 0, false
	}
	version = txn.Timestamp(binary.LittleEndian.Uint64(b[8:]))
	return b[header:], version, version <= T
}

// Moment is when a reader began to read.
type Moment struct {
	number, ended uint64
	open          bool
}

// Now returns the moment for Add. The caller reads after it.
func (d *Database) Now() Moment {
	if d == nil {
		return Moment{open: true}
	}
	m := Moment{number: d.number.Load(), ended: d.ended.Load()}
	m.open = d.open.Load() > 0
	return m
}

// Add adds what a read of key at T has found since a moment, unless a later version may have been
// written (RC3).
func (d *Database) Add(m Moment, T txn.Timestamp, key, value []byte, version txn.Timestamp) {
	if m.open || T < d.floor || len(key)+len(value) > d.c.largest {
		return
	}
	entry := make([]byte, header, header+len(value))
	binary.LittleEndian.PutUint64(entry, m.number)
	binary.LittleEndian.PutUint64(entry[8:], uint64(version))
	entry = append(entry, value...)
	s := d.c.stripeOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.open.Load() == 0 && d.ended.Load() == m.ended && T >= s.newest {
		_ = d.c.entries.Set(text(key), entry) // an error means that it is too large for a shard
	}
}

// Begin begins a batch of writes. End must follow.
func (d *Database) Begin() {
	if d != nil {
		d.open.Add(1)
	}
}

// Write says that a version of key is about to be written by a batch that has begun (RC2).
func (d *Database) Write(key []byte, at txn.Timestamp) {
	if d == nil {
		return
	}
	s := d.c.stripeOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = max(s.newest, at)
	_ = d.c.entries.Delete(text(key)) // it may have no entry
}

// End ends a batch, whether its versions were written or not: all of them can be read, or never.
func (d *Database) End() {
	if d != nil {
		d.ended.Add(1)
		d.open.Add(-1)
	}
}
