package storage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/writebuf"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// ErrStop, returned by the function given to Scan, ends the scan without an error.
var ErrStop = errors.New("storage: stop")

// View reads the fragment as of T, with the writes its transaction had staged when the view was made. Its methods may be
// called concurrently, and while the transaction stages more.
type View struct {
	r    *Replica
	t    *Tx
	T    txn.Timestamp
	mark int // staged operations below it are seen
	b    *badger.Txn

	reads *readSet // of a SERIALIZABLE transaction

	restores uint64          // of the replica when the view was opened
	over     <-chan struct{} // the term of then

	own     *ownedBuckets // where buckets are, at T; nil: where they always were
	partial bool          // scans leave out what is not the fragment's
}

// Snapshot gives the timestamp for a statement in this fragment alone, or this fragment's part of the answer for a statement
// over several (T6): everything acknowledged before the call is at or below it.
func (r *Replica) Snapshot(ctx context.Context) (txn.Timestamp, error) {
	if r.term.Load() == 0 {
		return 0, errNoLeader
	}
	if !r.group.SoleVoter() {
		if err := r.group.Confirm(ctx); err != nil {
			return 0, err
		}
	}
	if !rule.T6Prepared {
		return txn.Timestamp(r.visible.Load()), nil
	}
	// The stamp of a prepare is its C, so applied covers the prepared transactions too.
	return txn.Timestamp(r.applied.Load()), nil
}

// View opens a view at T.
func (t *Tx) View(ctx context.Context, T txn.Timestamp) (*View, error) {
	restores, over := t.r.restores.Load(), t.r.termOver()
	if t.reads != nil {
		if err := t.beginReading(); err != nil {
			return nil, err
		}
	}
	if err := t.r.admit(ctx, T); err != nil {
		return nil, err
	}
	v := &View{r: t.r, t: t, T: T, b: t.r.db.NewTransactionAt(uint64(T), false), reads: t.reads, restores: restores, over: over}
	v.own = t.r.own.Load() // after T was promised: a fence that is not in it is above T
	if err := v.kept(nil); err != nil {
		v.Close()
		return nil, err
	}
	if t.staged.Load() {
		mark, err := t.viewMark()
		if err != nil {
			v.Close()
			return nil, err
		}
		v.mark = mark
	}
	return v, nil
}

// Seen hides what the transaction staged after a mark was taken. Before the first read.
func (v *View) Seen(mark txn.Mark) { v.mark = min(v.mark, mark.Writes) }

// Unvalidated says that what the view reads need not hold at the commit (T8). Before the first read.
func (v *View) Unvalidated() { v.reads = nil }

func errTooOld(T txn.Timestamp) error {
	return pgerr.New(pgerr.SnapshotTooOld, "snapshot too old").
		WithDetail("The snapshot is of %s; older versions have been removed.", T).
		WithHint("sherd.gc_ttl says how long old versions are kept.")
}

// Close ends the view. Slices given by Get stay valid.
func (v *View) Close() { v.b.Discard() }

// Get gives the value of key, nil if there is none.
func (v *View) Get(ctx context.Context, key []byte) ([]byte, error) {
	key, err := v.locate(ctx, key)
	if err != nil {
		return nil, err
	}
	if v.mark > 0 {
		if op, ok, err := v.t.stagedAt(key, v.mark); ok || err != nil {
			return op.Value, err
		}
	}
	if v.reads != nil {
		v.reads.under(v.own)
		v.reads.point(key, v.T)
	}
	wait := waitContext{ctx, v.over}
	if rule.T3Prepared {
		if err := v.r.waitPrepared(wait, v.T, v.t.id, key); err != nil {
			return nil, err
		}
	}
	value, _, err := v.r.rowAt(wait, v.b, key)
	return value, v.intact(v.kept(err))
}

// kept gives err, or 72000 where versions that are visible at T may be gone. It is asked after the database, which looks for each key anew: the watermark may have
// passed T since the view was opened, and what was not found, or was found of an older version, is no answer then. An iterator keeps what it was opened on.
func (v *View) kept(err error) error {
	if uint64(v.T) < v.r.watermark.Load() {
		return errTooOld(v.T)
	}
	return err
}

// intact gives err, unless what was read may be of a database that a stream of the leader's was taking the place of: this replica had led, and been
// left behind meanwhile.
func (v *View) intact(err error) error {
	if v.restores != v.r.restores.Load() {
		return errTermEnded
	}
	return err
}

