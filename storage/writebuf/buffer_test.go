package writebuf

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

// TestBufferAgainstModel writes, moves to disk and undoes at random and compares with maps of what
// each mark saw.
func TestBufferAgainstModel(t *testing.T) {
	rnd := rand.New(rand.NewSource(4))
	for round := range 40 {
		var s Buffer
		seen, marks := []map[string]string{{}}, []int{0} // by operations buffered
		for range 300 {
			switch n := rnd.Intn(20); {
			case n == 0:
				to := rnd.Intn(len(seen))
				s.RollbackTo(marks[to])
				seen, marks = seen[:to+1], marks[:to+1]
			case n < 3:
				to := rnd.Intn(len(seen))
				checkSpan(t, &s, seen[to], marks[to], rnd.Intn(2) == 0)
			case n < 5 && round%4 > 0:
				if err := s.Spill(tempFile(t)); err != nil {
					t.Fatal(err)
				}
			default:
				next := maps.Clone(seen[len(seen)-1])
				key, value, del := fmt.Sprintf("key-%02d", rnd.Intn(60)), fmt.Sprint(rnd.Int63()), rnd.Intn(4) == 0
				if rnd.Intn(30) == 0 {
					value = strings.Repeat(value, 1000) // beyond what is read at once
				}
				if next[key] = value; del {
					next[key] = "deleted"
				}
				s.Put(putKind(del), []byte(key), []byte(value), 0)
				seen, marks = append(seen, next), append(marks, s.Mark())
			}
			if want := marks[len(marks)-1]; s.Mark() != want {
				t.Fatalf("mark %d, want %d", s.Mark(), want)
			}
			at := rnd.Intn(len(seen))
			for i := range 60 {
				key := fmt.Sprintf("key-%02d", i)
				op, ok, err := s.Get([]byte(key), marks[at])
				if want, buffered := seen[at][key]; err != nil || ok != buffered || ok && show(op) != want {
					t.Fatalf("%s at %d: %q %v %v, want %q", key, at, show(op), ok, err, want)
				}
			}
		}
		checkSpan(t, &s, seen[len(seen)-1], s.Mark(), false)
		if s.disk != nil {
			if err := s.Spill(tempFile(t)); err != nil {
				t.Fatal(err)
			}
		}
		checkLast(t, &s, seen[len(seen)-1])
		s.Discard()
	}
}

// checkLast compares the write set that a commit logs.
func checkLast(t *testing.T, s *Buffer, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := s.Last(func(op *Op) error {
		if _, twice := got[string(op.Key)]; twice {
			return fmt.Errorf("%s comes twice", op.Key)
		}
		got[string(op.Key)] = show(*op)
		return nil
	})
	if err != nil || !maps.Equal(got, want) {
		t.Fatalf("%v: %v\nwant %v", err, got, want)
	}
}

func rowKey(n int) []byte { return fmt.Appendf(nil, "row-%06d", n) }

func tempFile(t testing.TB) func() (*os.File, error) {
	return func() (*os.File, error) { return os.CreateTemp(t.TempDir(), "") }
}

func show(op Op) string {
	if op.Delete {
		return "deleted"
	}
	return string(op.Value)
}

func checkSpan(t *testing.T, s *Buffer, seen map[string]string, mark int, reverse bool) {
	t.Helper()
	var want, got []string
	for k, v := range seen {
		if k >= "key-10" && k < "key-40" {
			want = append(want, k+v)
		}
	}
	own, err := s.Span(txn.Span{Start: []byte("key-10"), End: []byte("key-40")}, mark, reverse)
	for ; err == nil && own.OK; err = own.Next() {
		got = append(got, string(own.Op.Key)+show(own.Op))
	}
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(want); reverse {
		slices.Reverse(want)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("span at %d: %v\nwant %v", mark, got, want)
	}
}

