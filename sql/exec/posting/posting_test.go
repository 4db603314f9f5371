package posting

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/gin"
)

// index has the lists of terms: numbers of rows, ascending. It counts the entries that are read.
type index struct {
	lists map[gin.Term][]int
	read  int
}

// rowKey returns the key of a row: its bucket is not in the order of numbers.
func rowKey(n int) []byte {
	b := make([]byte, table.KeyAt)
	b[8], b[9] = byte(n*31), byte(n*7)
	return binary.BigEndian.AppendUint32(b, uint32(n))
}

func (x *index) find(t *testing.T, s gin.Search) (found []int, ok bool) {
	t.Helper()
	x.read = 0
	l := Lists{Memory: memory.New(64 << 20), Read: func(term gin.Term, f func([]byte) error) error {
		for _, n := range x.lists[term] {
			x.read++
			if err := f(rowKey(n)); err != nil {
				return err
			}
		}
		return nil
	}}
	list, ok, err := l.Find(&s)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(list, func(a, b []byte) int { return slices.Compare(a, b) }) {
		t.Error("the rows are not in order")
	}
	for _, row := range list {
		found = append(found, int(binary.BigEndian.Uint32(row[table.KeyAt:])))
	}
	slices.Sort(found)
	if l.Free(); l.Memory.Used() != 0 {
		t.Errorf("%d bytes are not released", l.Memory.Used())
	}
	return found, ok
}

func some(t gin.Term) gin.Search { return gin.Search{Kind: gin.Some, Term: t} }

func every(step, n int) (out []int) {
	for i := 0; i < n; i += step {
		out = append(out, i)
	}
	return out
}

// TestShortestListIsRead: of the lists that a row must be in, long ones are not read to their ends.
func TestShortestListIsRead(t *testing.T) {
	x := index{lists: map[gin.Term][]int{1: every(1, 90000), 2: every(1000, 90000), 3: every(2, 90000), 4: every(1500, 90000)}}
	found, ok := x.find(t, gin.Both(some(1), some(2), some(3)))
	if want := every(1000, 90000); !ok || !slices.Equal(found, want) {
		t.Errorf("found %v, %v", found, ok)
	}
	if x.read > 3000 {
		t.Errorf("%d entries were read", x.read)
	}
	if found, _ = x.find(t, gin.Both(some(1), some(2), some(4))); !slices.Equal(found, every(3000, 90000)) {
		t.Errorf("found %v", found)
	}
	if found, ok = x.find(t, gin.Both(some(1), some(9))); !ok || len(found) > 0 || x.read > 200 {
		t.Errorf("found %v, %v by %d entries", found, ok, x.read)
	}
	if _, ok = x.find(t, gin.Search{}); ok {
		t.Error("all rows were found")
	}
}

// TestManyRowsAreNotKept: if no list is short enough, the rows are not found.
func TestManyRowsAreNotKept(t *testing.T) {
	x := index{lists: map[gin.Term][]int{1: every(1, 3*most), 2: every(1, 2*most), 3: every(1, 10)}}
	for _, s := range []gin.Search{gin.Both(some(1), some(2)), gin.Either(some(1), some(3))} {
		if _, ok := x.find(t, s); ok {
			t.Errorf("%+v was found", s)
		}
	}
	if found, ok := x.find(t, gin.Both(some(3), gin.Either(some(1), some(2)))); !ok || len(found) != 10 {
		t.Errorf("found %v, %v", found, ok)
	}
}

// TestRandomSearches: all rows that a random search finds are found, and none that a search of the rows'
// terms excludes if all lists are short.
func TestRandomSearches(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	x, terms := index{lists: map[gin.Term][]int{}}, map[int][]gin.Term{}
	for term := range gin.Term(12) {
		for n := range 400 {
			if rnd.IntN(int(term)*3+1) == 0 {
				x.lists[term], terms[n] = append(x.lists[term], n), append(terms[n], term)
			}
		}
	}
	var search func(depth int) gin.Search
	search = func(depth int) gin.Search {
		if depth == 0 || rnd.IntN(3) == 0 {
			return some(gin.Term(rnd.IntN(13)))
		}
		var args []gin.Search
		for range 1 + rnd.IntN(3) {
			args = append(args, search(depth-1))
		}
		if rnd.IntN(2) == 0 {
			return gin.Both(args...)
		}
		return gin.Either(args...)
	}
	for range 2000 {
		s := search(3)
		found, ok := x.find(t, s)
		if !ok {
			t.Fatalf("%+v was not found", s)
		}
		exact := 0
		for n := range 400 {
			if !s.Finds(terms[n]) {
				continue
			}
			if exact++; !slices.Contains(found, n) {
				t.Fatalf("%+v does not find %d", s, n)
			}
		}
		if len(found) > exact*4+firstRead && s.Kind != gin.Or {
			t.Errorf("%+v finds %d rows, of which %d meet it", s, len(found), exact)
		}
	}
}
