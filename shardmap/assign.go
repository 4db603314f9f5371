package shardmap

import (
	"fmt"
	"slices"
	"sort"
)

// Assigned buckets. No key is hashed to numbers from BucketCount on: a definition (a segment of a
// range table, a prefix rule) names the bucket of its rows. These buckets are assigned one after
// another, per database, never twice (B6), and are owned, moved, fenced, counted and verified like
// all others. A map has those that were assigned and not released; no row is in any other.

// NewAssignedMap makes a map as NewMap does, of ranges that may be assigned. top is the first
// number that was never assigned.
func NewAssignedMap(epoch uint64, ranges []Range, top uint32) (*Map, error) {
	var hashed, assigned []Range
	for _, r := range ranges {
		if r.Lo < BucketCount {
			hashed = append(hashed, r)
		} else {
			assigned = append(assigned, r)
		}
	}
	m, err := NewMap(epoch, hashed)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(assigned, func(a, b Range) int { return int(a.Lo) - int(b.Lo) })
	at := uint32(BucketCount)
	for _, r := range assigned {
		switch {
		case r.Empty():
			return nil, fmt.Errorf("bucket map: range %d to %d is empty", r.Lo, r.Hi)
		case r.Lo < at:
			return nil, fmt.Errorf("bucket map: two fragments own buckets %v", Interval{r.Lo, min(at, r.Hi)})
		}
		at = r.Hi
	}
	if top == 0 {
		top = BucketCount
	}
	if top > BucketLimit || at > top {
		return nil, fmt.Errorf("bucket map: assigned buckets up to %d, of which %d were given out", at, top)
	}
	if m.ranges = append(m.ranges, assigned...); top > BucketCount {
		m.top = top
	}
	return m, nil
}

// Top returns the first number of a bucket that was never assigned.
func (m *Map) Top() uint32 { return max(m.top, BucketCount) }

// Assign returns the map of the next epoch, in which one new bucket belongs to each of fragments,
// in their order, and the number of the first of them.
func (m *Map) Assign(fragments []FragmentID) (next *Map, first Bucket, err error) {
	top := m.Top()
	ranges := make([]Range, len(fragments))
	for i, f := range fragments {
		ranges[i] = Range{OneBucket(Bucket(top + uint32(i))), f}
	}
	next, err = m.assign(ranges, len(fragments))
	return next, Bucket(top), err
}

// AssignShares returns the map of the next epoch with n new buckets in a row, which fragments share
// in their order.
func (m *Map) AssignShares(fragments []FragmentID, n int) (next *Map, all Interval, err error) {
	top := m.Top()
	all = Interval{top, top + uint32(n)}
	if n < len(fragments) {
		return nil, all, fmt.Errorf("bucket map: %d new buckets cannot be shared by %d fragments", n, len(fragments))
	}
	var ranges []Range
	for i, f := range fragments {
		share := Interval{top + uint32(n*i/len(fragments)), top + uint32(n*(i+1)/len(fragments))}
		ranges = append(ranges, Range{share, f})
	}
	next, err = m.assign(ranges, n)
	return next, all, err
}

// AssignAt returns the map of the next epoch with the buckets of an interval, none of them assigned
// before, which fragments share in their order. Unassigned numbers below the interval are never
// assigned.
func (m *Map) AssignAt(fragments []FragmentID, all Interval) (next *Map, err error) {
	n := all.Len()
	if all.Lo < m.Top() || all.Hi > BucketLimit || len(fragments) == 0 || n < len(fragments) {
		return nil, fmt.Errorf(
			"bucket map: buckets %v cannot be given out to %d fragments; those below %d were", all, len(fragments),
			m.Top(),
		)
	}
	var ranges []Range
	for i, f := range fragments {
		share := Interval{all.Lo + uint32(n*i/len(fragments)), all.Lo + uint32(n*(i+1)/len(fragments))}
		ranges = append(ranges, Range{share, f})
	}
	return NewAssignedMap(m.epoch+1, append(slices.Clone(m.ranges), ranges...), all.Hi)
}

