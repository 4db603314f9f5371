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

// TestTotal checks that the total of a table stays the sum of its groups, whatever changes these.
func TestTotal(t *testing.T) {
	check := func(what string, s *Sums) {
		t.Helper()
		want := map[uint32]tally{}
		for _, r := range s.ByTable(0) {
			v := want[r.Table]
			want[r.Table] = tally{v.docs + r.Documents, v.bytes + r.Bytes}
		}
		for _, table := range []uint32{20000, 20001, 20002} {
			docs, bytes := s.Total(table)
			if got := (tally{docs, bytes}); got != want[table] {
				t.Errorf("%s: the total of table %d is %v, want %v", what, table, got, want[table])
			}
		}
	}
	add := func(rows int) []byte {
		var d Deltas
		for i := range rows {
			table, bucket := uint32(20000+i%2), uint32(i*100)
			d.Add(keyspace.BucketSpan(table, bucket, bucket+1).Start, 1, 10+i)
		}
		return d.Encode()
	}
	s := New()
	for what, err := range map[string]error{"apply": s.Apply(add(50)), "leave": s.Leave(add(7))} {
		if err != nil {
			t.Fatal(what, err)
		}
	}
	check("applied", s)
	back := New()
	s.All(func(key, value []byte) {
		if err := back.Load(key[len(keyspace.Record(keyspace.Statistics)):], value); err != nil {
			t.Fatal(err)
		}
	})
	check("loaded", back)
	c := s.Clone()
	s.Drop(txn.Prefix(keyspace.IndexPrefix(20000, keyspace.Rows)))
	check("dropped", s)
	check("cloned", c)
	if docs, _ := s.Total(20000); docs != 0 {
		t.Errorf("%d documents of a dropped table", docs)
	}
	s.Replace(back)
	check("replaced", s)
}
