package balance

import (
	"maps"
	"slices"

	"github.com/sherddb/sherd/shardmap"
)

// SegmentThreshold is by how many segments of a range table two fragments must differ for a round
// to begin: 2 of fewer than 20 in all, 4 up to 79, 8 from 80 on.
func SegmentThreshold(segments int) int {
	switch {
	case segments < 20:
		return 2
	case segments < 80:
		return 4
	}
	return 8
}

// SegmentMove takes one segment from a fragment to another.
type SegmentMove struct {
	From, To shardmap.FragmentID
}

// EvenSegments returns the moves of a round over the segments of a range table, given how many each
// fragment has. A round begins by SegmentThreshold, or continues if inRound reports that it has
// begun, and ends if no two fragments differ by two.
func EvenSegments(count map[shardmap.FragmentID]int, inRound bool) (out []SegmentMove) {
	ids := slices.Sorted(maps.Keys(count))
	if len(ids) < 2 {
		return nil
	}
	have := make([]int, len(ids))
	total := 0
	for i, id := range ids {
		have[i] = count[id]
		total += have[i]
	}
	for {
		least, most := 0, 0
		for i, n := range have {
			if n < have[least] {
				least = i
			}
			if n > have[most] {
				most = i
			}
		}
		d := have[most] - have[least]
		if d < 2 || !inRound && d < SegmentThreshold(total) {
			return out
		}
		inRound = true
		have[most], have[least] = have[most]-1, have[least]+1
		out = append(out, SegmentMove{ids[most], ids[least]})
	}
}