// getAt reads key in t; the version is 0 if there is none.
func getAt(t *badger.Txn, key []byte) (value []byte, version txn.Timestamp, err error) {
	item, err := t.Get(key)
	if err == badger.ErrKeyNotFound {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, readError(err)
	}
	version = txn.Timestamp(item.Version())
	if item.UserMeta()&headMeta != 0 {
		value, err = readChunks(t, item)
		return value, version, err
	}
	// Get has copied the value out of Badger's memory; the item's slice is ours.
	err = item.Value(func(b []byte) error { value = b; return nil })
	if value == nil {
		value = []byte{}
	}
	return value, version, readError(err)
}

// readChunks puts a large row together.
func readChunks(t *badger.Txn, item *badger.Item) ([]byte, error) {
	var size, n int
	err := item.Value(func(b []byte) (err error) {
		size, n, err = decodeChunkHead(b)
		return err
	})
	if err != nil {
		return nil, pgerr.New(pgerr.DataCorrupted, "%v", err)
	}
	value := make([]byte, 0, size)
	for i := range n {
		c, err := t.Get(keyspace.ChunkKey(item.Key(), i))
		if err == nil {
			err = c.Value(func(b []byte) error { value = append(value, b...); return nil })
		}
		if err != nil {
			return nil, pgerr.New(pgerr.DataCorrupted, "piece %d of a row of %d bytes: %v", i, size, err)
		}
	}
	if len(value) != size {
		return nil, pgerr.New(pgerr.DataCorrupted, "a row of %d bytes has %d", size, len(value))
	}
	return value, nil
}

// readError marks Badger's errors. A replica that is closing takes its database from those who still read; another leads.
func readError(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.HasSuffix(err.Error(), badger.ErrDBClosed.Error()): // Badger wraps it in words
		return errNoLeader
	}
	return pgerr.New(pgerr.DataCorrupted, "could not read from the database: %v", err)
}

// Scan calls fn with the keys of span in order, or from the last to the first. Key and value are valid only during the call.
// Writes staged during the scan are not seen.
func (v *View) Scan(ctx context.Context, span txn.Span, reverse bool, fn func(key, value []byte) error) (err error) {
	defer func() {
		p := recover()
		switch {
		case p == nil:
		case p == error(badger.ErrDBClosed): // an iterator says it so
			err = errNoLeader
		default:
			panic(p)
		}
	}()
	if len(span.End) == 0 {
		span.End = keyspace.End
	}
	if span.Empty() {
		return nil
	}
	if v.own != nil {
		err = v.scanOwned(ctx, span, reverse, fn)
		if errors.Is(err, ErrStop) {
			err = nil
		}
		return err
	}
	return v.scanStored(ctx, span, reverse, nil, fn)
}

// scanRecorded notes what of the span was read: where fn ended the scan, nothing behind the last key.
func (v *View) scanRecorded(ctx context.Context, c *recorder, wanted func([]byte) bool, fn func(key, value []byte) error) error {
	stopped := false
	err := v.scan(ctx, c.span, c.reverse, wanted, func(key, value []byte) error {
		c.saw(key)
		err := fn(key, value)
		stopped = err != nil
		return err
	})
	v.reads.add(c.read(stopped), v.T)
	return err
}

// scan reads a span by parts while rows of it are on their way: one more of the pieces of a large transaction at first, then more.
func (v *View) scan(ctx context.Context, span txn.Span, reverse bool, wanted func([]byte) bool, fn func(key, value []byte) error) error {
	for n := 1; ; n *= 2 {
		part, rest, more := v.settledPart(span, reverse, n)
		err := v.scanPart(ctx, part, reverse, wanted, fn)
		if errors.Is(err, ErrStop) {
			return v.intact(nil)
		}
		if err != nil || !more {
			return v.intact(err)
		}
		span = rest
	}
}

