package storage

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/pins"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/storage/readset"
	"github.com/sherddb/sherd/storage/writebuf"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// ErrStop, returned by the function given to Scan, ends the scan without an error.
var ErrStop = errors.New("storage: stop")

// View reads the fragment as of T, with the writes that its transaction had buffered when the view
// was made. Its methods may be called concurrently, and while the transaction writes more.
type View struct {
	r    *Replica
	t    *Tx
	T    txn.Timestamp
	mark int // the view sees buffered operations below this mark
	b    engine.Snapshot

	scans engine.Scans // of b

	reads *readset.Set // what a SERIALIZABLE transaction has read

	restores uint64          // of the database when the view was opened
	over     <-chan struct{} // the term of then

	own     *owned.Buckets // where buckets are, at T; nil: where they always were
	partial bool           // scans leave out what is not the fragment's

	meter Meter // of Get; nil: reads are not counted
}

// Snapshot returns the timestamp for a statement in this fragment alone, or this fragment's part of
// the answer for a statement over several (T6): everything acknowledged before the call is at or
// below it.
func (r *Replica) Snapshot(ctx context.Context) (txn.Timestamp, error) {
	if r.proposer.Term() == 0 {
		return 0, proposer.ErrNotLeader
	}
	if !r.Group.raft.SoleVoter() {
		if err := r.Group.raft.Confirm(ctx); err != nil {
			return 0, err
		}
	}
	if !rule.T6Prepared {
		return txn.Timestamp(r.machine.visible.Load()), nil
	}
	// The stamp of a prepare is its C, so applied covers the prepared transactions too.
	return txn.Timestamp(r.proposer.Applied.Load()), nil
}

// View opens a view at T.
func (t *Tx) View(ctx context.Context, T txn.Timestamp) (*View, error) {
	restores, over := t.r.db.Replacements(), t.r.proposer.Over()
	if t.reads != nil {
		if err := t.beginReading(); err != nil {
			return nil, err
		}
	}
	if err := t.r.proposer.Admit(ctx, T); err != nil {
		return nil, err
	}
	v := &View{r: t.r, t: t, T: T, b: t.r.db.At(T), reads: t.reads, restores: restores, over: over}
	v.own = t.r.Owned.Load() // after T was promised: a fence that is not in it is above T
	if err := v.kept(nil); err != nil {
		v.Close()
		return nil, err
	}
	if t.buffered.Load() {
		mark, err := t.viewMark()
		if err != nil {
			v.Close()
			return nil, err
		}
		v.mark = mark
	}
	return v, nil
}

// Meter counts the keys that a view reads.
type Meter interface {
	CountRead(key []byte)
}

// Count makes Get report its keys to m. It must be called before the first read.
func (v *View) Count(m Meter) { v.meter = m }

// Seen hides what the transaction buffered after a mark was taken. Before the first read.
func (v *View) Seen(mark txn.Mark) { v.mark = min(v.mark, mark.Writes) }

// Unvalidated marks that what the view reads need not hold at the commit (T8). It must be called
// before the first read.
func (v *View) Unvalidated() { v.reads = nil }

// Close ends the view. Slices that Get returned stay valid.
func (v *View) Close() {
	v.scans.Close()
	v.b.Close()
}

// Get returns the value of key, or nil if there is none.
func (v *View) Get(ctx context.Context, key []byte) ([]byte, error) {
	if v.meter != nil {
		v.meter.CountRead(key)
	}
	key, err := v.locate(ctx, key)
	if err != nil {
		return nil, err
	}
	if v.mark > 0 {
		if op, ok, err := v.t.bufferedAt(key, v.mark); ok || err != nil {
			return op.Value, err
		}
	}
	if v.reads != nil {
		v.reads.Under(v.own)
		v.reads.Point(key, v.T)
	}
	wait := waitContext{ctx, v.over}
	if rule.T3Prepared {
		if err := v.r.rows.waitPrepared(wait, v.T, v.t.id, key); err != nil {
			return nil, err
		}
	}
	value, _, err := v.r.rows.rowAt(wait, v.b, key)
	return value, v.intact(v.kept(err))
}

