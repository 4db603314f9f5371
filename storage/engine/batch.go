package engine

import (
	"errors"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// ErrHalted means that a batch was not written whole: the replica is closing, or the data is about
// to be replaced.
var ErrHalted = errors.New("storage: halted")

// Batch gathers versions of keys and writes them to the database. One goroutine at a time uses it,
// and may use it again after Flush.
//
// It is not atomic, and need not be: readers are kept below what is being written, and after a
// crash the log is applied again (S1).
type Batch struct {
	// Later: the batch can wait until the disk has room for rows.
	Later bool
	// Starting: the replica is being opened, so that waiting for room is of no use.
	Starting bool
	// Halt ends a wait when it is closed; nil: never.
	Halt <-chan struct{}
	// Again: a version of a key may come that came before, with other versions of the key between.
	// Badger's write batch puts such writes in an order of its own.
	Again bool

	// Forced is for tests: the batch does not pass the gate.
	Forced bool

	e      *Engine
	small  []version
	bytes  int
	rows   bool             // there are some, or parts of some, and not only deletions and records
	bulk   *badger.KVLoader // once the batch has grown large
	loaded int              // bytes that bulk got since the last look at the disk
	item   pb.KV
}

// version is a version of a key on its way into the database.
type version struct {
	key, value []byte
	at         txn.Timestamp
	mark       byte
	deleted    bool
	expires    uint64 // seconds since 1970, 0: never
}

const (
	bulkKeys  = 4096
	bulkBytes = 512 << 10
)

var (
	metaDelete = []byte{1} // Badger's bitDelete
	marks      = [...][]byte{nil, {1}, {2}, {3}}
)

// NewBatch returns an empty batch.
func (e *Engine) NewBatch() Batch { return Batch{e: e} }

// Add adds the version that an operation of a write set leaves at its key.
func (b *Batch) Add(op logentry.Op, key, value []byte, at txn.Timestamp) error {
	return b.put(version{key: key, value: value, at: at, mark: markOf(op), deleted: op == logentry.OpDelete})
}

// Set adds a version of one of the replica's own records.
func (b *Batch) Set(key, value []byte, at txn.Timestamp) error {
	return b.put(version{key: key, value: value, at: at})
}

// Remove adds a deletion.
func (b *Batch) Remove(key []byte, at txn.Timestamp) error {
	return b.put(version{key: key, at: at, deleted: true})
}

// Restore adds a version as another replica's database has it.
func (b *Batch) Restore(x Raw) error {
	v := version{key: x.Key, value: x.Value, at: x.At, deleted: x.Deleted, expires: x.Expires}
	if !x.Deleted {
		v.mark = x.Mark & (headMark | keptMark)
	}
	return b.put(v)
}

// Bytes returns how many bytes of keys and values wait for Flush.
func (b *Batch) Bytes() int { return b.bytes }

// Len returns how many versions wait for Flush.
func (b *Batch) Len() int { return len(b.small) }

func (b *Batch) put(x version) error {
	if b.bulk != nil {
		return b.load(x)
	}
	b.rows = b.rows || !x.deleted && keyspace.HasRow(x.key)
	b.small = append(b.small, x)
	b.bytes += len(x.key) + len(x.value)
	if len(b.small) < bulkKeys && b.bytes < bulkBytes {
		return nil
	}
	if err := b.e.gate.await(b, b.weight()); err != nil {
		return err
	}
	b.e.rows.Begin()
	b.bulk = b.e.db.NewKVLoader(8)
	for _, x := range b.small {
		if err := b.load(x); err != nil {
			return err
		}
	}
	b.small = b.small[:0]
	return nil
}

// weight returns what small takes of a memtable.
func (b *Batch) weight() int { return b.bytes + keyBytes*len(b.small) }

func (b *Batch) load(x version) error {
	if b.loaded += len(x.key) + len(x.value) + keyBytes; b.loaded > bulkBytes {
		if err := b.e.gate.await(b, b.loaded); err != nil {
			return err
		}
		b.loaded = 0
	}
	b.item = pb.KV{Key: x.key, Value: x.value, Version: uint64(x.at), ExpiresAt: x.expires}
	if x.deleted {
		b.item.Meta = metaDelete
	}
	b.item.UserMeta = marks[x.mark]
	b.changeRow(&x)
	return b.bulk.Set(&b.item)
}

// Flush returns when everything added can be read. ErrHalted means that not everything was written.
func (b *Batch) Flush() error {
	defer func() { b.small, b.bytes, b.bulk, b.loaded, b.Again, b.rows = b.small[:0], 0, nil, 0, false, false }()
	if b.bulk != nil {
		defer b.e.rows.End()
		return b.bulk.Finish()
	}
	if len(b.small) == 0 {
		return nil
	}
	if err := b.e.gate.await(b, b.weight()); err != nil {
		return err
	}
	if b.Again {
		b.small = lastOfEach(b.small)
	}
	b.e.rows.Begin()
	defer b.e.rows.End()
	w := b.e.db.NewManagedWriteBatch()
	for i := range b.small {
		b.changeRow(&b.small[i])
		if err := b.small[i].write(w); err != nil {
			w.Cancel()
			return err
		}
	}
	return w.Flush()
}

// changeRow notes that x is about to be written.
func (b *Batch) changeRow(x *version) {
	if !keyspace.IsOwn(x.key) {
		b.e.rows.Write(x.key, x.at)
	}
}

func (x *version) write(w *badger.WriteBatch) error {
	if x.deleted {
		return w.DeleteAt(x.key, uint64(x.at))
	}
	e := badger.NewEntry(x.key, x.value)
	e.ExpiresAt = x.expires
	return w.SetEntryAt(e.WithMeta(x.mark), uint64(x.at))
}

// lastOfEach removes all but the last of each version of a key.
func lastOfEach(list []version) []version {
	type id struct {
		key string
		at  txn.Timestamp
	}
	place := make(map[id]int, len(list))
	out := list[:0]
	for _, x := range list {
		k := id{string(x.key), x.at}
		if i, ok := place[k]; ok {
			out[i] = x
			continue
		}
		place[k] = len(out)
		out = append(out, x)
	}
	return out
}
