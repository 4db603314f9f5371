package engine

import (
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// Snapshot reads the database as of a timestamp. Reads of single keys may be concurrent. Cursors
// need the open engine: the caller makes sure that it is not closed meanwhile.
type Snapshot struct {
	e *Engine
	t *badger.Txn
}

// At returns a snapshot as of T. Writes at or below T that come later may be seen.
func (e *Engine) At(T txn.Timestamp) Snapshot {
	return Snapshot{e, e.db.NewTransactionAt(uint64(T), false)}
}

// Latest returns the snapshot of the newest versions. It is shared, and never closed: a reader at a
// fixed time keeps nothing in Badger.
func (e *Engine) Latest() Snapshot { return e.latest }

// Close ends the snapshot. Values that Get has returned stay valid.
func (s Snapshot) Close() { s.t.Discard() }

// T returns the timestamp of the snapshot.
func (s Snapshot) T() txn.Timestamp { return txn.Timestamp(s.t.ReadTs()) }

// Get returns the value of key, nil if there is none, and its version, 0 if there is none. The
// value of a large row is put together.
func (s Snapshot) Get(key []byte) (value []byte, version txn.Timestamp, err error) {
	if keyspace.IsOwn(key) {
		value, version, _, err = s.stored(key)
		return value, version, err
	}
	if value, version, ok := s.e.rows.Get(key, s.T()); ok && !s.e.db.IsClosed() {
		return value, version, nil
	}
	began := s.e.rows.Now()
	value, version, small, err := s.stored(key)
	if err == nil && small {
		s.e.rows.Add(began, s.T(), key, value, version)
	}
	return value, version, err
}

// stored reads key in the database. small means that the whole value is at the key, and stays
// there.
func (s Snapshot) stored(key []byte) (value []byte, version txn.Timestamp, small bool, err error) {
	item, err := s.t.Get(key)
	if err == badger.ErrKeyNotFound {
		return nil, 0, false, nil
	}
	if err != nil {
		return nil, 0, false, s.e.readError(err)
	}
	version = txn.Timestamp(item.Version())
	if item.UserMeta()&headMark != 0 {
		value, err = readChunks(s.t, item)
		return value, version, false, err
	}
	// Get has copied the value out of Badger's memory; the item's slice is ours.
	err = item.Value(func(b []byte) error { value = b; return nil })
	if value == nil {
		value = []byte{}
	}
	return value, version, item.ExpiresAt() == 0, s.e.readError(err)
}

// readError marks Badger's errors. A replica that is closing takes its database from those that
// still read.
func (e *Engine) readError(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.HasSuffix(err.Error(), badger.ErrDBClosed.Error()): // Badger wraps it in words
		return e.o.Closed
	}
	return pgerr.New(pgerr.DataCorrupted, "could not read from the database: %v", err)
}

// IsClosed reports whether a cursor has panicked because the engine is closed.
func IsClosed(panicked any) bool { return panicked == error(badger.ErrDBClosed) }

// Scan returns a cursor at the first key of a span, or at the last one. An open end is the end of
// all keys.
func (s Snapshot) Scan(span txn.Span, reverse bool) *Cursor {
	c := s.Within(span, reverse)
	c.Move(span)
	return c
}

// Within returns a cursor for spans that lie within one. The caller moves it to the first of them.
func (s Snapshot) Within(span txn.Span, reverse bool) *Cursor {
	opt := badger.IteratorOptions{Reverse: reverse}
	if !reverse {
		opt.Prefix = keyspace.CommonPrefix(span) // lets Badger leave tables out
	}
	return &Cursor{s: s, it: s.t.NewIterator(opt), reverse: reverse}
}

// Versions returns a cursor at the newest version of key, deletions included.
func (s Snapshot) Versions(key []byte) *Cursor {
	c := &Cursor{s: s, it: s.t.NewKeyIterator(key, badger.IteratorOptions{AllVersions: true})}
	c.it.Rewind()
	return c
}

// AllVersions returns a cursor at the first key of a span, which goes through all versions above a
// timestamp, deletions included, the newest of a key first.
//
// Tables of Badger without anything above since are not even opened. Badger looks for the next
// version above since however far that is, so the span should not be larger than needed.
func (s Snapshot) AllVersions(span txn.Span, since txn.Timestamp) *Cursor {
	opt := badger.IteratorOptions{AllVersions: true, SinceTs: uint64(since), Prefix: keyspace.CommonPrefix(span)}
	c := &Cursor{s: s, it: s.t.NewIterator(opt), bound: span.End}
	c.it.Seek(span.Start)
	return c
}

// Records returns a cursor at the first record of a kind whose key is at or behind from.
func (s Snapshot) Records(kind keyspace.Kind, from []byte) *Cursor {
	c := &Cursor{s: s, it: s.t.NewIterator(badger.IteratorOptions{Prefix: keyspace.Record(kind)})}
	c.it.Seek(from)
	return c
}

// EachRecord calls fn for every record of a kind, with what follows the kind in its key. Both
// slices are fn's to keep.
func (s Snapshot) EachRecord(kind keyspace.Kind, fn func(rest, value []byte) error) error {
	c := s.Records(kind, keyspace.Record(kind))
	defer c.Close()
	for ; c.Valid(); c.Next() {
		item := c.it.Item()
		value, err := item.ValueCopy(nil)
		if err != nil {
			return err
		}
		if err := fn(keyspace.RestOf(item.KeyCopy(nil)), value); err != nil {
			return err
		}
	}
	return nil
}

// EachIndex calls fn for every table and index that has a key, deleted keys included, in order.
func (s Snapshot) EachIndex(fn func(logentry.Index) error) error {
	it := s.t.NewIterator(badger.IteratorOptions{AllVersions: true})
	defer it.Close()
	for from := keyspace.LowEdge; ; {
		if it.Seek(from); !it.Valid() {
			return nil
		}
		key := it.Item().Key()
		if len(key) < 8 || keyspace.IsOwn(key) {
			return nil
		}
		x := logentry.Index{Table: keyspace.TableOf(key), Index: keyspace.IndexOf(key)}
		if err := fn(x); err != nil {
			return err
		}
		if from = txn.PrefixEnd(keyspace.IndexPrefix(x.Table, x.Index)); from == nil {
			return nil
		}
	}
}
