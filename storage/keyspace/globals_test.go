package keyspace

import (
	"testing"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

func TestGlobals(t *testing.T) {
	g := NewGlobals(func(_, index uint32) bool { return index == 1 })
	g.Add(20000, 2)
	entry := func(index uint32) []byte { return append(IndexPrefix(20000, index), 0, 0, 0, 50, 0, 0, 0, 0, 'k') }
	for index, global := range map[uint32]bool{1: true, 2: true, 3: false} {
		key := entry(index)
		if g.Is(logentry.Index{Table: 20000, Index: index}) != global || g.Has(key) != global ||
			g.IsLocalEntry(key) == global {
			t.Errorf("index %d: want global %v", index, global)
		}
		if _, ok := g.Bucket(key); ok != global {
			t.Errorf("index %d: its keys have a bucket: %v", index, ok)
		}
	}
	row := append(RowPrefix(20000, 50, 0), 'k')
	if g.Has(row) || g.IsLocalEntry(row) {
		t.Error("a row counts as an index entry")
	}
	in, out := []shardmap.Interval{{Lo: 50, Hi: 51}}, []shardmap.Interval{{Lo: 51, Hi: 60}}
	if !g.Within(row, in) || g.Within(row, out) || g.Within(entry(3), in) {
		t.Error("Within does not go by the bucket")
	}
	span := BucketSpan(20000, 50, 52)
	if !SpansTouch([]txn.Span{span}, in) || SpansTouch([]txn.Span{span}, []shardmap.Interval{{Lo: 52, Hi: 60}}) {
		t.Errorf("a span of buckets 50 and 51 touches %v", BucketsOf(span))
	}
}
