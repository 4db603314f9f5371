package shardmap

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// FragmentID numbers a fragment, cluster-wide; never reused. The catalog allots it.
type FragmentID = uint32

// Range is a run of buckets that one fragment owns.
type Range struct {
	Interval
	Fragment FragmentID
}

// Share is the part of a set of buckets that one fragment owns.
type Share struct {
	Fragment FragmentID
	Buckets  BucketSet
}

// NoFragment is the owner of assigned buckets that a map does not have. A map that is as new as the
// definition that names a bucket has it.
const NoFragment FragmentID = 0

// Taken is the owner of assigned buckets that were given out and taken back: other segments have
// taken their place, or the table is gone. Definitions as new as the map do not name them.
const Taken FragmentID = math.MaxUint32

// Session is the fragment of a session that has temporary tables: all their rows are in it. No map of
// a database has it.
const Session FragmentID = math.MaxUint32 - 1

// sessionMap has all buckets in a session's own fragment.
var sessionMap = &Map{ranges: []Range{{Interval{Hi: BucketLimit}, Session}}}

// SessionMap returns the map of temporary tables.
func SessionMap() *Map { return sessionMap }

// Map says which fragment of a database owns each bucket, as of an epoch. It covers the whole space
// (B2), may have assigned buckets besides, and is immutable.
type Map struct {
	epoch uint64
	// sorted; below BucketCount each begins where the one before ends; neighbours may belong to the
	// same fragment
	ranges []Range
	top    uint32 // the first bucket that was never given out; 0 is BucketCount
}

