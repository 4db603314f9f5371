package storage

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/engine"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/storage/pins"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
)

// ReadRequest asks the source for versions of rows and entries of global indexes in ranges.
type ReadRequest struct {
	Ranges []BucketRange
	// Since selects versions above it. 0 selects all that a reader may need: those above the
	// watermark and the newest below it.
	Since txn.Timestamp
	T     txn.Timestamp // the read's timestamp; 0: the newest, as in T6
	// AtLeast is the least timestamp of a read without T: nothing is committed at or below it
	// later.
	AtLeast txn.Timestamp
	// Final reads up to the F of Move's fence, and ignores T.
	Final bool
	Move  uint64
	// After continues behind a version that was read, at the T that the first request returned;
	// nil: from the start.
	After *Version
}

// ReadResult says what a read has covered.
type ReadResult struct {
	T txn.Timestamp
	// Watermark is the largest watermark of the source and of the fragments from which it got the
	// ranges: snapshots below it may not find all versions at the target (Own).
	Watermark txn.Timestamp
}

// Version is one version of a row or an index entry that is copied. Keys have generation 0.
type Version struct {
	Key     []byte
	At      txn.Timestamp
	Value   []byte
	Deleted bool
	Kept    bool // an update that left the row's keys as they were
	// Before is the value of the row's previous version, for callers that derive index entries; nil
	// if there was none. Ingest ignores it.
	Before []byte
}

const versionBatch = 256 << 10 // bytes

// ReadVersions reads at T, as a snapshot does (T2–T4): it first waits until transactions prepared
// at or below T are resolved. It calls fn with batches of about 256 KiB, in the order of keys; the
// versions of a key are together and ascend. fn may keep the batches.
func (r *Mover) ReadVersions(ctx context.Context, req ReadRequest, fn func(batch []Version) error) (ReadResult, error) {
	if !r.stopper.Begin() {
		return ReadResult{}, proposer.ErrNotLeader
	}
	defer r.stopper.End()
	term := r.proposer.Term()
	if err := r.knowGlobals(ctx); err != nil {
		return ReadResult{}, err
	}
	own, T, err := r.readAt(ctx, req)
	if err != nil {
		return ReadResult{}, err
	}
	err = r.rows.waitResolved(ctx, r.proposer.Over(), T, txn.ID{},
		func(p *preparedTxn) bool { return r.touchesRanges(p, req.Ranges) })
	if err != nil {
		return ReadResult{}, err
	}
	if r.proposer.Term() != term {
		// another leader may have learned of indexes meanwhile
		return ReadResult{}, proposer.ErrNotLeader
	}
	return r.readVersions(ctx, req, own, T, fn)
}

// knowGlobals makes sure that no entry of a global index is taken for one of a local index. Entries
// that were prepared before the call belong to indexes that the catalog had before; for later ones,
// tasks first name the index to the leader (keyspace.Globals.Add). This holds for the term in which
// it was called.
func (r *Mover) knowGlobals(ctx context.Context) error {
	if r.cfg.CatchUp == nil {
		return nil
	}
	return r.cfg.CatchUp(ctx)
}

// readVersions is ReadVersions at a T at which all versions are there.
func (r *Mover) readVersions(
	ctx context.Context, req ReadRequest, own *owned.Buckets, T txn.Timestamp, fn func([]Version) error,
) (ReadResult, error) {
	oldest, release := r.pins.PinOldest()
	defer release()
	v := &versionReader{ctx: ctx, r: r, req: req, T: T, fn: fn, since: req.Since}
	v.t = r.db.At(T)
	defer v.t.Close()
	v.watermark = oldest
	if err := v.read(own); err != nil {
		return ReadResult{}, err
	}
	// another leader may have moved it
	res := ReadResult{T: T, Watermark: max(oldest, r.pins.Watermark())}
	if req.Since != 0 && req.Since < res.Watermark {
		return res, pins.TooOld(req.Since) // some of what came after it may be gone
	}
	for _, p := range own.Pieces(req.Ranges...) {
		res.Watermark = max(res.Watermark, p.Since) // what has not come here does not go from here
	}
	return res, nil
}

