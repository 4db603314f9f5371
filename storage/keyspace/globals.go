package keyspace

import (
	"slices"
	"sync"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// Globals knows which indexes are global, so that the keys of their entries begin with a bucket.
// All methods may be called concurrently.
type Globals struct {
	defined  func(table, index uint32) bool
	reported sync.Map // logentry.Index → struct{}: those that a caller has reported
}

// NewGlobals makes a Globals that asks a function which indexes are defined as global; nil: none
// is.
func NewGlobals(defined func(table, index uint32) bool) *Globals { return &Globals{defined: defined} }

// Add registers an index as global, before any call that names its keys: the caller may know
// definitions that the function does not, those of a transaction that has not committed, or of
// another node. Numbers of indexes are never reused, so it stays true.
func (g *Globals) Add(table, index uint32) {
	if x := (logentry.Index{Table: table, Index: index}); !g.Is(x) {
		g.reported.Store(x, struct{}{})
	}
}

// Is reports whether an index is global.
func (g *Globals) Is(x logentry.Index) bool {
	if g.defined != nil && g.defined(x.Table, x.Index) {
		return true
	}
	_, reported := g.reported.Load(x)
	return reported
}

// Has reports whether a key, in either form, is of a global index.
func (g *Globals) Has(key []byte) bool {
	if !MayHaveBucket(key) || IndexOf(key) == Rows || IsOwn(key) {
		return false
	}
	return g.Is(logentry.Index{Table: TableOf(key), Index: IndexOf(key)})
}

// IsLocalEntry reports whether a key is of a local index.
func (g *Globals) IsLocalEntry(key []byte) bool {
	return len(key) >= 8 && !IsOwn(key) && IndexOf(key) != Rows && !g.Has(key)
}

// Bucket returns the bucket of a caller's key; false for a local index entry, which has none.
func (g *Globals) Bucket(key []byte) (uint32, bool) {
	if MayHaveBucket(key) && (IndexOf(key) == Rows || g.Has(key)) {
		return BucketIn(key), true
	}
	return 0, false
}

// Within reports whether a stored key is of some buckets.
func (g *Globals) Within(key []byte, ranges []shardmap.Interval) bool {
	if IndexOf(key) != Rows && !g.Has(key) {
		return false
	}
	b, _, ok := Place(key)
	return ok && slices.ContainsFunc(ranges, func(m shardmap.Interval) bool { return m.Contains(shardmap.Bucket(b)) })
}

// SpanTouches reports whether the span from the least to the greatest key of a write set in one
// index may have something of some buckets.
func (g *Globals) SpanTouches(s txn.Span, ranges []shardmap.Interval) bool {
	if IndexOf(s.Start) != Rows && !g.Has(s.Start) {
		return false
	}
	lo, _, _ := Place(s.Start)
	hi, _, _ := Place(s.End)
	if lo > hi {
		lo, hi = 0, shardmap.BucketLimit-1 // generations of a global index
	}
	return touches(ranges, shardmap.Interval{Lo: lo, Hi: hi + 1})
}

// SpansTouch reports whether spans of stored keys may have something of some buckets.
func SpansTouch(spans []txn.Span, ranges []shardmap.Interval) bool {
	return slices.ContainsFunc(spans, func(s txn.Span) bool { return touches(ranges, BucketsOf(s)) })
}

func touches(ranges []shardmap.Interval, of shardmap.Interval) bool {
	return slices.ContainsFunc(ranges, func(m shardmap.Interval) bool { return !m.Intersect(of).Empty() })
}

// BucketsOf returns the buckets that a span of stored keys may belong to: all of them, unless the
// span lies within the rows of one table.
func BucketsOf(s txn.Span) shardmap.Interval {
	all := shardmap.Interval{Hi: shardmap.BucketLimit}
	if len(s.Start) < 8 || IndexOf(s.Start) != Rows {
		return all
	}
	x := logentry.Index{Table: TableOf(s.Start), Index: IndexOf(s.Start)}
	if !InIndex(x, s.End) {
		return all
	}
	return shardmap.Interval{Lo: BucketOfBound(s.Start, false), Hi: BucketOfBound(s.End, true)}
}
