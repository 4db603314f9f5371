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
	for key, want := range map[string]Bucket{"": 0, "00": 0, "3fff": 0, "40": 1, "4000": 1, "7fffff": 1, "80": 2, "c0": 3, "ff": 3} {
		if got := s.At(hexKeys(t, key)[0]).Bucket - BucketCount; got != want {
			t.Errorf("key %q is in the segment of bucket %d, want %d", key, got, want)
		}
	}
	for name, want := range map[string][]string{
		"-": {"-40", "40-80", "80-c0", "c0-"}, "-40": {"-40"}, "-4000": {"-40", "40-80"}, "50-60": {"40-80"}, "7f-80": {"40-80"}, "7f-81": {"40-80", "80-c0"}, "d0-": {"c0-"},
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

func TestSplitAndMergeSegments(t *testing.T) {
	s := NewSegments(nil, BucketCount)
	k := hexKeys(t, "40", "80")
	a, err := s.Split(k[1], BucketCount+1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.Split(k[0], BucketCount+2)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.names(), []string{"-40", "40-80", "80-"}; !slices.Equal(got, want) {
		t.Fatalf("segments %v, want %v", got, want)
	}
	if got := b[1]; got.Bucket != BucketCount+2 {
		t.Errorf("the new segment is %v", got)
	}
	if len(s) != 1 || len(a) != 2 {
		t.Error("segments were changed in place")
	}
	if _, err := b.Split(k[0], BucketCount+3); err == nil {
		t.Error("split where a segment begins")
	}
	c, err := b.Merge(k[1])
	if err != nil || c.Check() != nil {
		t.Fatal(err, c.Check())
	}
	if got := c[1]; got.Bucket != BucketCount+2 || len(c) != 2 {
		t.Errorf("merged: %v", got)
	}
	d, err := c.Merge(k[0])
	if err != nil || len(d) != 1 || d[0].Bucket != BucketCount {
		t.Fatalf("merged: %v, %v", d, err)
	}
	if _, err := d.Merge(k[0]); err == nil {
		t.Error("merged where no segments meet")
	}
}

func TestSegmentsRefused(t *testing.T) {
	for name, s := range map[string]Segments{
		"order":  {{Bucket: BucketCount}, {Start: []byte{2}, Bucket: BucketCount + 1}, {Start: []byte{1}, Bucket: BucketCount + 2}},
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
