package storage

import (
	"bytes"
	"context"
	"slices"
	"sort"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/owned"
	"github.com/sherddb/sherd/storage/ownership"
	"github.com/sherddb/sherd/storage/readset"
	"github.com/sherddb/sherd/txn"
)

// Scans if buckets have moved. A caller's span is stored in pieces. Stored keys of rows have the
// same order, and those of other generations are skipped; of a global index, each range with a
// generation has its own place among the stored keys.

// locate returns the stored form of a caller's key that is to be read.
func (v *View) locate(ctx context.Context, key []byte) ([]byte, error) {
	if v.own == nil {
		return key, nil
	}
	b, ok := v.r.Globals.Bucket(key)
	if !ok {
		return key, nil
	}
	p := v.own.Find(b)
	if p.Read(v.T) != ownership.Here {
		o, err := v.r.Owned.Await(ctx, v.T, func(o *owned.Buckets) (ownership.Verdict, ownership.Piece) {
			p = o.Find(b)
			return p.Read(v.T), p
		})
		if err != nil {
			return nil, err
		}
		v.reads.Under(o)
	}
	return keyspace.Stored(key, p.Generation), nil
}

// Generation returns the generation that the local index entries of a bucket have here, or a larger
// number. Entries with a smaller one are left from an earlier generation and do not count. ok is
// always true, as table.Generations wants it of a view.
func (v *View) Generation(bucket shardmap.Bucket) (generation uint32, ok bool) {
	if v.own == nil {
		return 0, true
	}
	return v.own.Find(uint32(bucket)).Generation, true
}

// OwnedOnly restricts scans to what the statistics counted at the view's timestamp: they leave out
// buckets that the fragment did not own then. It is for checks, and must be called before the first
// read.
func (v *View) OwnedOnly() { v.partial = true }

// segment is a part of a caller's span as it is stored.
type segment struct {
	txn.Span
	pieces []ownership.Piece // of the buckets, in order; nil: a local index
	last   int               // the piece asked about last
}

// wanted reports whether a stored key has its bucket's generation.
func (s *segment) wanted(key []byte) bool {
	b, a, ok := keyspace.Place(key)
	if !ok {
		return true
	}
	if s.last >= len(s.pieces) || !s.pieces[s.last].Contains(shardmap.Bucket(b)) {
		s.last = sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].Hi > b })
	}
	return s.last < len(s.pieces) && s.pieces[s.last].Contains(shardmap.Bucket(b)) && s.pieces[s.last].Generation == a
}

// scanOwned is Scan if something has moved.
func (v *View) scanOwned(ctx context.Context, span txn.Span, reverse bool, fn func(key, value []byte) error) error {
	stopped := false
	var buf []byte
	scan := func(s *segment) error {
		if s.pieces == nil {
			return v.scanStored(ctx, s.Span, reverse, nil, func(key, value []byte) error {
				err := fn(key, value)
				stopped = err != nil
				return err
			})
		}
		return v.scanStored(ctx, s.Span, reverse, s.wanted, func(key, value []byte) error {
			buf = keyspace.AppendGiven(buf[:0], key)
			err := fn(buf, value)
			stopped = err != nil
			return err
		})
	}
	return v.eachIndexIn(span, reverse, func(x logentry.Index, part txn.Span) error {
		segments, err := v.segments(ctx, x, part)
		if reverse {
			slices.Reverse(segments)
		}
		for i := 0; i < len(segments) && err == nil && !stopped; i++ {
			err = scan(&segments[i])
		}
		if err == nil && stopped {
			err = ErrStop
		}
		return err
	})
}

// segments returns the parts of a span within one index.
func (v *View) segments(ctx context.Context, x logentry.Index, span txn.Span) ([]segment, error) {
	global := x.Index != keyspace.Rows && v.r.Globals.Is(x)
	if x.Index != keyspace.Rows && !global {
		return []segment{{Span: span}}, nil
	}
	asked := BucketRange{Lo: keyspace.BucketOfBound(span.Start, false), Hi: keyspace.BucketOfBound(span.End, true)}
	if !keyspace.InIndex(x, span.End) {
		asked.Hi = shardmap.BucketLimit
	}
	if asked.Empty() {
		return nil, nil
	}
	own, err := v.readable(ctx, asked)
	if err != nil || len(own) == 0 {
		return nil, err
	}
	var out []segment
	for _, p := range own {
		s := keyspace.StoredSpan(x, p.BucketRange, p.Generation)
		if keyspace.BucketOfBound(span.Start, false) >= p.Lo {
			s.Start = maxBytes(s.Start, keyspace.StoredBound(span.Start, p.Generation))
		}
		if keyspace.InIndex(x, span.End) && keyspace.BucketOfBound(span.End, true) <= p.Hi &&
			keyspace.BeyondBucket(span.End) {
			s.End = keyspace.StoredBound(span.End, p.Generation)
		}
		out = append(out, segment{Span: s, pieces: []ownership.Piece{p}})
	}
	if x.Index == keyspace.Rows { // their order is the callers': one scan will do
		for i := range out[1:] {
			out[0].pieces = append(out[0].pieces, own[i+1])
		}
		out[0].End = out[len(out)-1].End
		out = out[:1]
	}
	return out, nil
}

