package counts

import (
	"testing"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

func TestStatisticsOfAssignedBuckets(t *testing.T) {
	s := New()
	var d Deltas
	for _, bucket := range []uint32{0, 255, 256, shardmap.BucketCount - 1, shardmap.BucketCount,
		shardmap.BucketCount + 1, shardmap.BucketLimit - 1} {
		d.Add(keyspace.BucketSpan(20000, bucket, bucket+1).Start, 1, 10)
	}
	if err := s.Apply(d.Encode()); err != nil {
		t.Fatal(err)
	}
	back := New()
	s.All(func(key, value []byte) {
		if err := back.Load(key[len(keyspace.Record(keyspace.Statistics)):], value); err != nil {
			t.Fatal(err)
		}
	})
	want := []Range{
		{20000, 0, 256, 2, 20}, {20000, 256, 512, 1, 10},
		{20000, shardmap.BucketCount - 256, shardmap.BucketCount, 1, 10},
		{20000, shardmap.BucketCount, shardmap.BucketCount + 1, 1, 10},
		{20000, shardmap.BucketCount + 1, shardmap.BucketCount + 2, 1, 10},
		{20000, shardmap.BucketLimit - 1, shardmap.BucketLimit, 1, 10},
	}
	got := back.ByGroup()
	if len(got) != len(want) {
		t.Fatalf("counts %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("count %d is %v, want %v", i, got[i], want[i])
		}
	}
	back.Drop(txn.Prefix(keyspace.IndexPrefix(20000, keyspace.Rows)))
	if left := back.ByGroup(); len(left) != 0 {
		t.Errorf("dropped with the table, and left: %v", left)
	}
}
