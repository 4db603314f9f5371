package history

import (
	"slices"
	"testing"
	"time"
)

// r is a read, a an append.
func r(key string, list ...int) Op { return Op{Key: key, List: list} }
func a(key string, value int) Op   { return Op{Key: key, Append: true, Value: value} }
func txn(l Level, ops ...Op) *Transaction {
	return &Transaction{Level: l, Ops: ops, End: time.Hour}
}

func ended(o Outcome, t *Transaction) *Transaction { t.Outcome = o; return t }

func at(start, end time.Duration, t *Transaction) *Transaction {
	t.Start, t.End = start, end
	for i := range t.Ops {
		t.Ops[i].Start = start
	}
	return t
}

// TestKinds gives the checker one history of each kind that it must find, and the nearest that it must not.
func TestKinds(t *testing.T) {
	rc, rr, ser := ReadCommitted, RepeatableRead, Serializable
	list := func(vs ...int) []int { return vs }
	for _, c := range []struct {
		name  string
		txns  []*Transaction
		final map[string][]int
		want  string
	}{
		{"nothing", []*Transaction{txn(ser, r("x"), a("x", 1)), txn(ser, r("x", 1), a("x", 2), r("x", 1, 2))}, map[string][]int{"x": list(1, 2)}, ""},
		{"lost", []*Transaction{txn(rc, a("x", 1)), txn(rc, a("x", 2))}, map[string][]int{"x": list(2)}, "lost"},
		{"lost unknown", []*Transaction{ended(Unknown, txn(rc, a("x", 1)))}, map[string][]int{}, ""},
		{"doubled", []*Transaction{txn(rc, a("x", 1))}, map[string][]int{"x": list(1, 1)}, "doubled"},
		{"torn", []*Transaction{ended(Unknown, txn(rc, a("x", 1), a("y", 1)))}, map[string][]int{"x": list(1)}, "torn"},
		{"aborted", []*Transaction{ended(Aborted, txn(rc, a("x", 1)))}, map[string][]int{"x": list(1)}, "aborted"},
		{"aborted read", []*Transaction{ended(Aborted, txn(rc, a("x", 1))), txn(rc, r("x", 1))}, map[string][]int{}, "aborted, order"},
		{"internal", []*Transaction{txn(rr, a("x", 1), r("x"))}, map[string][]int{"x": list(1)}, "internal"},
		{"own", []*Transaction{txn(rr, a("x", 1), a("x", 2), r("x", 1, 2))}, map[string][]int{"x": list(1, 2)}, ""},
		{"intermediate", []*Transaction{txn(rc, a("x", 1), a("x", 2)), txn(rc, r("x", 1))}, map[string][]int{"x": list(1, 2)}, "intermediate"},
		{"order", []*Transaction{txn(rc, a("x", 1)), txn(rc, a("x", 2)), txn(rc, r("x", 2))}, map[string][]int{"x": list(1, 2)}, "order"},
		{"G0", []*Transaction{txn(rc, a("x", 1), a("y", 1)), txn(rc, a("x", 2), a("y", 2))}, map[string][]int{"x": list(1, 2), "y": list(2, 1)}, "G0, G1c"},
		{"G1c", []*Transaction{txn(rc, a("x", 1), r("y", 2)), txn(rc, a("y", 2), r("x", 1))}, map[string][]int{"x": list(1), "y": list(2)}, "G1c"},
		{"G-single", []*Transaction{txn(rr, r("x"), r("y", 1)), txn(rr, a("x", 1), a("y", 1))}, map[string][]int{"x": list(1), "y": list(1)}, "G-single"},
		{"G-single is allowed", []*Transaction{txn(rc, r("x"), r("y", 1)), txn(rr, a("x", 1), a("y", 1))}, map[string][]int{"x": list(1), "y": list(1)}, ""},
		{"half of a writer at READ COMMITTED", []*Transaction{txn(rr, r("x"), r("y", 1)), txn(rc, a("x", 1), a("y", 1))},
			map[string][]int{"x": list(1), "y": list(1)}, "G-single"},
		{"through a reader at READ COMMITTED", []*Transaction{txn(rr, r("x"), r("y", 2)), txn(rr, a("x", 1)), txn(rc, r("x", 1), a("y", 2))},
			map[string][]int{"x": list(1), "y": list(2)}, "G-single"},
		{"serializable beside a writer", []*Transaction{txn(ser, r("x"), a("y", 2)), txn(rc, a("x", 1), a("z", 3)), txn(ser, r("y"), r("z", 3))},
			map[string][]int{"x": list(1), "y": list(2), "z": list(3)}, "G2"},
		{"lost update", []*Transaction{txn(rr, r("x"), a("x", 1)), txn(rr, r("x"), a("x", 2))}, map[string][]int{"x": list(1, 2)}, "G-single"},
		{"write skew", []*Transaction{txn(ser, r("x"), r("y"), a("x", 1)), txn(ser, r("x"), r("y"), a("y", 2))},
			map[string][]int{"x": list(1), "y": list(2)}, "G2"},
		{"write skew is allowed", []*Transaction{txn(rr, r("x"), r("y"), a("x", 1)), txn(rr, r("x"), r("y"), a("y", 2))},
			map[string][]int{"x": list(1), "y": list(2)}, ""},
		{"stale", []*Transaction{at(1, 2, txn(rr, a("x", 1))), at(3, 4, txn(rr, r("x")))}, map[string][]int{"x": list(1)}, "stale"},
		{"concurrent", []*Transaction{at(1, 4, txn(rr, a("x", 1))), at(3, 5, txn(rr, r("x")))}, map[string][]int{"x": list(1)}, ""},
		{"invented", nil, map[string][]int{"x": list(7)}, "invented"},
	} {
		for i, x := range c.txns {
			x.ID = i
		}
		got := Check(c.txns, c.final)
		if Kinds(got) != c.want {
			t.Errorf("%s: %v, want %q", c.name, got, c.want)
		}
	}
}

// TestComponents: two cycles that touch, a third one, and what leads from one to the other.
func TestComponents(t *testing.T) {
	g := &graph{next: make([]map[int]edgeKind, 7)}
	for i := range g.next {
		g.next[i] = map[int]edgeKind{}
	}
	for _, e := range [][2]int{{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 2}, {3, 4}, {4, 5}, {5, 4}, {6, 0}} {
		g.add(e[0], e[1], ww)
	}
	of := g.components()
	for i, same := range [][]int{{0, 1, 2, 3}, {4, 5}, {6}} {
		for j, c := range of {
			if in := slices.Contains(same, j); in != (c == of[same[0]]) {
				t.Errorf("component %d: %v", i, of)
			}
		}
	}
}