// TestScanOfLargeValues walks runs of large values: one of them is in memory at a time, not one for
// each run.
func TestScanOfLargeValues(t *testing.T) {
	const runs, each, size = 16, 3, 1 << 20
	var s Buffer
	defer s.Discard()
	for i := range runs * each {
		s.Put(logentry.OpPut, rowKey(i*7%(runs*each)), bytes.Repeat([]byte{byte(i)}, size), 0)
		if i%each == each-1 {
			if err := s.Spill(tempFile(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	own, err := s.Span(txn.Span{}, s.Mark(), false)
	if err != nil || len(own.runs) < runs-1 {
		t.Fatalf("%d runs: %v", len(own.runs), err)
	}
	walked := 0
	for ; err == nil && own.OK; err = own.Next() {
		held := cap(own.buf) + cap(own.large)
		for _, c := range own.runs {
			held += cap(c.buf)
		}
		if len(own.Op.Value) != size || held > 2*size {
			t.Fatalf("key %d: %d bytes of value, %d held", walked, len(own.Op.Value), held)
		}
		walked++
	}
	if err != nil || walked != runs*each {
		t.Fatalf("%d keys: %v", walked, err)
	}
}

// TestBufferPieces checks that blocks become log entries as they are, the small ones at the start
// together.
func TestBufferPieces(t *testing.T) {
	for _, n := range []int{0, 1, 5, 300, 30_000} {
		var s Buffer
		value := bytes.Repeat([]byte("v"), 300)
		for i := range n {
			s.Put(putKind(i%7 == 0), rowKey(i), value, 0)
		}
		pieces, i := s.Pieces(), 0
		for j, p := range pieces {
			if len(p) > logentry.MaxBody || len(pieces) > 1 && j < len(pieces)-1 && len(p) < logentry.MaxBody/4 {
				t.Fatalf("piece %d of %d has %d bytes", j, len(pieces), len(p))
			}
			err := logentry.EachOp(p[logentry.HeadRoom:], func(op logentry.Op, key, v []byte) error {
				if want := i%7 == 0; !bytes.Equal(key, rowKey(i)) || (op == logentry.OpDelete) != want ||
					!want && !bytes.Equal(v, value) {
					return fmt.Errorf("operation %d is %d %x %q", i, op, key, v)
				}
				i++
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if i != n {
			t.Fatalf("%d operations of %d", i, n)
		}
		if op, ok, _ := s.Get(rowKey(n-1), math.MaxInt); n > 0 && (!ok || op.Delete != ((n-1)%7 == 0)) {
			t.Fatal(op, ok)
		}
	}
}

func putKind(del bool) logentry.Op {
	if del {
		return logentry.OpDelete
	}
	return logentry.OpPut
}

// TestScanGoesOnBesideUndoing continues a scan while what is behind its mark is undone in the
// middle of a run, and buffered again.
func TestScanGoesOnBesideUndoing(t *testing.T) {
	const rows = 2 * orderWindow
	for _, reverse := range []bool{false, true} {
		var s Buffer
		put := func(from, to int, value string) {
			for i := from; i < to; i++ {
				s.Put(logentry.OpPut, rowKey(i*7%(2*rows)), []byte(value), 0)
			}
		}
		move := func() {
			if err := s.Spill(tempFile(t)); err != nil {
				t.Fatal(err)
			}
		}
		put(0, rows, "old")
		mark := s.Mark()
		put(rows, 2*rows, "undone")
		move()
		own, err := s.Span(txn.Span{}, mark, reverse)
		n := 0
		for ; err == nil && own.OK; err = own.Next() {
			if string(own.Op.Value) != "old" {
				t.Fatalf("row %d is %q", n, own.Op.Value)
			}
			if n++; n == 2 {
				s.RollbackTo(mark)
				put(rows, 2*rows, "new")
				move()
			}
		}
		if err != nil || n != rows {
			t.Fatalf("%d rows: %v", n, err)
		}
		s.Discard()
	}
}

// TestFailedSpill: a file that cannot be made or written leaves the buffer as it was (WB3), and
// another attempt moves all of it.
func TestFailedSpill(t *testing.T) {
	errNoFile := errors.New("no file")
	closed := func() (*os.File, error) {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err == nil {
			err = f.Close()
		}
		return f, err
	}
	var s Buffer
	defer s.Discard()
	want := map[string]string{}
	for round := range 2 {
		for i := range 10 {
			key := fmt.Sprint("key-", round, i)
			s.Put(logentry.OpPut, []byte(key), []byte("v"), 0)
			want[key] = "v"
		}
		if round > 0 {
			break
		}
		mark := s.Mark()
		if err := s.Spill(func() (*os.File, error) { return nil, errNoFile }); !errors.Is(err, errNoFile) {
			t.Fatal(err)
		}
		if err := s.Spill(closed); !pgerr.Is(err, pgerr.IOError) {
			t.Fatal(err)
		}
		if s.OnDisk() || s.Mark() != mark || s.Count() != 10 || s.Err() != nil {
			t.Fatalf("on disk %v, mark %d, %d operations, %v", s.OnDisk(), s.Mark(), s.Count(), s.Err())
		}
		checkLast(t, &s, want)
	}
	if err := s.Spill(tempFile(t)); err != nil || !s.OnDisk() || s.Count() != 20 {
		t.Fatalf("on disk %v, %d operations: %v", s.OnDisk(), s.Count(), err)
	}
	checkLast(t, &s, want)
}
