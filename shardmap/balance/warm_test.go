package balance

import (
	"slices"
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

func TestWarm(t *testing.T) {
	m := shardmap.NewInitialMap([]shardmap.FragmentID{1, 2})
	half := uint32(shardmap.BucketCount / 2)
	cells := []Cell{
		{Interval: shardmap.Interval{Lo: 100, Hi: 110}, Bytes: 1000, Documents: 10},
		{Interval: shardmap.Interval{Lo: 200, Hi: 210}, Bytes: 3000, Documents: 30},
		{Interval: shardmap.Interval{Lo: half, Hi: half + 10}, Bytes: 50, Documents: 5},
	}
	got := Warm(m, cells, nil, []Heat{
		{1, -1, 100, 40}, {1, 105, 20, 0}, {1, 50, 4, 4}, {1, 109, 16, 16}, {1, int64(half) + 3, 99, 99},
		{2, -1, 10, 0}, {2, 900_000, 10, 0},
	})
	want := []Cell{
		{Interval: shardmap.Interval{Lo: 50, Hi: 51}, Reads: 4, Writes: 4},
		{Interval: shardmap.Interval{Lo: 100, Hi: 105}, Bytes: 500, Documents: 5, Reads: 7.5, Writes: 2.5},
		{Interval: shardmap.Interval{Lo: 105, Hi: 106}, Bytes: 100, Documents: 1, Reads: 21.5, Writes: 0.5},
		{Interval: shardmap.Interval{Lo: 106, Hi: 109}, Bytes: 300, Documents: 3, Reads: 4.5, Writes: 1.5},
		{Interval: shardmap.Interval{Lo: 109, Hi: 110}, Bytes: 100, Documents: 1, Reads: 17.5, Writes: 16.5},
		{Interval: shardmap.Interval{Lo: 200, Hi: 210}, Bytes: 3000, Documents: 30, Reads: 45, Writes: 15},
		{Interval: shardmap.Interval{Lo: half, Hi: half + 10}, Bytes: 50, Documents: 5},
		{Interval: shardmap.Interval{Lo: 900_000, Hi: 900_001}, Reads: 10},
	}
	if !slices.Equal(got, want) {
		t.Errorf("cells\n%v, want\n%v", got, want)
	}
}