// kept returns err, or 72000 if versions that are visible at T may be gone. It is called after a
// read of the database, where each key is looked up at that moment: the watermark may have passed T
// since the view was opened, and then a key that was not found, or was found at an older version,
// is no answer. An iterator keeps what it was opened on.
func (v *View) kept(err error) error {
	if v.T < v.r.pins.Watermark() {
		return pins.TooOld(v.T)
	}
	return err
}

// intact returns err, unless the read may have seen a database that a stream from the leader was
// replacing. That happens if this replica had led and has fallen behind since.
func (v *View) intact(err error) error {
	if v.restores != v.r.db.Replacements() {
		return errTermEnded
	}
	return err
}

// Scan calls fn with the keys of span in order, or from the last to the first. Key and value are
// valid only during the call. The scan does not see writes buffered while it runs.
func (v *View) Scan(ctx context.Context, span txn.Span, reverse bool, fn func(key, value []byte) error) (err error) {
	defer notClosed(&err)
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

// notClosed, deferred, makes an error of a cursor's panic if the engine is closed.
func notClosed(err *error) {
	p := recover()
	switch {
	case p == nil:
	case engine.IsClosed(p):
		*err = proposer.ErrNotLeader
	default:
		panic(p)
	}
}

// ScanAll is Scan for spans that are disjoint and in the order of the scan. They are read with one
// cursor if that is possible.
func (v *View) ScanAll(
	ctx context.Context, list []txn.Span, reverse bool, fn func(key, value []byte) error,
) (err error) {
	if whole, ok := v.together(list, reverse); ok {
		defer notClosed(&err)
		return v.scanTogether(ctx, whole, list, reverse, fn)
	}
	stopped := false
	for i := 0; i < len(list) && err == nil && !stopped; i++ {
		err = v.Scan(ctx, list[i], reverse, func(key, value []byte) error {
			err := fn(key, value)
			stopped = err != nil
			return err
		})
	}
	return err
}

// together returns a span that contains all spans of a list, if these are stored as they are, and no
// rows of a large transaction are on their way to them.
func (v *View) together(list []txn.Span, reverse bool) (whole txn.Span, ok bool) {
	if len(list) < 2 {
		return whole, false
	}
	first, last := list[0], list[len(list)-1]
	if reverse {
		first, last = last, first
	}
	whole = txn.Span{Start: first.Start, End: last.End}
	x, ok := keyspace.IndexOfSpan(whole)
	if !ok || v.own != nil && (x.Index == keyspace.Rows || v.r.Globals.Is(x)) {
		return whole, false
	}
	return whole, !slices.ContainsFunc(list, func(s txn.Span) bool {
		_, _, more := v.resolvedPart(s, reverse, 0)
		return more
	})
}

// scanTogether reads the spans of a list with one cursor.
func (v *View) scanTogether(
	ctx context.Context, whole txn.Span, list []txn.Span, reverse bool, fn func(key, value []byte) error,
) (err error) {
	o, err := v.openScan(ctx, whole, list, reverse)
	if err != nil {
		return err
	}
	defer func() { o.end(err) }()
	stopped := false
	for i, s := range list {
		rec := readset.Recorder{Span: s, Reverse: reverse}
		err = o.read(ctx, i, s, func(key, value []byte) error {
			if v.reads != nil {
				rec.Saw(key)
			}
			err := fn(key, value)
			stopped = err != nil
			return err
		})
		if v.reads != nil {
			v.reads.Under(v.own)
			v.reads.Add(rec.Read(stopped), v.T)
		}
		if err != nil {
			break
		}
	}
	if errors.Is(err, ErrStop) {
		err = nil
	}
	return v.intact(err)
}

// scanRecorded notes what of the span was read: if fn ended the scan, nothing after the last key.
func (v *View) scanRecorded(
	ctx context.Context, c *readset.Recorder, wanted func([]byte) bool, fn func(key, value []byte) error,
) error {
	stopped := false
	err := v.scan(ctx, c.Span, c.Reverse, wanted, func(key, value []byte) error {
		c.Saw(key)
		err := fn(key, value)
		stopped = err != nil
		return err
	})
	v.reads.Add(c.Read(stopped), v.T)
	return err
}

// scan reads a span by parts while rows of it are on their way: the first part waits for at most
// one piece of a large transaction, and each further part for twice as many.
func (v *View) scan(
	ctx context.Context, span txn.Span, reverse bool, wanted func([]byte) bool, fn func(key, value []byte) error,
) error {
	for n := 1; ; n *= 2 {
		part, rest, more := v.resolvedPart(span, reverse, n)
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

func (v *View) scanPart(
	ctx context.Context, span txn.Span, reverse bool, wanted func([]byte) bool, fn func(key, value []byte) error,
) (err error) {
	o, err := v.openScan(ctx, span, []txn.Span{span}, reverse)
	if err != nil {
		return err
	}
	defer func() { o.end(err) }()
	o.Cursor.Wanted = wanted
	return o.read(ctx, 0, span, fn)
}

// openScan is a scan of some spans that has a cursor.
type openScan struct {
	*engine.Scan
	v       *View
	own     []*writebuf.Scan // by span: what the transaction has buffered; nil: nothing at all
	reverse bool
	ended   bool // not by a panic
}

// openScan waits for the transactions that may write to the spans of a list, and opens a cursor for
// all of them, which lie within whole.
func (v *View) openScan(ctx context.Context, whole txn.Span, list []txn.Span, reverse bool) (*openScan, error) {
	if rule.T3Prepared && v.r.txns.undecided.Load() != 0 {
		if err := v.r.rows.waitAt(waitContext{ctx, v.over}, v.T, v.t.id, spans(list)); err != nil {
			return nil, err
		}
	}
	o := &openScan{v: v, reverse: reverse}
	if v.mark > 0 {
		for _, s := range list {
			own, err := v.t.bufferedIn(s, v.mark, reverse)
			if err != nil {
				return nil, err
			}
			o.own = append(o.own, own)
		}
	}
	// If nothing is undecided now, all of T is in the database, so that a cursor may be used for other
	// spans later.
	settled := v.r.txns.undecided.Load() == 0
	var err error
	if o.Scan, err = v.scans.Open(v.b, whole, reverse, settled); err != nil {
		return nil, err
	}
	o.Cursor.Kept = v.kept
	if err := v.kept(nil); err != nil {
		v.scans.Fail(o.Scan)
		return nil, err
	}
	return o, nil
}

// end ends the scan. Its cursor may be kept if it has ended as scans do.
func (o *openScan) end(err error) {
	if o.ended && (err == nil || errors.Is(err, ErrStop)) {
		o.v.scans.Done(o.Scan)
	} else {
		o.v.scans.Fail(o.Scan)
	}
}

// read reads span i.
func (o *openScan) read(ctx context.Context, i int, span txn.Span, fn func(key, value []byte) error) error {
	o.ended = false
	o.Cursor.Move(span)
	pass := func(key, value []byte) error {
		o.Pause()
		err := fn(key, value)
		return cmp.Or(err, o.Resume())
	}
	var err error
	if o.own == nil || !o.own[i].OK {
		err = scanPlain(ctx, o.Cursor, pass)
	} else {
		err = scanMerged(ctx, o.Cursor, o.own[i], o.reverse, pass)
	}
	o.ended = true
	return err
}

const ctxEvery = 256 // rows between looks at the context

func scanPlain(ctx context.Context, c *engine.Cursor, fn func(k, v []byte) error) error {
	for n := 1; c.Valid(); n++ {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := c.Row(fn); err != nil {
			return err
		}
		c.Next()
	}
	return nil
}

// scanMerged is scanPlain with own buffered operations laid over.
func scanMerged(
	ctx context.Context, c *engine.Cursor, own *writebuf.Scan, reverse bool, fn func(k, v []byte) error,
) error {
	for n := 1; ; n++ {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		stored := c.Valid()
		if !stored && !own.OK {
			return nil
		}
		cmp := -1 // the stored key comes first
		switch {
		case !stored:
			cmp = 1
		case own.OK:
			cmp = bytes.Compare(c.Item().Key(), own.Op.Key)
			if reverse {
				cmp = -cmp
			}
		}
		if cmp < 0 {
			if err := c.Row(fn); err != nil {
				return err
			}
			c.Next()
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
			c.Next()
		}
	}
}
