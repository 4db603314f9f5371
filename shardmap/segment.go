package shardmap

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
)

// RangeTable is the value of shard_by for a table whose rows are placed by ranges of their keys.
const RangeTable = "range"

// Segment is a range of the keys of a range table and the assigned bucket of its rows.
type Segment struct {
	Start  []byte // the lowest key, encoded; empty: the lowest of all
	Bucket Bucket
	// Automatic is set if no user asked for this split; the balancer may merge it back.
	Automatic bool
}

// Segments are the segments of a range table, in order: the first begins at the lowest key, and
// each ends where the next begins. They are never changed in place.
type Segments []Segment

// NewSegments makes the segments of an empty table, which begin at the lowest key and at each of
// starts; the i-th lies in bucket first + i.
func NewSegments(starts [][]byte, first Bucket) Segments {
	starts = slices.Clone(starts)
	slices.SortFunc(starts, bytes.Compare)
	starts = slices.CompactFunc(starts, bytes.Equal)
	out := Segments{{Bucket: first}}
	for _, s := range starts {
		if len(s) > 0 {
			out = append(out, Segment{Start: s, Bucket: first + Bucket(len(out))})
		}
	}
	return out
}

// Check returns an error if the segments of a table are invalid. No segments at all are valid.
func (s Segments) Check() error {
	seen := map[Bucket]bool{}
	for i := range s {
		switch x := &s[i]; {
		case i == 0 && len(x.Start) > 0, i > 0 && bytes.Compare(s[i-1].Start, x.Start) >= 0:
			return fmt.Errorf("segment %d begins at %x, out of order", i, x.Start)
		case seen[x.Bucket]:
			return fmt.Errorf("bucket %d is in two segments", x.Bucket)
		}
		seen[s[i].Bucket] = true
		if b := s[i].Bucket; b < BucketCount || b >= BucketLimit {
			return fmt.Errorf("bucket %d of segment %d is not an assigned one", b, i)
		}
	}
	return nil
}

// Place returns the place of the segment that a key belongs to.
func (s Segments) Place(key []byte) int {
	return sort.Search(len(s), func(i int) bool { return bytes.Compare(s[i].Start, key) > 0 }) - 1
}

// At returns the segment that a key belongs to.
func (s Segments) At(key []byte) *Segment { return &s[s.Place(key)] }

// Of returns the segments that keys of a range may belong to.
func (s Segments) Of(r KeyRange) Segments {
	if len(r.End) > 0 && bytes.Compare(r.Start, r.End) >= 0 {
		return nil
	}
	end := len(s)
	if len(r.End) > 0 {
		end = sort.Search(len(s), func(i int) bool { return bytes.Compare(s[i].Start, r.End) >= 0 })
	}
	return s[s.Place(r.Start):end]
}

// Range returns the keys of the i-th segment.
func (s Segments) Range(i int) KeyRange {
	r := KeyRange{Start: s[i].Start}
	if i+1 < len(s) {
		r.End = s[i+1].Start
	}
	return r
}

// Buckets returns the buckets of the segments.
func (s Segments) Buckets() BucketSet {
	all := make([]Bucket, len(s))
	for i := range s {
		all[i] = s[i].Bucket
	}
	return BucketSetOf(all...)
}
