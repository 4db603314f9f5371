package keychange

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/types"
)

// TestLog adds changes of two kinds, cuts them back now and then, and reads them while more are
// added.
func TestLog(t *testing.T) {
	for _, n := range []int{30, 20_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := t.TempDir()
			l := NewLog(dir)
			var want []string
			var ends []int64
			add := func(i int) {
				ch := Change{New: types.Row{types.NewInt(int64(i)), types.NewText(strings.Repeat("k", i%50))}, id: fmt.Sprint(i)}
				if i%3 == 0 {
					ch.Old, ch.New = ch.New, nil
				}
				if err := l.Add(i/7%2, []Change{ch}); err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprint(i/7%2, ch))
				ends = append(ends, l.Size())
			}
			for i := range n {
				add(i)
				if i%(n/3) == n/3-1 { // a savepoint is returned to
					back := len(want) * 9 / 10
					want, ends = want[:back], ends[:back]
					l.Truncate(ends[back-1])
				}
			}
			to, count := l.Size(), len(want)
			var got []string
			err := l.Each(0, to, func(of int, changes []Change) error {
				if len(changes) > logBatch {
					return fmt.Errorf("%d changes at once", len(changes))
				}
				for _, ch := range changes {
					got = append(got, fmt.Sprint(of, ch))
				}
				add(n + len(got))
				return nil
			})
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want[:count]) {
				t.Fatalf("%v: %d changes, not %d", err, len(got), count)
			}
			got = nil
			err = l.Each(ends[count-2], l.Size(), func(of int, changes []Change) error {
				for _, ch := range changes {
					got = append(got, fmt.Sprint(of, ch))
				}
				return nil
			})
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want[count-1:]) {
				t.Fatalf("%v: %v, not %v", err, got, want[count-1:])
			}
			l.Close()
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || l.Size() != 0 {
				t.Error(left, err)
			}
		})
	}
}
