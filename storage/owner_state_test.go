package storage

import (
	"testing"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
)

func TestUnsaidBuckets(t *testing.T) {
	span := BucketRange{Lo: shardmap.BucketCount - 2, Hi: shardmap.BucketCount + 3}
	moved := ownRange{OwnedRange: OwnedRange{BucketRange: BucketRange{Lo: shardmap.BucketCount + 1, Hi: shardmap.BucketCount + 2}, State: Gone, Move: 3}}
	got := pieces([]ownRange{moved}, span, NotOwned)
	want := []ownRange{
		{OwnedRange: OwnedRange{BucketRange: BucketRange{Lo: shardmap.BucketCount - 2, Hi: shardmap.BucketCount}, State: NotOwned}},
		{OwnedRange: OwnedRange{BucketRange: BucketRange{Lo: shardmap.BucketCount, Hi: shardmap.BucketCount + 1}, State: Owned}},
		moved,
		{OwnedRange: OwnedRange{BucketRange: BucketRange{Lo: shardmap.BucketCount + 2, Hi: shardmap.BucketCount + 3}, State: Owned}},
	}
	if len(got) != len(want) {
		t.Fatalf("pieces %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("piece %d is %v, want %v", i, got[i], want[i])
		}
	}
	o := &ownership{first: NotOwned}
	if s := o.find(shardmap.BucketCount).State; s != Owned {
		t.Errorf("an assigned bucket of which nothing is said is %v", s)
	}
	if s := o.find(0).State; s != NotOwned {
		t.Errorf("a bucket that keys are hashed to is %v where nothing is said", s)
	}
}

func TestStatisticsOfAssignedBuckets(t *testing.T) {
	s := newStatistics()
	var d deltas
	for _, bucket := range []uint32{0, 255, 256, shardmap.BucketCount - 1, shardmap.BucketCount, shardmap.BucketCount + 1, shardmap.BucketLimit - 1} {
		d.add(BucketSpan(20000, bucket, bucket+1).Start, 1, 10)
	}
	if err := s.apply(d.encode()); err != nil {
		t.Fatal(err)
	}
	back := newStatistics()
	s.all(func(key, value []byte) {
		if err := back.load(key[len(ownKey(ownStats)):], value); err != nil {
			t.Fatal(err)
		}
	})
	want := []BucketStat{
		{20000, 0, 256, 2, 20}, {20000, 256, 512, 1, 10}, {20000, shardmap.BucketCount - 256, shardmap.BucketCount, 1, 10},
		{20000, shardmap.BucketCount, shardmap.BucketCount + 1, 1, 10}, {20000, shardmap.BucketCount + 1, shardmap.BucketCount + 2, 1, 10},
		{20000, shardmap.BucketLimit - 1, shardmap.BucketLimit, 1, 10},
	}
	got := back.list()
	if len(got) != len(want) {
		t.Fatalf("counts %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("count %d is %v, want %v", i, got[i], want[i])
		}
	}
	back.drop(txn.Prefix(IndexPrefix(20000, rowIndex)))
	if left := back.list(); len(left) != 0 {
		t.Errorf("dropped with the table, and left: %v", left)
	}
}