// readAt returns the timestamp of a read, made servable, and the ownership that applies to it.
func (r *Mover) readAt(ctx context.Context, req ReadRequest) (own *owned.Buckets, T txn.Timestamp, err error) {
	switch {
	case !logentry.RangesInOrder(req.Ranges):
		return nil, 0, errRangeOrder()
	case req.Final:
		F, ok := r.Owned.Load().FencedBy(req.Move, req.Ranges)
		if !ok {
			return nil, 0, ErrMoveVoid
		}
		T = F
	case req.T != 0:
		T = req.T
	default:
		if T, err = r.snapshot(ctx); err != nil {
			return nil, 0, err
		}
		T = max(T, req.AtLeast)
	}
	if err = r.admit(ctx, T); err != nil {
		return nil, 0, err
	}
	own, err = r.Owned.AwaitRead(ctx, T, req.Ranges)
	return own.OrFirst(), T, err
}

func (r *Mover) touchesRanges(p *preparedTxn, ranges []BucketRange) bool {
	if p.summary != nil {
		return p.summary.TouchesRanges(r.Globals, ranges)
	}
	return slices.ContainsFunc(p.keys(), func(key []byte) bool { return r.Globals.Within(key, ranges) })
}

// versionReader gathers batches.
type versionReader struct {
	ctx       context.Context
	r         *Mover
	req       ReadRequest
	t         engine.Snapshot
	T         txn.Timestamp
	since     txn.Timestamp
	watermark txn.Timestamp
	fn        func([]Version) error
	batch     []Version
	bytes     int
	keys      int
}

