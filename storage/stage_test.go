package storage

import (
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/sherddb/sherd/txn"
)

// TestStageAgainstModel stages and undoes at random and compares with maps of what each mark saw.
func TestStageAgainstModel(t *testing.T) {
	rnd := rand.New(rand.NewSource(4))
	for range 30 {
		var s stage
		seen := []map[string]string{{}} // by mark
		for range 300 {
			switch n := rnd.Intn(20); {
			case n == 0:
				mark := rnd.Intn(len(seen))
				s.rollbackTo(mark)
				seen = seen[:mark+1]
			case n < 3:
				checkSpan(t, &s, seen, rnd.Intn(len(seen)), rnd.Intn(2) == 0)
			default:
				next := map[string]string{}
				for k, v := range seen[len(seen)-1] {
					next[k] = v
				}
				key, value, del := fmt.Sprintf("key-%02d", rnd.Intn(60)), fmt.Sprint(rnd.Int63()), rnd.Intn(4) == 0
				if next[key] = value; del {
					next[key] = "deleted"
				}
				s.put(putKind(del), []byte(key), []byte(value), 0)
				seen = append(seen, next)
			}
			if s.mark() != len(seen)-1 {
				t.Fatalf("mark %d, want %d", s.mark(), len(seen)-1)
			}
			mark := rnd.Intn(len(seen))
			for i := range 60 {
				key := fmt.Sprintf("key-%02d", i)
				op, ok := s.get([]byte(key), mark)
				if want, staged := seen[mark][key]; ok != staged || ok && show(op) != want {
					t.Fatalf("%s at %d: %q %v, want %q", key, mark, show(op), ok, want)
				}
			}
		}
		checkSpan(t, &s, seen, len(seen)-1, false)
	}
}

func show(op stagedOp) string {
	if op.delete {
		return "deleted"
	}
	return string(op.value)
}

func checkSpan(t *testing.T, s *stage, seen []map[string]string, mark int, reverse bool) {
	t.Helper()
	var want, got []string
	for k, v := range seen[mark] {
		if k >= "key-10" && k < "key-40" {
			want = append(want, k+v)
		}
	}
	for _, op := range s.span(txn.Span{Start: []byte("key-10"), End: []byte("key-40")}, mark, reverse) {
		got = append(got, string(op.key)+show(op))
	}
	if slices.Sort(want); reverse {
		slices.Reverse(want)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("span at %d: %v\nwant %v", mark, got, want)
	}
}

// TestStagePieces checks that blocks become log entries as they are, the small ones at the start together.
func TestStagePieces(t *testing.T) {
	for _, n := range []int{0, 1, 5, 300, 30_000} {
		var s stage
		value := bytes.Repeat([]byte("v"), 300)
		for i := range n {
			s.put(putKind(i%7 == 0), rowKey(i), value, 0)
		}
		pieces, i := s.pieces(), 0
		for j, p := range pieces {
			if len(p) > maxEntryBody || len(pieces) > 1 && j < len(pieces)-1 && len(p) < 1<<20 {
				t.Fatalf("piece %d of %d has %d bytes", j, len(pieces), len(p))
			}
			err := eachOp(p[headRoom:], func(op opKind, key, v []byte) error {
				if want := i%7 == 0; !bytes.Equal(key, rowKey(i)) || (op == opDelete) != want || !want && !bytes.Equal(v, value) {
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
		if op, ok := s.get(rowKey(n-1), math.MaxInt32); n > 0 && (!ok || op.delete != ((n-1)%7 == 0)) {
			t.Fatal(op, ok)
		}
	}
}

func putKind(del bool) opKind {
	if del {
		return opDelete
	}
	return opPut
}