// NewMap makes a map of ranges in any order; they must cover the space exactly once, else it
// returns an error that names the first gap or overlap. Neighbouring ranges of one fragment stay
// apart: they are units an operator made.
func NewMap(epoch uint64, ranges []Range) (*Map, error) {
	rs := slices.Clone(ranges)
	slices.SortFunc(rs, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
	next := uint32(0)
	for _, r := range rs {
		switch {
		case r.Empty() || r.Hi > BucketCount:
			return nil, fmt.Errorf("bucket map: range %d to %d is empty or outside the space", r.Lo, r.Hi)
		case r.Lo > next:
			return nil, fmt.Errorf("bucket map: no fragment owns buckets %v", Interval{next, r.Lo})
		case r.Lo < next:
			return nil, fmt.Errorf("bucket map: two fragments own buckets %v", Interval{r.Lo, min(next, r.Hi)})
		}
		next = r.Hi
	}
	if next != BucketCount {
		return nil, fmt.Errorf("bucket map: no fragment owns buckets %v", Interval{next, BucketCount})
	}
	return &Map{epoch: epoch, ranges: rs}, nil
}

// NewInitialMap makes the first map of a database, epoch 1, giving fragments[i] the i-th of the
// InitialRanges.
func NewInitialMap(fragments []FragmentID) *Map {
	m := &Map{epoch: 1}
	for i, v := range InitialRanges(len(fragments)) {
		m.ranges = append(m.ranges, Range{v, fragments[i]})
	}
	return m
}

// Epoch is the map's version; a later map of the same database has a larger one.
func (m *Map) Epoch() uint64 { return m.epoch }

// Ranges returns the map's ranges in order; the caller must not change them.
func (m *Map) Ranges() []Range { return m.ranges }

// Lookup returns the fragment that owns b, in time logarithmic in the number of ranges; NoFragment
// for an assigned one that was not given out by this map, Taken for one that was taken back.
func (m *Map) Lookup(b Bucket) FragmentID {
	i := sort.Search(len(m.ranges), func(i int) bool { return m.ranges[i].Hi > uint32(b) })
	if i == len(m.ranges) || m.ranges[i].Lo > uint32(b) {
		if uint32(b) < m.Top() {
			return Taken
		}
		return NoFragment
	}
	return m.ranges[i].Fragment
}

// Fragments returns the fragments that own a bucket, each once, in the order of their first bucket.
func (m *Map) Fragments() []FragmentID {
	var out []FragmentID
	seen := map[FragmentID]bool{}
	for _, r := range m.ranges {
		if !seen[r.Fragment] {
			seen[r.Fragment] = true
			out = append(out, r.Fragment)
		}
	}
	return out
}

// Owned returns the buckets that a fragment owns.
func (m *Map) Owned(f FragmentID) BucketSet {
	var ivs []Interval
	for _, r := range m.ranges {
		if r.Fragment == f {
			ivs = append(ivs, r.Interval)
		}
	}
	return NewBucketSet(ivs...)
}

// Split divides a set of buckets among the fragments that own them, in the order of each fragment's
// first bucket in the set. Assigned buckets that the map does not have are the share of NoFragment
// and Taken, as Lookup says.
func (m *Map) Split(set BucketSet) []Share {
	var order []FragmentID
	parts := map[FragmentID][]Interval{}
	add := func(f FragmentID, v Interval) {
		if v.Empty() {
			return
		}
		if parts[f] == nil {
			order = append(order, f)
		}
		parts[f] = append(parts[f], v)
	}
	lack := func(v Interval) {
		add(Taken, v.Intersect(Interval{Hi: m.Top()}))
		add(NoFragment, v.Intersect(Interval{Lo: m.Top(), Hi: BucketLimit}))
	}
	i := 0
	for _, v := range set.ivs {
		i += sort.Search(len(m.ranges)-i, func(k int) bool { return m.ranges[i+k].Hi > v.Lo })
		for k := i; k < len(m.ranges) && m.ranges[k].Lo < v.Hi; k++ {
			lack(Interval{v.Lo, m.ranges[k].Lo})
			add(m.ranges[k].Fragment, v.Intersect(m.ranges[k].Interval))
			v.Lo = min(v.Hi, m.ranges[k].Hi)
		}
		lack(v)
	}
	out := make([]Share, len(order))
	for i, f := range order {
		out[i] = Share{f, NewBucketSet(parts[f]...)}
	}
	return out
}

// Reassign returns the map of the next epoch, in which fragment owns v and all else is as before.
// Neighbours that end up with one owner are joined where v touches them.
func (m *Map) Reassign(v Interval, fragment FragmentID) (*Map, error) {
	switch {
	case v.Empty() || !m.Has(v):
		return nil, fmt.Errorf("bucket map: range %d to %d is empty or outside the space", v.Lo, v.Hi)
	case v.Lo < BucketCount && v.Hi > BucketCount:
		return nil, fmt.Errorf("bucket map: some of range %d to %d are assigned buckets, some are not", v.Lo, v.Hi)
	}
	var rs []Range
	for _, r := range m.ranges {
		for _, rest := range []Interval{{r.Lo, min(r.Hi, v.Lo)}, {max(r.Lo, v.Hi), r.Hi}} {
			if !rest.Empty() {
				rs = append(rs, Range{rest, r.Fragment})
			}
		}
	}
	moved := Range{v, fragment}
	rs = slices.DeleteFunc(rs, func(r Range) bool {
		touches := r.Fragment == fragment && (r.Hi == v.Lo || r.Lo == v.Hi) &&
			(r.Lo < BucketCount) == (v.Lo < BucketCount)
		if touches {
			moved.Lo, moved.Hi = min(moved.Lo, r.Lo), max(moved.Hi, r.Hi)
		}
		return touches
	})
	return NewAssignedMap(m.epoch+1, append(rs, moved), m.top)
}

// Cut returns the map of the next epoch, in which the range that holds bucket at is two; the second
// begins with it.
func (m *Map) Cut(at uint32) (*Map, error) {
	i := sort.Search(len(m.ranges), func(i int) bool { return m.ranges[i].Hi > at })
	switch {
	case i == len(m.ranges) || at >= BucketCount:
		return nil, fmt.Errorf("there is no bucket %d that keys are hashed to", at)
	case m.ranges[i].Lo == at:
		return nil, fmt.Errorf("a range begins there")
	}
	rs := slices.Insert(slices.Clone(m.ranges), i+1, m.ranges[i])
	rs[i].Hi, rs[i+1].Lo = at, at
	return NewAssignedMap(m.epoch+1, rs, m.top)
}

// Join returns the map of the next epoch, in which the two ranges of one fragment that meet at
// bucket at are one.
func (m *Map) Join(at uint32) (*Map, error) {
	i := sort.Search(len(m.ranges), func(i int) bool { return m.ranges[i].Hi > at })
	if i == 0 || i == len(m.ranges) || at >= BucketCount || m.ranges[i].Lo != at ||
		m.ranges[i-1].Fragment != m.ranges[i].Fragment {
		return nil, fmt.Errorf("bucket map: no two ranges of one fragment meet at bucket %d", at)
	}
	rs := slices.Clone(m.ranges)
	rs[i-1].Hi = rs[i].Hi
	return NewAssignedMap(m.epoch+1, slices.Delete(rs, i, i+1), m.top)
}
