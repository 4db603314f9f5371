package shardmap

import (
	"slices"
	"testing"
)

func hexKeys(t *testing.T, names ...string) (out [][]byte) {
	t.Helper()
	for _, n := range names {
		k, err := ParseKeyRange(n + "-")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, k.Start)
	}
	return out
}

func (s Segments) names() (out []string) {
	for i := range s {
		out = append(out, s.Range(i).String())
	}
	return out
}

func TestSegmentsByVitessNames(t *testing.T) {
	s := NewSegments(hexKeys(t, "c0", "40", "80", "40"), BucketCount)
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if got, want := s.names(), []string{"-40", "40-80", "80-c0", "c0-"}; !slices.Equal(got, want) {
		t.Fatalf("segments %v, want %v", got, want)
	}
	for key, want := range map[string]Bucket{
		"": 0, "00": 0, "3fff": 0, "40": 1, "4000": 1, "7fffff": 1, "80": 2, "c0": 3, "ff": 3,
	} {
		if got := s.At(hexKeys(t, key)[0]).Bucket - BucketCount; got != want {
			t.Errorf("key %q is in the segment of bucket %d, want %d", key, got, want)
		}
	}
	for name, want := range map[string][]string{
		"-": {"-40", "40-80", "80-c0", "c0-"}, "-40": {"-40"}, "-4000": {"-40", "40-80"}, "50-60": {"40-80"},
		"7f-80": {"40-80"}, "7f-81": {"40-80", "80-c0"}, "d0-": {"c0-"},
	} {
		r, err := ParseKeyRange(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range s.Of(r) {
			got = append(got, s.Range(s.Place(x.Start)).String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("keys %s are in %v, want %v", name, got, want)
		}
	}
	if got := s.Of(KeyRange{Start: []byte{5}, End: []byte{5}}); len(got) != 0 {
		t.Errorf("no keys are in %v", got)
	}
}

// TestReplaceBuckets: new numbers are reserved, take the place of old ones, and what was taken back
// is told from what was not given out.
func TestReplaceBuckets(t *testing.T) {
	m, first, err := NewInitialMap([]FragmentID{1, 2}).Assign([]FragmentID{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	reserved, next, err := m.Reserve(2)
	if err != nil || next != first+2 || reserved.Lookup(next) != Taken || m.Lookup(next) != NoFragment {
		t.Fatalf("reserved %d: %v", next, err)
	}
	old, by := BucketSetOf(first), BucketSetOf(next, next+1)
	split, err := reserved.Replace(old, by, 2)
	if err != nil || split.Epoch() != reserved.Epoch()+1 {
		t.Fatal(err)
	}
	for b, want := range map[Bucket]FragmentID{first: Taken, first + 1: 1, next: 2, next + 1: 2, next + 2: NoFragment} {
		if got := split.Lookup(b); got != want {
			t.Errorf("bucket %d is in fragment %d, want %d", b, got, want)
		}
		if got := split.Split(BucketSetOf(b)); len(got) != 1 || got[0].Fragment != want {
			t.Errorf("bucket %d is divided as %v", b, got)
		}
	}
	if _, err := split.Replace(old, by, 2); err == nil {
		t.Error("a bucket was taken back twice")
	}
	if _, err := split.Replace(BucketSetOf(7), by, 2); err == nil {
		t.Error("a hashed bucket was taken back")
	}
}

func TestSegmentsRefused(t *testing.T) {
	for name, s := range map[string]Segments{
		"order": {{Bucket: BucketCount}, {Start: []byte{2}, Bucket: BucketCount + 1},
			{Start: []byte{1}, Bucket: BucketCount + 2}},
		"first":  {{Start: []byte{2}, Bucket: BucketCount}},
		"twice":  {{Bucket: BucketCount}, {Start: []byte{2}, Bucket: BucketCount}},
		"hashed": {{Bucket: 17}},
		"limit":  {{Bucket: BucketLimit}},
	} {
		if s.Check() == nil {
			t.Errorf("%s: %v pass", name, s)
		}
	}
}
