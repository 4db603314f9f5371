package balance

import (
	"cmp"
	"slices"

	"github.com/sherddb/sherd/shardmap"
)

// Heat is how often a fragment, or one of its buckets, is read and written, a second.
type Heat struct {
	Fragment      shardmap.FragmentID
	Bucket        int64 // -1: all of the fragment, its hot buckets included
	Reads, Writes float64
}

// Warm returns cells, and the segments of tables, their heat: hot buckets become cells of their
// own, with their part of the bytes; what is left of each fragment's is spread over its cells by
// bytes.
func Warm(m *shardmap.Map, cells []Cell, tables []Table, heat []Heat) []Cell {
	segments := map[shardmap.Bucket]*Segment{}
	for i := range tables {
		for k := range tables[i].Segments {
			segments[tables[i].Segments[k].Bucket] = &tables[i].Segments[k]
		}
	}
	rest, bytes := map[shardmap.FragmentID]Heat{}, map[shardmap.FragmentID]int64{}
	var hot []Heat
	known := map[*Segment]bool{}
	for _, h := range heat {
		x := rest[h.Fragment]
		switch {
		case h.Bucket < 0:
			x.Reads, x.Writes = x.Reads+h.Reads, x.Writes+h.Writes
		case h.Bucket >= shardmap.BucketCount: // also of one that has gone, or was split: that is not for others
			x.Reads, x.Writes = x.Reads-h.Reads, x.Writes-h.Writes
			if s := segments[shardmap.Bucket(h.Bucket)]; s != nil && s.Fragment == h.Fragment {
				s.Reads, s.Writes = s.Reads+h.Reads, s.Writes+h.Writes
				known[s] = true
			}
		case m.Lookup(shardmap.Bucket(h.Bucket)) == h.Fragment:
			x.Reads, x.Writes = x.Reads-h.Reads, x.Writes-h.Writes
			hot = append(hot, h)
		}
		rest[h.Fragment] = x
	}
	slices.SortFunc(hot, func(a, b Heat) int { return cmp.Compare(a.Bucket, b.Bucket) })
	out := apart(cells, hot)
	for i := range out {
		bytes[m.Lookup(shardmap.Bucket(out[i].Lo))] += out[i].Bytes
	}
	for _, s := range segments {
		if !known[s] {
			bytes[s.Fragment] += s.Bytes
		}
	}
	for _, s := range segments {
		if x := rest[s.Fragment]; !known[s] && bytes[s.Fragment] > 0 {
			share := float64(s.Bytes) / float64(bytes[s.Fragment])
			s.Reads, s.Writes = max(x.Reads, 0)*share, max(x.Writes, 0)*share
		}
	}
	for i := range out {
		f := m.Lookup(shardmap.Bucket(out[i].Lo))
		if x := rest[f]; bytes[f] > 0 {
			share := float64(out[i].Bytes) / float64(bytes[f])
			out[i].Reads += float32(max(x.Reads, 0) * share)
			out[i].Writes += float32(max(x.Writes, 0) * share)
		}
	}
	return out
}

// apart takes hot buckets, which are in order, out of their cells.
func apart(cells []Cell, hot []Heat) (out []Cell) {
	for _, c := range cells {
		for len(hot) > 0 && uint32(hot[0].Bucket) < c.Hi {
			b := uint32(hot[0].Bucket)
			if c.Lo < b {
				low := c.part(shardmap.Interval{Lo: c.Lo, Hi: b}, c.Len())
				next := c.minus(low)
				next.Interval = shardmap.Interval{Lo: b, Hi: c.Hi}
				out, c = append(out, low), next
			}
			one := Cell{Interval: shardmap.Interval{Lo: b, Hi: b + 1}} // in no cell: it holds nothing any more
			if b == c.Lo {
				one = c.part(one.Interval, c.Len())
				c = c.minus(one)
				c.Interval = shardmap.Interval{Lo: b + 1, Hi: max(c.Hi, b+1)}
			}
			one.Reads, one.Writes = one.Reads+float32(hot[0].Reads), one.Writes+float32(hot[0].Writes)
			out, hot = append(out, one), hot[1:]
		}
		if !c.Empty() {
			out = append(out, c)
		}
	}
	for _, h := range hot {
		out = append(
			out,
			Cell{
				Interval: shardmap.OneBucket(shardmap.Bucket(h.Bucket)), Reads: float32(h.Reads),
				Writes: float32(h.Writes),
			},
		)
	}
	return out
}
