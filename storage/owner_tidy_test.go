package storage

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/storage/logentry"
	"github.com/sherddb/sherd/txn"
)

func owned(lo, hi uint32, s OwnState, move uint64, arrival uint32, F, since, edge txn.Timestamp) ownRange {
	return ownRange{OwnedRange: OwnedRange{BucketRange: BucketRange{Lo: lo, Hi: hi}, State: s, Move: move, F: F, Arrival: arrival, Since: since}, edge: edge}
}

func listed(list []ownRange) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%d-%d %s m%d a%d F%d s%d e%d; ", p.Lo, p.Hi, p.State, p.Move, p.Arrival, p.F, p.Since, p.edge)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestTidied(t *testing.T) {
	left := owned(10, 20, Gone, 4, 2, 5, 0, 6)
	left.left = true
	for _, x := range []struct {
		name string
		list []ownRange
		want string
	}{
		{"owned, of one arrival", []ownRange{owned(0, 10, Owned, 3, 1, 0, 4, 7), owned(10, 20, Owned, 9, 1, 0, 2, 8)}, "0-20 owned m9 a1 F0 s0 e0"},
		{"owned, of several", []ownRange{owned(0, 10, Owned, 3, 1, 0, 4, 7), owned(10, 20, Owned, 9, 2, 0, 2, 8)}, "0-10 owned m3 a1 F0 s0 e0; 10-20 owned m9 a2 F0 s0 e0"},
		{"gone", []ownRange{owned(0, 10, Gone, 8, 1, 5, 4, 7), owned(10, 20, Gone, 4, 2, 9, 2, 9)}, "0-20 gone m8 a2 F0 s0 e0"},
		{"apart", []ownRange{owned(0, 10, Gone, 3, 1, 5, 4, 7), owned(11, 20, Gone, 4, 2, 9, 2, 9)}, "0-10 gone m3 a1 F0 s0 e0; 11-20 gone m4 a2 F0 s0 e0"},
		{"still read", []ownRange{owned(0, 10, Gone, 3, 1, 10, 4, 11), owned(10, 20, Gone, 4, 2, 5, 2, 6)}, "0-10 gone m3 a1 F10 s0 e11; 10-20 gone m4 a2 F0 s0 e0"},
		{"refuses older reads", []ownRange{owned(0, 10, Owned, 3, 1, 0, 11, 7), owned(10, 20, Owned, 4, 1, 0, 2, 6)}, "0-10 owned m3 a1 F0 s11 e0; 10-20 owned m4 a1 F0 s0 e0"},
		{"not cleaned", []ownRange{owned(0, 10, Gone, 3, 1, 5, 0, 6), left}, "0-10 gone m3 a1 F0 s0 e0; 10-20 gone m4 a2 F5 s0 e6"},
		{"under way", []ownRange{owned(0, 10, Fenced, 3, 1, 5, 0, 6), owned(10, 20, Fenced, 3, 1, 5, 0, 6), owned(20, 30, Receiving, 3, 1, 0, 0, 0), owned(30, 40, Receiving, 4, 1, 0, 0, 0)},
			"0-10 fenced m3 a1 F5 s0 e6; 10-20 fenced m3 a1 F5 s0 e6; 20-30 receiving m3 a1 F0 s0 e0; 30-40 receiving m4 a1 F0 s0 e0"},
	} {
		if got := listed(tidied(x.list, 10)); got != x.want {
			t.Errorf("%s:\n%s\nwant\n%s", x.name, got, x.want)
		}
	}
}

// TestListsStayShort moves neighbouring ranges one by one, there and back, with a row in each bucket. What is said of them is a few pieces when nobody can read
// from before, a late entry of an earlier move is void all the same, and the rows are all there, also after a restart.
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
	if a, b := len(source.Ownership()), len(target.Ownership()); a != n || b != n {
		t.Errorf("while they may be read from before the source lists %d, the target %d pieces", a, b)
	}
	tidy := func(r *Replica) {
		t.Helper()
		for range 2 { // by the watermark before
			if _, _, err := r.run((&logentry.Watermark{At: r.Applied(), Tidy: true}).Encode(), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	short := func(want string) {
		t.Helper()
		tidy(source)
		tidy(target)
		if got := listed(source.own.Load().list) + " | " + listed(target.own.Load().list); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if source.untidy() || target.untidy() {
			t.Error("it could be shorter still")
		}
	}
	short("100-124 gone m24 a0 F0 s0 e0 | 100-124 owned m24 a1 F0 s0 e0")
	ctx := testContext(t)
	if _, err := target.Fence(ctx, 5, []BucketRange{{Lo: 110, Hi: 111}}, 0); err != ErrMoveVoid {
		t.Errorf("a late fence: %v", err)
	}
	if _, err := source.BeginReceive(ctx, 5, []BucketRange{{Lo: 110, Hi: 111}}, 0); err != ErrMoveVoid {
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

// TestListsOfOlderReleases: in a cluster that is not at the version which brought short lists (V4) each arrival is the next of all, and the entries are those that an older
// release knows.
func TestListsOfOlderReleases(t *testing.T) {
	m := openMover(t, func(c *Config) { c.Version = func() uint32 { return clusterversion.First } })
	source, target := m.c.rs[0], m.c.rs[1]
	for b := range uint32(2) {
		commitRow(t, source, movedKey(100+b, "k"), "x")
		m.move(source, target, []BucketRange{{Lo: 100 + b, Hi: 101 + b}})
	}
	for _, r := range m.c.rs {
		if _, _, err := r.run((&logentry.Watermark{At: r.Applied()}).Encode(), 0); err != nil {
			t.Fatal(err)
		}
		if r.untidy() {
			t.Error("it would make the list shorter")
		}
	}
	var arrivals []uint32
	for _, p := range target.own.Load().list {
		arrivals = append(arrivals, p.Arrival)
	}
	if !slices.Equal(arrivals, []uint32{1, 2}) {
		t.Errorf("arrivals %v", arrivals)
	}
	m.count(target)
}
