package readset

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

func TestReadSetIsBounded(t *testing.T) {
	var s Set
	var keys [][]byte
	for i := range 40_000 {
		key := fmt.Appendf(keyspace.RowPrefix(uint32(20000+i%3), uint32(i%977), 1), "row-%06d", i)
		keys = append(keys, key)
		s.Point(key, txn.Timestamp(100+i))
	}
	spans, T := s.All()
	if len(spans) > maxReadSpans || T != 100 {
		t.Fatal(len(spans), T)
	}
	for _, k := range keys {
		if !Contains(spans, k) {
			t.Fatalf("%x is not covered", k)
		}
	}
	for i, x := range spans[1:] {
		if bytes.Compare(spans[i].End, x.Start) > 0 || len(spans[i].End) == 0 {
			t.Fatalf("spans %x and %x", spans[i], x)
		}
		if keyspace.TableOf(x.Start) != keyspace.TableOf(x.End) {
			t.Fatalf("a span over two tables: %x", x)
		}
	}
	if s.Forget(); !s.Empty() {
		t.Fatal("reads are left")
	}
	s.Add(txn.Span{Start: []byte("a")}, 7)
	s.Point([]byte("b"), 9)
	if spans, T := s.All(); len(spans) != 1 || T != 7 || len(spans[0].End) != 0 || !Contains(spans, []byte("zzz")) {
		t.Fatal(spans, T)
	}
}

func TestPreparedReadsAreBounded(t *testing.T) {
	var s Set
	for i := range maxReadSpans - 1 {
		s.Point(append(keyspace.RowPrefix(1, 2, 1), fmt.Appendf(nil, "row-%06d%0900d", i, 0)...), 1)
	}
	spans, _ := s.All()
	got := Bounded(spans)
	if n := len(logentry.AppendSpans(nil, got)); n > MaxRecorded {
		t.Fatalf("%d bytes", n)
	}
	for _, x := range spans {
		if !Contains(got, x.Start) {
			t.Fatalf("%x is not covered", x.Start)
		}
	}
}