// assign returns the map of the next epoch with n new buckets, in ranges.
func (m *Map) assign(ranges []Range, n int) (*Map, error) {
	top := m.Top()
	if len(ranges) == 0 || n > int(BucketLimit-top) {
		return nil, fmt.Errorf("bucket map: %d new buckets, where %d can be given out", n, BucketLimit-top)
	}
	return NewAssignedMap(m.epoch+1, append(slices.Clone(m.ranges), ranges...), top+uint32(n))
}

// Reserve returns the map of the next epoch with n more numbers assigned, and the first of them.
// Their buckets have no owner yet (Replace).
func (m *Map) Reserve(n int) (next *Map, first Bucket, err error) {
	top := m.Top()
	if n <= 0 || n > int(BucketLimit-top) {
		return nil, 0, fmt.Errorf("bucket map: %d new buckets, where %d can be given out", n, BucketLimit-top)
	}
	next, err = NewAssignedMap(m.epoch+1, m.ranges, top+uint32(n))
	return next, Bucket(top), err
}

// Replace returns the map of the next epoch, in which some assigned buckets are released, and
// other, reserved buckets belong to a fragment instead.
func (m *Map) Replace(old, by BucketSet, fragment FragmentID) (*Map, error) {
	if !old.Intersect(AllBuckets()).IsEmpty() || !old.Minus(m.All()).IsEmpty() {
		return nil, fmt.Errorf("bucket map: of buckets %v some are not assigned", old.Intervals())
	}
	next, err := m.Release(old)
	if err != nil {
		return nil, err
	}
	ranges := slices.Clone(next.ranges)
	for _, b := range by.Intervals() {
		for at := b.Lo; at < b.Hi; at++ {
			ranges = append(ranges, Range{OneBucket(Bucket(at)), fragment})
		}
	}
	return NewAssignedMap(m.epoch+1, ranges, m.Top())
}

// Release returns the map of the next epoch without some assigned buckets, which no definition
// names any more. Their numbers are not assigned again.
func (m *Map) Release(set BucketSet) (*Map, error) {
	if ivs := set.Intervals(); len(ivs) > 0 && ivs[0].Lo < BucketCount {
		return nil, fmt.Errorf("bucket map: buckets %v are not assigned", ivs[0])
	}
	var ranges []Range
	for _, r := range m.ranges {
		for _, v := range NewBucketSet(r.Interval).Minus(set).Intervals() {
			ranges = append(ranges, Range{v, r.Fragment})
		}
	}
	return NewAssignedMap(m.epoch+1, ranges, m.Top())
}

// All is the set of all buckets that the map has, assigned ones too.
func (m *Map) All() BucketSet {
	if m.Top() == BucketCount {
		return AllBuckets()
	}
	return NewBucketSet(m.intervals(m.ranges)...)
}

// Assigned is the set of the assigned buckets that the map has.
func (m *Map) Assigned() BucketSet { return NewBucketSet(m.intervals(m.ranges[m.hashed():])...) }

// Hashed returns the map's ranges of buckets that keys are hashed to, in order; the caller must not
// change them.
func (m *Map) Hashed() []Range { return m.ranges[:m.hashed()] }

func (m *Map) intervals(ranges []Range) []Interval {
	ivs := make([]Interval, len(ranges))
	for i := range ranges {
		ivs[i] = ranges[i].Interval
	}
	return ivs
}

// hashed is the number of ranges that are not assigned.
func (m *Map) hashed() int {
	return sort.Search(len(m.ranges), func(i int) bool { return m.ranges[i].Lo >= BucketCount })
}

// Has reports whether the map has all buckets of an interval.
func (m *Map) Has(v Interval) bool {
	return NewBucketSet(v).Minus(m.All()).IsEmpty()
}
