package shardmap

import "fmt"

// Interval is the half-open range of buckets [Lo, Hi); it is empty unless Lo < Hi.
type Interval struct {
	Lo, Hi uint32
}

// WholeSpace is the interval of all buckets that keys are hashed to.
func WholeSpace() Interval { return Interval{0, BucketCount} }

// OneBucket is the interval that holds b alone.
func OneBucket(b Bucket) Interval { return Interval{uint32(b), uint32(b) + 1} }

// Contains reports whether b lies in the interval.
func (v Interval) Contains(b Bucket) bool { return v.Lo <= uint32(b) && uint32(b) < v.Hi }

// OneKind reports whether the interval has buckets, and either those alone that keys are hashed to
// or assigned ones.
func (v Interval) OneKind() bool {
	return !v.Empty() && v.Hi <= BucketLimit && (v.Lo >= BucketCount || v.Hi <= BucketCount)
}

// Empty reports whether the interval holds no bucket.
func (v Interval) Empty() bool { return v.Lo >= v.Hi }

// Len is the number of buckets in the interval.
func (v Interval) Len() int {
	if v.Empty() {
		return 0
	}
	return int(v.Hi - v.Lo)
}

// Intersect returns the buckets that lie in both; it may be empty.
func (v Interval) Intersect(w Interval) Interval {
	return Interval{max(v.Lo, w.Lo), min(v.Hi, w.Hi)}
}

// String prints "[lo,hi)", or the number alone where the interval holds one bucket.
func (v Interval) String() string {
	if v.Len() == 1 {
		return fmt.Sprint(v.Lo)
	}
	return fmt.Sprintf("[%d,%d)", v.Lo, v.Hi)
}

// InitialRanges cuts the space for a new database of n fragments: fragment i gets [floor(i·2^20/n),
// floor((i+1)·2^20/n)). n must be 1 … BucketCount.
func InitialRanges(n int) []Interval {
	if n < 1 || n > BucketCount {
		panic(fmt.Sprintf("shardmap: %d fragments", n))
	}
	out := make([]Interval, n)
	for i := range out {
		out[i] = Interval{uint32(i * BucketCount / n), uint32((i + 1) * BucketCount / n)}
	}
	return out
}
