package engine

import (
	"slices"
	"testing"

	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// read returns the keys of a span, by a scan that is open.
func (o *Scan) read(span txn.Span) (out []string) {
	for o.Cursor.Move(span); o.Cursor.Valid(); o.Cursor.Next() {
		out = append(out, string(o.Cursor.Item().Key()))
	}
	return out
}

// TestScans: from the second scan of an index on, scans use one cursor, which returns what a cursor of
// their own would.
func TestScans(t *testing.T) {
	e := history(t)
	set(t, e, append(keyspace.IndexPrefix(20000, 7), 'x'), "", 5)
	s := e.At(30)
	defer s.Close()
	var k Scans
	defer k.Close()
	open := func(span txn.Span, reverse, keep bool) *Scan {
		t.Helper()
		o, err := k.Open(s, span, reverse, keep)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	spans := []txn.Span{
		{Start: row(4), End: row(5)}, {Start: row(1), End: row(3)}, {Start: row(2), End: row(3)}, {Start: row(3), End: row(4)},
		{Start: row(1), End: row(2)}, keyspace.TableSpan(20000), {Start: row(2), End: row(9)},
	}
	for _, reverse := range []bool{false, true} {
		var before *Scan
		for n, span := range slices.Concat(spans, spans) {
			o := open(span, reverse, true)
			want := (&Scan{Cursor: s.Within(span, reverse)})
			if got, want := o.read(span), want.read(span); !slices.Equal(got, want) {
				t.Errorf("%q, reverse %v: %q, not %q", span, reverse, got, want)
			}
			want.Cursor.Close()
			if _, one := keyspace.IndexOfSpan(span); n > 1 && one != (o == before) {
				t.Errorf("%q, reverse %v: the cursor of the scan before: %v", span, reverse, o == before)
			}
			if k.Done(o); n == 0 || o.whole {
				before = o
			}
		}
	}
	first := open(spans[0], false, true)
	second := open(spans[1], false, true)
	if first == second || !slices.Equal(second.read(spans[1]), []string{string(row(1)), string(row(2))}) ||
		!slices.Equal(first.read(spans[0]), []string{string(row(4))}) {
		t.Error("two scans at once use one cursor")
	}
	k.Fail(first)
	k.Fail(second)
	for range 3 {
		o := open(spans[0], false, false)
		if k.Done(o); o.whole {
			t.Error("a cursor is kept that must not be")
		}
	}
	k.Done(open(spans[0], false, true))
	e.access.end()
	if o, err := k.Open(s, spans[1], false, true); err != e.o.Closed {
		t.Errorf("of an engine that is being closed: %v, %v", o, err)
	}
}
