package shardmap

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// BucketSet is a set of buckets kept as sorted intervals that neither overlap nor touch, assigned
// ones among them. The zero value is empty.
type BucketSet struct {
	ivs []Interval
}

// NewBucketSet makes the union of intervals, which may overlap, touch, be empty and stand in any
// order. What lies outside the space is cut off.
func NewBucketSet(intervals ...Interval) BucketSet {
	ivs := make([]Interval, 0, len(intervals))
	for _, v := range intervals {
		if v = v.Intersect(Interval{0, BucketLimit}); !v.Empty() {
			ivs = append(ivs, v)
		}
	}
	slices.SortFunc(ivs, func(a, b Interval) int { return cmp.Compare(a.Lo, b.Lo) })
	return BucketSet{mergeSorted(ivs)}
}

// mergeSorted joins, in place, neighbours that overlap or touch.
func mergeSorted(ivs []Interval) []Interval {
	out := ivs[:0]
	for _, v := range ivs {
		if n := len(out); n > 0 && v.Lo <= out[n-1].Hi {
			out[n-1].Hi = max(out[n-1].Hi, v.Hi)
			continue
		}
		out = append(out, v)
	}
	return out
}

// AllBuckets is the set of all buckets that keys are hashed to. Map.All has the assigned ones too.
func AllBuckets() BucketSet { return NewBucketSet(WholeSpace()) }

// BucketSetOf is the set of the given buckets.
func BucketSetOf(buckets ...Bucket) BucketSet {
	ivs := make([]Interval, len(buckets))
	for i, b := range buckets {
		ivs[i] = OneBucket(b)
	}
	return NewBucketSet(ivs...)
}

// Intervals returns the set's intervals in order; the caller must not change them.
func (s BucketSet) Intervals() []Interval { return s.ivs }

// IsEmpty reports whether the set holds no bucket.
func (s BucketSet) IsEmpty() bool { return len(s.ivs) == 0 }

// IsAll reports whether the set holds every bucket that keys are hashed to, and no other.
func (s BucketSet) IsAll() bool { return len(s.ivs) == 1 && s.ivs[0] == WholeSpace() }

// Len is the number of buckets in the set.
func (s BucketSet) Len() int {
	n := 0
	for _, v := range s.ivs {
		n += v.Len()
	}
	return n
}

// Contains reports whether b is in the set, in time logarithmic in the number of intervals.
func (s BucketSet) Contains(b Bucket) bool {
	i, found := slices.BinarySearchFunc(s.ivs, uint32(b), func(v Interval, b uint32) int {
		switch {
		case v.Hi <= b:
			return -1
		case v.Lo > b:
			return 1
		}
		return 0
	})
	return found && s.ivs[i].Contains(b)
}

// Equal reports whether both sets hold the same buckets.
func (s BucketSet) Equal(t BucketSet) bool { return slices.Equal(s.ivs, t.ivs) }

// Union returns the buckets of either set.
func (s BucketSet) Union(t BucketSet) BucketSet {
	switch {
	case s.IsEmpty():
		return t
	case t.IsEmpty():
		return s
	}
	return NewBucketSet(slices.Concat(s.ivs, t.ivs)...)
}

// UnionOf returns the buckets of several sets.
func UnionOf(sets ...BucketSet) BucketSet {
	if len(sets) == 1 {
		return sets[0]
	}
	var all []Interval
	for _, s := range sets {
		all = append(all, s.ivs...)
	}
	return NewBucketSet(all...)
}

// Intersect returns the buckets of both sets. If one of them is a single interval, it takes time
// logarithmic in the intervals of the other one.
func (s BucketSet) Intersect(t BucketSet) BucketSet {
	if len(s.ivs) == 1 {
		s, t = t, s
	}
	i := 0
	if len(t.ivs) == 1 {
		i = sort.Search(len(s.ivs), func(i int) bool { return s.ivs[i].Hi > t.ivs[0].Lo })
	}
	var out []Interval
	for j := 0; i < len(s.ivs) && j < len(t.ivs); {
		if v := s.ivs[i].Intersect(t.ivs[j]); !v.Empty() {
			out = append(out, v)
		}
		if s.ivs[i].Hi < t.ivs[j].Hi {
			i++
		} else {
			j++
		}
	}
	return BucketSet{out}
}

// Minus returns the buckets of s that are not in t.
func (s BucketSet) Minus(t BucketSet) BucketSet {
	var out []Interval
	i := 0
	for _, v := range s.ivs {
		for i < len(t.ivs) && t.ivs[i].Hi <= v.Lo {
			i++
		}
		for k := i; k < len(t.ivs) && t.ivs[k].Lo < v.Hi; k++ {
			if v.Lo < t.ivs[k].Lo {
				out = append(out, Interval{v.Lo, t.ivs[k].Lo})
			}
			v.Lo = t.ivs[k].Hi
		}
		if !v.Empty() {
			out = append(out, v)
		}
	}
	return BucketSet{out}
}

// Complement returns the buckets that keys are hashed to and that are not in the set.
func (s BucketSet) Complement() BucketSet { return AllBuckets().Minus(s) }

// String prints the intervals in order, separated by ", ".
func (s BucketSet) String() string {
	parts := make([]string, len(s.ivs))
	for i, v := range s.ivs {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}