func (v *View) scanPart(ctx context.Context, span txn.Span, reverse bool, wanted func([]byte) bool, fn func(key, value []byte) error) error {
	if rule.T3Prepared && v.r.undecided.Load() != 0 {
		if err := v.r.waitAt(waitContext{ctx, v.over}, v.T, v.t.id, spanPlace(span)); err != nil {
			return err
		}
	}
	var own *writebuf.Scan
	if v.mark > 0 {
		var err error
		if own, err = v.t.stagedIn(span, v.mark, reverse); err != nil {
			return err
		}
	}
	turn, err := v.r.scans.begin()
	if err != nil {
		return err
	}
	var c *cursor
	defer turn.end(func() { c.close() })
	c = newCursor(v.b, span, reverse)
	c.wanted, c.kept = wanted, v.kept
	if err := v.kept(nil); err != nil {
		return err
	}
	pass := func(key, value []byte) error {
		turn.leave()
		err := fn(key, value)
		return cmp.Or(err, turn.back())
	}
	if own == nil || !own.OK {
		return scanPlain(ctx, v.b, c, pass)
	}
	return scanMerged(ctx, v.b, c, own, reverse, pass)
}

// cursor walks Badger's keys of a span.
type cursor struct {
	it      *badger.Iterator
	bound   []byte // forward: stop at it; reverse: stop below it
	reverse bool
	wanted  func(key []byte) bool // nil: all are
	kept    func(error) error     // asked when the pieces of a large row have been looked for; nil: nobody is
}

func newCursor(t *badger.Txn, span txn.Span, reverse bool) *cursor {
	opt := badger.IteratorOptions{Reverse: reverse}
	if !reverse {
		opt.Prefix = keyspace.CommonPrefix(span)
		c := &cursor{it: t.NewIterator(opt), bound: span.End}
		c.it.Seek(span.Start)
		return c
	}
	c := &cursor{it: t.NewIterator(opt), bound: span.Start, reverse: true}
	if len(span.End) == 0 {
		c.it.Rewind()
		return c
	}
	c.it.Seek(span.End)
	if c.it.Valid() && bytes.Equal(c.it.Item().Key(), span.End) {
		c.it.Next()
	}
	return c
}

// close ends the iterator; nil has none.
func (c *cursor) close() {
	if c != nil {
		c.it.Close()
	}
}

func (c *cursor) valid() bool {
	for ; c.it.Valid(); c.it.Next() {
		key := c.it.Item().Key()
		if len(c.bound) > 0 && (bytes.Compare(key, c.bound) < 0) == c.reverse {
			return false
		}
		if c.wanted == nil || c.wanted(key) {
			return true
		}
	}
	return false
}

const ctxEvery = 256 // rows between looks at the context

func scanPlain(ctx context.Context, t *badger.Txn, c *cursor, fn func(k, v []byte) error) error {
	for n := 1; c.valid(); n++ {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := c.emit(t, fn); err != nil {
			return err
		}
		c.it.Next()
	}
	return nil
}

// emit is emit of the key at which the cursor is.
func (c *cursor) emit(t *badger.Txn, fn func(k, v []byte) error) error {
	item := c.it.Item()
	if c.kept == nil || item.UserMeta()&headMeta == 0 {
		return emit(t, item, fn)
	}
	value, err := readChunks(t, item)
	if err = c.kept(err); err != nil {
		return err
	}
	return fn(item.Key(), value)
}

func emit(t *badger.Txn, item *badger.Item, fn func(k, v []byte) error) error {
	if item.UserMeta()&headMeta != 0 {
		value, err := readChunks(t, item)
		if err != nil {
			return err
		}
		return fn(item.Key(), value)
	}
	return item.Value(func(v []byte) error { return fn(item.Key(), v) })
}

// scanMerged is scanPlain with own staged operations laid over.
func scanMerged(ctx context.Context, t *badger.Txn, c *cursor, own *writebuf.Scan, reverse bool, fn func(k, v []byte) error) error {
	for n := 1; ; n++ {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		stored := c.valid()
		if !stored && !own.OK {
			return nil
		}
		cmp := -1 // the stored key comes first
		switch {
		case !stored:
			cmp = 1
		case own.OK:
			cmp = bytes.Compare(c.it.Item().Key(), own.Op.Key)
			if reverse {
				cmp = -cmp
			}
		}
		if cmp < 0 {
			if err := c.emit(t, fn); err != nil {
				return err
			}
			c.it.Next()
			continue
		}
		if !own.Op.Delete {
			if err := fn(own.Op.Key, own.Op.Value); err != nil {
				return err
			}
		}
		if err := own.Next(); err != nil {
			return err
		}
		if cmp == 0 {
			c.it.Next()
		}
	}
}