func maxBytes(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}

// readable returns the pieces of a range that can be read at the view's timestamp. For others it
// waits until they can be read, leaves them out, or fails.
func (v *View) readable(ctx context.Context, r BucketRange) ([]ownership.Piece, error) {
	out := v.own.Pieces(r)
	say := func(p *ownership.Piece) ownership.Verdict { return p.Read(v.T) }
	if v.partial {
		return slices.DeleteFunc(out, func(p ownership.Piece) bool { return !p.Counted(v.T) }), nil
	}
	if worst, _ := v.own.About([]BucketRange{r}, say); worst == ownership.Here {
		return out, nil
	}
	o, err := v.r.Owned.Await(ctx, v.T,
		func(o *owned.Buckets) (ownership.Verdict, ownership.Piece) { return o.About([]BucketRange{r}, say) })
	if err != nil {
		return nil, err
	}
	v.reads.Under(o)
	return o.Pieces(r), nil
}

// eachIndexIn calls fn with the parts of a span that are of one index each, and contain something.
func (v *View) eachIndexIn(span txn.Span, reverse bool, fn func(x logentry.Index, part txn.Span) error) error {
	if len(span.Start) >= 8 {
		x := logentry.Index{Table: keyspace.TableOf(span.Start), Index: keyspace.IndexOf(span.Start)}
		end := txn.PrefixEnd(keyspace.IndexPrefix(x.Table, x.Index))
		if keyspace.InIndex(x, span.End) || end != nil && bytes.Equal(span.End, end) {
			return fn(x, span)
		}
	}
	var all []logentry.Index
	t := v.r.db.At(v.T)
	defer t.Close()
	if err := v.kept(t.EachIndex(func(x logentry.Index) error { all = append(all, x); return nil })); err != nil {
		return err
	}
	all, err := v.bufferedIndexes(all)
	if err != nil {
		return err
	}
	if reverse {
		slices.Reverse(all)
	}
	for _, x := range all {
		part := txn.Prefix(keyspace.IndexPrefix(x.Table, x.Index))
		part.Start = maxBytes(part.Start, span.Start)
		if len(part.End) == 0 || len(span.End) > 0 && bytes.Compare(span.End, part.End) < 0 {
			part.End = span.End
		}
		if part.Empty() {
			continue
		}
		if err := fn(x, part); err != nil {
			return err
		}
	}
	return nil
}

// bufferedIndexes adds the indexes that have only buffered keys.
func (v *View) bufferedIndexes(all []logentry.Index) ([]logentry.Index, error) {
	if v.mark == 0 {
		return all, nil
	}
	own, err := v.t.bufferedIn(txn.Span{}, v.mark, false)
	for ; err == nil && own.OK; err = own.Next() {
		x := logentry.Index{Table: keyspace.TableOf(own.Op.Key), Index: keyspace.IndexOf(own.Op.Key)}
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(a, b logentry.Index) int {
		return bytes.Compare(keyspace.IndexPrefix(a.Table, a.Index), keyspace.IndexPrefix(b.Table, b.Index))
	})
	return all, err
}

// scanStored scans stored keys, those that are wanted (nil: all).
func (v *View) scanStored(
	ctx context.Context, span txn.Span, reverse bool, wanted func([]byte) bool, fn func(key, value []byte) error,
) error {
	if span.Empty() {
		return nil
	}
	inner := fn
	if wanted != nil {
		inner = func(key, value []byte) error {
			if !wanted(key) { // of the write buffer
				return nil
			}
			return fn(key, value)
		}
	}
	if v.reads != nil {
		v.reads.Under(v.own)
		return v.scanRecorded(ctx, &readset.Recorder{Span: span, Reverse: reverse}, wanted, inner)
	}
	return v.scan(ctx, span, reverse, wanted, inner)
}

// viewAt opens a view whose keys are where own says.
func (t *Tx) viewAt(ctx context.Context, T txn.Timestamp, own *owned.Buckets) (*View, error) {
	v, err := t.View(ctx, T)
	if err != nil {
		return nil, err
	}
	v.own = own
	return v, nil
}
