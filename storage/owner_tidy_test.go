package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/storage/ownership"
)

func listed(list []ownership.Piece) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%d-%d %s m%d a%d F%d s%d e%d; ", p.Lo, p.Hi, p.State, p.Move, p.Generation, p.F, p.Since, p.Edge)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// TestListsStayShort moves neighbouring ranges one by one, there and back, with a row in each
// bucket. The list has only a few pieces once no reader can read at earlier timestamps. Even so, a
// late entry of an earlier move is void. All rows are there, also after a restart.
func TestListsStayShort(t *testing.T) {
	m := openMover(t)
	source, target := m.c.rs[0], m.c.rs[1]
	const n = 24
	for b := range uint32(n) {
		commitRow(t, source, movedKey(100+b, "k"), fmt.Sprint(b))
	}
	each := func(from, to *Replica) {
		for b := range uint32(n) {
			m.move(from, to, []BucketRange{{Lo: 100 + b, Hi: 101 + b}})
		}
	}
	each(source, target)
	if a, b := len(source.Owned.Ranges()), len(target.Owned.Ranges()); a != n || b != n {
		t.Errorf("while they may be read from before the source lists %d, the target %d pieces", a, b)
	}
	tidy := func(r *Replica) {
		t.Helper()
		for range 2 { // by the watermark before
			if _, _, err := r.log.run((&logentry.Watermark{At: r.Applied(), Tidy: true}).Encode(), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	short := func(want string) {
		t.Helper()
		tidy(source)
		tidy(target)
		if got := listed(source.Owned.Load().List) + " | " + listed(target.Owned.Load().List); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if source.untidy() || target.untidy() {
			t.Error("it could be shorter still")
		}
	}
	short("100-124 gone m24 a0 F0 s0 e0 | 100-124 owned m24 a1 F0 s0 e0")
	ctx := testContext(t)
	if _, err := target.Moves.Fence(ctx, 5, []BucketRange{{Lo: 110, Hi: 111}}, 0); err != ErrMoveVoid {
		t.Errorf("a late fence: %v", err)
	}
	if _, err := source.Moves.BeginIngest(ctx, 5, []BucketRange{{Lo: 110, Hi: 111}}, 0); err != ErrMoveVoid {
		t.Errorf("a late receive: %v", err)
	}
	each(target, source)
	short("100-124 owned m48 a1 F0 s0 e0 | 100-124 gone m48 a1 F0 s0 e0")
	each(source, target)
	short("100-124 gone m72 a1 F0 s0 e0 | 100-124 owned m72 a2 F0 s0 e0")
	for b := range uint32(n) {
		if got := readRow(t, target, movedKey(100+b, "k")); got != fmt.Sprint(b) {
			t.Errorf("bucket %d has %q", 100+b, got)
		}
	}
	m.count(source)
	m.count(target)
}

// TestListsOfOlderReleases: in a cluster that is not at the version which brought short lists (V4)
// each generation is the next of all, and the entries are those that an older release knows.
func TestListsOfOlderReleases(t *testing.T) {
	m := openMover(t, func(c *Config) { c.Version = func() uint32 { return clusterversion.First } })
	source, target := m.c.rs[0], m.c.rs[1]
	for b := range uint32(2) {
		commitRow(t, source, movedKey(100+b, "k"), "x")
		m.move(source, target, []BucketRange{{Lo: 100 + b, Hi: 101 + b}})
	}
	for _, r := range m.c.rs {
		if _, _, err := r.log.run((&logentry.Watermark{At: r.Applied()}).Encode(), 0); err != nil {
			t.Fatal(err)
		}
		if r.untidy() {
			t.Error("it would make the list shorter")
		}
	}
	var generations []uint32
	for _, p := range target.Owned.Load().List {
		generations = append(generations, p.Generation)
	}
	if !slices.Equal(generations, []uint32{1, 2}) {
		t.Errorf("generations %v", generations)
	}
	m.count(target)
}
