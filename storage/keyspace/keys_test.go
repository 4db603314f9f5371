package keyspace

import (
	"bytes"
	"slices"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

func TestKeys(t *testing.T) {
	key := append(RowPrefix(20000, 151326, 7), "pk"...)
	if !IsRow(key) || TableOf(key) != 20000 || BucketOf(key) != 151326 || generationOf(key) != 7 ||
		string(PrimaryKeyOf(key)) != "pk" {
		t.Fatalf("%x", key)
	}
	if IsRow(append(IndexPrefix(20000, 1), key...)) || IsRow(Record(Checkpoint)) {
		t.Fatal("an index entry is no row")
	}
	if s := BucketSpan(20000, 151326, 151327); !s.Contains(key) || s.Contains(RowPrefix(20000, 151327, 1)) {
		t.Fatalf("%x", s)
	}
	if s := TableSpan(20000); !s.Contains(key) || s.Contains(RowPrefix(20001, 0, 1)) {
		t.Fatalf("%x", s)
	}
	if got := InBucket(key, 5); BucketOf(got) != 5 || BucketOf(key) != 151326 || string(PrimaryKeyOf(got)) != "pk" {
		t.Fatalf("%x", got)
	}
}

// TestRecords: the replica's own records lie behind all tables and between the edges, and those of
// chunks and pieces count as rows.
func TestRecords(t *testing.T) {
	id := txn.ID{1}
	all := [][]byte{
		Record(Checkpoint), IDRecord(Decision, id), Record(Statistics), Record(BucketCounts), StampRecord(Deletion, 7),
		StampRecord(Outcomes, 7), StampRecord(Forgotten, 7), IDRecord(Prepared, id), ChunkKey([]byte("key"), 1),
		PieceKey(id, 1),
	}
	for _, key := range all {
		if !IsOwn(key) || bytes.Compare(key, End) < 0 || bytes.Compare(key, HighEdge) >= 0 ||
			bytes.Compare(key, LowEdge) <= 0 {
			t.Errorf("%x is at the wrong place", key)
		}
		if kind := KindOf(key); HasRow(key) != (kind == Chunk || kind == Piece) {
			t.Errorf("a record of kind %c has a row: %v", kind, HasRow(key))
		}
	}
	row := RowPrefix(1, 2, 3)
	if !HasRow(row) || IsOwn(row) {
		t.Errorf("%x is a row", row)
	}
	if got := RestOf(IDRecord(Decision, id)); !bytes.Equal(got, id[:]) {
		t.Errorf("%x", got)
	}
}

// TestChunkSpan: a span's chunks are those of its rows, also if it is open at its end.
func TestChunkSpan(t *testing.T) {
	a, b := append(RowPrefix(1, 2, 3), 'a'), append(RowPrefix(1, 2, 3), 'b')
	for _, c := range []struct {
		span   txn.Span
		ofA, b bool
	}{
		{txn.Span{Start: a, End: b}, true, false},
		{txn.Span{Start: b}, false, true},
		{txn.Span{}, true, true},
	} {
		s := ChunkSpan(c.span)
		if s.Contains(ChunkKey(a, 3)) != c.ofA || s.Contains(ChunkKey(b, 0)) != c.b ||
			s.Contains(PieceKey(txn.ID{}, 1)) {
			t.Errorf("chunks of %x: %x", c.span, s)
		}
	}
}

// TestGenerations: a key has its place and its generation in the stored form, and the caller's form
// comes back.
func TestGenerations(t *testing.T) {
	row := append(RowPrefix(20000, 151326, 0), "pk"...)
	entry := append(IndexPrefix(20000, 3), 2, 0x4f, 0x1e, 'x')
	for _, key := range [][]byte{row, entry} {
		for _, generation := range []uint32{0, 1, 1 << 30} {
			stored := Stored(bytes.Clone(key), generation)
			bucket, got, ok := Place(stored)
			if !ok || bucket != 151326 || got != generation || BucketIn(stored) != 151326 {
				t.Errorf("%x: bucket %d, generation %d, %v", stored, bucket, got, ok)
			}
			if back := AppendGiven(nil, stored); !bytes.Equal(back, key) {
				t.Errorf("%x comes back as %x", key, back)
			}
			x := logentry.Index{Table: 20000, Index: IndexOf(key)}
			if s := StoredSpan(x, shardmap.Interval{Lo: 151326, Hi: 151327}, generation); !s.Contains(stored) {
				t.Errorf("%x is not in %x", stored, s)
			}
		}
	}
	for _, short := range [][]byte{row[:10], row[:14]} {
		if _, _, ok := Place(short); ok {
			t.Errorf("%x has a place", short)
		}
	}
}

// TestBounds: a bound that is cut anywhere lies below exactly the stored keys whose caller's form
// lies at or above it.
func TestBounds(t *testing.T) {
	row := append(RowPrefix(20000, 151326, 0), "pk"...)
	entry := append(IndexPrefix(20000, 3), 2, 0x4f, 0x1e, 'x', 'y')
	for _, key := range [][]byte{row, entry} {
		for n := 8; n <= len(key); n++ {
			for _, generation := range []uint32{0, 9} {
				bound, stored := StoredBound(key[:n], generation), Stored(key, generation)
				if n != 8 && n < generationAt {
					continue // within the bucket: it has no generation yet
				}
				if bytes.Compare(bound, stored) > 0 {
					t.Errorf("the bound %x of %d bytes is above %x", bound, n, stored)
				}
			}
		}
		from, to := BucketOfBound(key, false), BucketOfBound(key, true)
		if from != 151326 || to != 151327 {
			t.Errorf("the bounds of %x are in %d, %d", key, from, to)
		}
	}
	if got := BucketOfBound(IndexPrefix(20000, 0), false); got != 0 {
		t.Errorf("a table begins with bucket %d", got)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		key  []byte
		code string
	}{
		{RowPrefix(1, 2, 0), ""},
		{make([]byte, MaxKey+1), pgerr.ProgramLimitExceeded},
		{[]byte("short"), pgerr.InternalError},
		{Record(Checkpoint, 1, 2, 3), pgerr.InternalError},
	} {
		if err := Check(c.key); (err == nil) != (c.code == "") || err != nil && !pgerr.Is(err, c.code) {
			t.Errorf("%.20x: %v", c.key, err)
		}
	}
}

// FuzzForms: keys of two generations of a bucket differ, keep their order, and have one caller's
// form.
func FuzzForms(f *testing.F) {
	f.Add(uint32(3), "abc", "abd", uint32(7))
	f.Add(uint32(0), "", "x", uint32(0))
	f.Fuzz(func(t *testing.T, index uint32, a, b string, generation uint32) {
		key := func(rest string) []byte {
			if index == Rows {
				return append(RowPrefix(1, 2, 0), rest...)
			}
			return append(append(IndexPrefix(1, index), 0, 0, 2), rest...)
		}
		x, y := Stored(key(a), generation), Stored(key(b), generation)
		if slices.Compare(x, y) != slices.Compare(key(a), key(b)) {
			t.Errorf("%x and %x are in another order", x, y)
		}
		if !bytes.Equal(AppendGiven(nil, x), key(a)) {
			t.Errorf("%x does not come back", x)
		}
	})
}
