package counts

import (
	"bytes"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/keyspace"
)

// goldenExact are the records of a group that is counted by bucket.
func goldenExact() (out []struct{ key, value []byte }) {
	c := &exactCount{base: true, slack: 300, sums: map[bucketKey]tally{{20000, 700}: {2, 5 << 20}},
		dirty: map[bucketKey]struct{}{{20000, 700}: {}}}
	x := newExactCounts()
	x.counts[2] = c
	_ = x.checkpoint(func(key, value []byte) error {
		out = append(out, struct{ key, value []byte }{key, value})
		return nil
	})
	return out
}

// goldenStats are the statistics of an entry, in both forms.
func goldenStats() (groups, buckets []byte) {
	var d Deltas
	d.Add(keyspace.RowPrefix(20000, 151326, 1), 1, 300)
	d.Add(keyspace.RowPrefix(20000, 7, 1), -1, -12)
	b := BucketDeltas{}
	b.Add(keyspace.RowPrefix(20000, 151326, 1), 1, 300)
	b.Add(keyspace.RowPrefix(20000, 7, 1), -1, -12)
	b.Add(keyspace.RowPrefix(20000, shardmap.BucketCount+9, 1), 2, 44)
	b.fold(groupKey{20001, 3}, tally{5, 600})
	return d.Encode(), b.encodeByBucket()
}

// TestGoldenCounts compares the formats with their lines among those of all formats of storage.
func TestGoldenCounts(t *testing.T) {
	groups, buckets := goldenStats()
	lines := []string{"statistics-of-groups " + hex.EncodeToString(groups),
		"statistics-of-buckets " + hex.EncodeToString(buckets)}
	for _, x := range goldenExact() {
		lines = append(lines, "exact-key "+hex.EncodeToString(x.key), "exact-value "+hex.EncodeToString(x.value))
	}
	want, err := os.ReadFile("../testdata/formats-1.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if !slices.Contains(strings.Split(string(want), "\n"), l) {
			t.Errorf("a format on disk has changed: %s", l)
		}
	}
}

// FuzzDecode reads deltas and records that may be damaged.
func FuzzDecode(f *testing.F) {
	groups, buckets := goldenStats()
	f.Add(groups)
	f.Add(buckets)
	for _, x := range goldenExact() {
		f.Add(append(x.key[len(x.key)-min(len(x.key), 7):], x.value...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New()
		_ = s.Apply(b)
		_ = s.Load(b[:min(6, len(b))], b)
		_ = s.LoadExact(b[:min(2, len(b))], b[min(2, len(b)):])
		_ = s.LoadExact(b[:min(7, len(b))], b[min(7, len(b)):])
		if d, err := DecodeDeltas(b); err == nil {
			if e, err := DecodeDeltas(d.Encode()); err != nil || !bytes.Equal(d.Encode(), e.Encode()) {
				t.Fatal(err)
			}
		}
	})
}
