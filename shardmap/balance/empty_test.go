package balance

import (
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

// emptied empties fragments one after the other, as their removals do: each sees what those before
// it move. It returns buckets and bytes of those that stay.
func emptied(
	t *testing.T, in Input, gone ...shardmap.FragmentID,
) (buckets map[shardmap.FragmentID]int, bytes map[shardmap.FragmentID]int64) {
	t.Helper()
	for i := range in.Fragments {
		for _, id := range gone {
			in.Fragments[i].Drains = in.Fragments[i].Drains || in.Fragments[i].ID == id
		}
	}
	for _, id := range gone {
		for _, r := range Empty(in, id) {
			next, err := in.Map.Reassign(r.Interval, r.Fragment)
			if err != nil {
				t.Fatal(err)
			}
			in.Map = next
		}
		if n := in.Map.Owned(id).Len(); n > 0 {
			t.Errorf("fragment %d keeps %d buckets", id, n)
		}
	}
	buckets, bytes = map[shardmap.FragmentID]int{}, map[shardmap.FragmentID]int64{}
	for _, f := range in.Map.Fragments() {
		buckets[f] = in.Map.Owned(f).Len()
	}
	for _, c := range cutAtMap(in.Cells, in.Map) {
		bytes[in.Map.Lookup(shardmap.Bucket(c.Lo))] += c.Bytes
	}
	return buckets, bytes
}

// TestEmpty: what stays is even, by bytes if there are any, else by buckets, in whichever order the
// removals go on.
func TestEmpty(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		gone  []shardmap.FragmentID
	}{
		{[]int64{0, 0, 0, 0, 0}, []shardmap.FragmentID{5, 4}}, {[]int64{0, 0, 0, 0, 0}, []shardmap.FragmentID{4, 5}},
		{[]int64{0, 0, 0}, []shardmap.FragmentID{3}}, {[]int64{0, 0, 0}, []shardmap.FragmentID{2}},
		{make([]int64, 10), []shardmap.FragmentID{10, 9, 8, 7, 6, 5, 4, 3, 2}},
		{[]int64{900, 900, 900, 900, 900}, []shardmap.FragmentID{5, 4}},
		{[]int64{100, 500, 900, 4000, 2000}, []shardmap.FragmentID{5, 4}},
		{[]int64{2000, 2000, 4000}, []shardmap.FragmentID{3}},
	} {
		buckets, bytes := emptied(t, database(c.sizes...), c.gone...)
		stay, all := len(c.sizes)-len(c.gone), int64(0)
		for _, n := range c.sizes {
			all += n * mib
		}
		for f, n := range buckets {
			if all == 0 && (n-shardmap.BucketCount/stay)*50 > shardmap.BucketCount ||
				all == 0 && (shardmap.BucketCount/stay-n)*50 > shardmap.BucketCount {
				t.Errorf("%v without %v: fragment %d has %d buckets", c.sizes, c.gone, f, n)
			}
			if d := bytes[f] - all/int64(stay); max(d, -d)*50 > all {
				t.Errorf("%v without %v: fragment %d has %s", c.sizes, c.gone, f, sized(bytes[f]))
			}
		}
		if len(buckets) != stay {
			t.Errorf("%v without %v: %v", c.sizes, c.gone, buckets)
		}
	}
}

// TestEmptyRules: pinned buckets stay, and a fragment that is frozen takes nothing.
func TestEmptyRules(t *testing.T) {
	in := database(0, 0, 0, 0)
	pin := shardmap.Interval{Lo: 5, Hi: 50}
	in.Rules = []Rule{{Interval: pin, Fragments: []shardmap.FragmentID{1}}}
	in.Fragments[1].Frozen = true
	buckets, _ := emptied(t, in, 4)
	if n := buckets[2]; n != shardmap.BucketCount/4 {
		t.Errorf("the frozen one has %d buckets", n)
	}
	if d := buckets[1] - buckets[3]; max(d, -d) > shardmap.BucketCount/50 {
		t.Errorf("the others have %v", buckets)
	}
}

// TestEmptyLarge: buckets above 128 MiB go if their fragment does, each to the fragment with most
// room, and those of others stay.
func TestEmptyLarge(t *testing.T) {
	in := database(0, 0, 0)
	in.Cells = nil
	for i, r := range in.Map.Ranges() {
		for k := range uint32(4) {
			in.Cells = append(
				in.Cells,
				Cell{Interval: shardmap.Interval{Lo: r.Lo + 10*k, Hi: r.Lo + 10*k + 1}, Bytes: int64(i+1) * 150 * mib},
			)
		}
	}
	_, bytes := emptied(t, in, 3)
	if bytes[1] != (600+2*450)*mib && bytes[1] != (600+3*450)*mib || bytes[1]+bytes[2] != 3600*mib {
		t.Errorf("bytes: %v", bytes)
	}
}