func (v *versionReader) read(own *owned.Buckets) error {
	err := v.t.EachIndex(func(x logentry.Index) error {
		if x.Index != keyspace.Rows && !v.r.Globals.Is(x) {
			return nil
		}
		for _, p := range own.Pieces(v.req.Ranges...) {
			if err := v.readPiece(x, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.flush()
}

func (v *versionReader) readPiece(x logentry.Index, p ownership.Piece) error {
	span, of := keyspace.StoredSpan(x, p.BucketRange, p.Generation), leftRange{p.BucketRange, p.Generation}
	if after := v.req.After; after != nil {
		from := keyspace.Stored(after.Key, p.Generation)
		if x != (logentry.Index{Table: keyspace.TableOf(after.Key), Index: keyspace.IndexOf(after.Key)}) {
			if bytes.Compare(keyspace.IndexPrefix(x.Table, x.Index), after.Key) < 0 {
				return nil
			}
		} else if b, _, _ := keyspace.Place(from); b >= p.Hi {
			return nil
		} else if b >= p.Lo {
			span.Start = maxBytes(span.Start, from)
		}
	}
	// a move's last read, for which writes wait, returns only what has changed
	c := v.t.AllVersions(span, v.since)
	defer c.Close()
	for c.Valid() {
		key := c.Item().KeyCopy()
		if v.keys++; v.keys%ctxEvery == 0 && v.ctx.Err() != nil {
			return v.ctx.Err()
		}
		if !of.holdsStored(key) {
			passBy(c, x, of)
			continue
		}
		if err := v.readKey(c, key); err != nil {
			return err
		}
	}
	return nil
}

// passBy passes keys of other generations of buckets: these have few or many versions, and a bucket
// may have many generations.
func passBy(c *engine.Cursor, x logentry.Index, of leftRange) {
	for range passedBy {
		if c.Next(); !c.Valid() || of.holdsStored(c.Item().Key()) {
			return
		}
	}
	key := c.Item().Key()
	b, a, ok := keyspace.Place(key)
	if !ok || x.Index != keyspace.Rows || a == of.generation || !keyspace.InIndex(x, key) {
		return
	}
	if a > of.generation {
		b++
	}
	c.Seek(keyspace.RowPrefix(x.Table, b, of.generation))
}

const passedBy = 16

// found is a version as the iterator finds it, the newest first.
type found struct {
	at      txn.Timestamp
	large   bool
	kept    bool
	deleted bool
	value   []byte // nil: to be read again, because it is large or there are many
}

const maxKept = 1 << 20 // bytes of the values of one key

// readKey takes the versions of one key, and leaves the iterator behind them.
func (v *versionReader) readKey(c *engine.Cursor, key []byte) error {
	var list []found
	kept := 0
	before := false // set when no reader can need the versions that are left
	for ; c.Valid() && bytes.Equal(c.Item().Key(), key); c.Next() {
		item := c.Item()
		if before {
			continue
		}
		f := found{at: item.At(), large: item.Large(), kept: item.Kept(), deleted: item.Deleted()}
		if v.since == 0 && f.at <= v.watermark {
			before = true
			if f.deleted {
				continue // no reader can see what this version deleted
			}
		}
		if !f.large && !f.deleted && kept < maxKept {
			var err error
			if f.value, err = item.Value(); err != nil {
				return err
			}
			kept += len(f.value)
		}
		list = append(list, f)
	}
	return v.emit(key, list)
}

// before returns the value that a row had at since, or nil if it did not exist.
func (v *versionReader) before(key []byte) ([]byte, error) {
	if v.since == 0 || !keyspace.IsRow(key) {
		return nil, nil
	}
	t := v.r.db.At(v.since)
	defer t.Close()
	value, _, err := t.Get(key)
	return value, err
}

// emit passes the versions of a key on, from the oldest.
func (v *versionReader) emit(key []byte, list []found) error {
	given := keyspace.AppendGiven(nil, key)
	after := txn.Timestamp(0)
	if a := v.req.After; a != nil && bytes.Equal(a.Key, given) {
		after = a.At
	}
	last, err := v.before(key)
	if err != nil {
		return err
	}
	for i := len(list) - 1; i >= 0; i-- {
		f := &list[i]
		value := f.value
		if !f.deleted && value == nil {
			t := v.r.db.At(f.at)
			value, _, err = t.Get(key)
			t.Close()
			if err != nil {
				return err
			}
		}
		f.value = nil
		if f.at <= after {
			last = value
			continue
		}
		x := Version{Key: given, At: f.at, Value: value, Deleted: f.deleted, Kept: f.kept}
		if keyspace.IsRow(key) {
			x.Before = last
		}
		last = value
		v.batch = append(v.batch, x)
		if v.bytes += len(given) + len(value) + 64; v.bytes >= versionBatch {
			if err := v.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *versionReader) flush() error {
	if len(v.batch) == 0 {
		return nil
	}
	batch := v.batch
	v.batch, v.bytes = nil, 0
	return v.fn(batch)
}

// globals returns the global indexes that have keys here.
func (r *Mover) globals(ctx context.Context) (out []logentry.Index, err error) {
	if err := r.knowGlobals(ctx); err != nil {
		return nil, err
	}
	if !r.stopper.Begin() {
		return nil, proposer.ErrNotLeader
	}
	defer r.stopper.End()
	t := r.db.At(txn.MaxTimestamp)
	defer t.Close()
	err = t.EachIndex(func(x logentry.Index) error {
		if x.Index != keyspace.Rows && r.Globals.Is(x) {
			out = append(out, x)
		}
		return nil
	})
	return out, err
}

// countRows counts the rows that are there now of some buckets, up to a limit (0: all). Those of a
// large transaction come after its commit, on each replica by itself, and it waits for them.
func (r *Mover) countRows(ctx context.Context, of []leftRange, limit int) (n int, counted counts.Deltas, err error) {
	if !r.stopper.Begin() {
		return 0, nil, proposer.ErrNotLeader
	}
	defer r.stopper.End()
	ranges := make([]BucketRange, len(of))
	for i, l := range of {
		ranges[i] = l.BucketRange
	}
	err = r.rows.waitResolved(ctx, r.proposer.Over(), txn.MaxTimestamp, txn.ID{},
		func(p *preparedTxn) bool { return p.installing && p.summary.TouchesRanges(r.Globals, ranges) })
	if err != nil {
		return 0, nil, err
	}
	t := r.db.At(txn.MaxTimestamp)
	defer t.Close()
	err = t.EachIndex(func(x logentry.Index) error {
		if x.Index != keyspace.Rows {
			return nil
		}
		for _, l := range of {
			c := t.Scan(keyspace.BucketSpan(x.Table, l.Lo, l.Hi), false)
			c.Wanted = l.holdsStored
			for ; c.Valid(); c.Next() {
				size, err := c.Item().Size()
				if err != nil {
					c.Close()
					return err
				}
				key := c.Item().Key()
				counted.Add(key, 1, len(key)+size)
				if n++; n == limit {
					c.Close()
					return ErrStop
				}
			}
			c.Close()
		}
		return nil
	})
	if errors.Is(err, ErrStop) {
		err = nil
	}
	return n, counted, err
}
