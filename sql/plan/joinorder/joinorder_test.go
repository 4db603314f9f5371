package joinorder

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func (t *Tree) String() string {
	if t.Left == nil {
		return fmt.Sprint(t.Relation)
	}
	return "(" + t.Left.String() + " " + t.Right.String() + ")"
}

// chain ties each relation to the next one.
func chain(rows ...float64) (rels []Relation, conds []Condition) {
	for i, n := range rows {
		rels = append(rels, Relation{Rows: n, Cost: n})
		if i > 0 {
			conds = append(conds, Condition{Of: SetOf(i-1, i), Selectivity: 1 / max(n, rows[i-1])})
		}
	}
	return rels, conds
}

func TestBest(t *testing.T) {
	for _, x := range []struct {
		name  string
		rels  []Relation
		conds []Condition
		want  string
	}{
		{"one relation", []Relation{{Rows: 5}}, nil, "0"},
		{"the order of FROM if nothing tells them apart",
			[]Relation{{Rows: 10, Cost: 10}, {Rows: 10, Cost: 10}, {Rows: 10, Cost: 10}}, nil, "((0 1) 2)"},
		{"a product comes last", []Relation{{Rows: 10, Cost: 10}, {Rows: 20, Cost: 20}, {Rows: 30, Cost: 30}},
			[]Condition{{Of: SetOf(0, 2), Selectivity: 0.03}}, "((0 2) 1)"},
		{"the small dimension of a star comes first",
			[]Relation{{Rows: 1e6, Cost: 1e6}, {Rows: 1e5, Cost: 1e5}, {Rows: 3, Cost: 1000}},
			[]Condition{{Of: SetOf(0, 1), Selectivity: 1e-5}, {Of: SetOf(0, 2), Selectivity: 1e-3}}, "((0 2) 1)"},
		{"LATERAL comes after what it reads",
			[]Relation{{Rows: 5, Cost: 5, After: SetOf(1)}, {Rows: 1000, Cost: 1000}, {Rows: 10, Cost: 10}},
			[]Condition{{Of: SetOf(1, 2), Selectivity: 1e-3}}, "((1 2) 0)"},
		{"what can be looked up is read after the few rows that name it",
			[]Relation{{Rows: 1e6, Cost: 1e6}, {Rows: 1e6, Cost: 1e6}, {Rows: 10, Cost: 10}},
			[]Condition{
				{Of: SetOf(0, 1), Selectivity: 1e-6, Lookup: map[int]float64{0: CostLookup, 1: CostLookup}},
				{Of: SetOf(1, 2), Selectivity: 1e-6, Lookup: map[int]float64{1: CostLookup}},
			}, "((2 1) 0)"},
		{"what is joined in the fragments comes first",
			[]Relation{
				{Rows: 1000, Cost: 1000, Local: true}, {Rows: 1e5, Cost: 1e5, Local: true},
				{Rows: 900, Cost: 900, Local: true},
			},
			[]Condition{
				{Of: SetOf(0, 1), Selectivity: 1e-5, Local: true}, {Of: SetOf(0, 2), Selectivity: 1e-3},
			}, "((0 1) 2)"},
	} {
		if got := Best(x.rels, x.conds).String(); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

// TestClasses: of equalities of a class one counts between two sets, and each makes a join.
func TestClasses(t *testing.T) {
	rels := []Relation{{Rows: 5, Cost: 5}, {Rows: 2000, Cost: 2000}, {Rows: 30_000, Cost: 30_000}}
	var conds []Condition
	for _, of := range []Set{SetOf(0, 1), SetOf(1, 2), SetOf(0, 2)} {
		conds = append(conds, Condition{Of: of, Selectivity: 1, Classes: []Class{{ID: 3, Selectivity: 1.0 / 25}}})
	}
	conds[1].Selectivity = 0.5
	out := Best(rels, conds)
	if got, want := out.Rows, 5.0*2000*30_000/25/25/2; got != want {
		t.Errorf("%s returns %g rows, not %g", out, got, want)
	}
	o := &order{relations: rels, conditions: conds}
	if selectivity, _, _, _ := o.tie(SetOf(0, 1), SetOf(2)); selectivity != 1.0/50 {
		t.Error(selectivity)
	}
	if selectivity, tied, _, _ := o.tie(SetOf(0), SetOf(2)); !tied || selectivity != 1.0/25 {
		t.Error(selectivity, tied)
	}
}

// TestBushy: two selective pairs are joined with each other.
func TestBushy(t *testing.T) {
	rels := []Relation{{Rows: 10, Cost: 10}, {Rows: 1e5, Cost: 1e5}, {Rows: 1e5, Cost: 1e5}, {Rows: 10, Cost: 10}}
	conds := []Condition{
		{Of: SetOf(0, 1), Selectivity: 1e-5}, {Of: SetOf(1, 2), Selectivity: 1e-2},
		{Of: SetOf(2, 3), Selectivity: 1e-5},
	}
	if got := Best(rels, conds).String(); got != "((0 1) (2 3))" {
		t.Error(got)
	}
}

// TestMany: above MaxExact relations each one is in the tree once, and the answer comes at once.
func TestMany(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var rows []float64
	for range 40 {
		rows = append(rows, float64(1+rnd.IntN(100000)))
	}
	rels, conds := chain(rows...)
	rels[17].After = SetOf(3)
	var seen Set
	var walk func(*Tree)
	walk = func(n *Tree) {
		if n.Left != nil {
			walk(n.Left)
			walk(n.Right)
			return
		}
		if seen.Has(n.Relation) {
			t.Errorf("relation %d is in the tree twice", n.Relation)
		}
		if n.Relation == 17 && !seen.Has(3) {
			t.Error("a relation that reads another comes before it")
		}
		seen |= SetOf(n.Relation)
	}
	walk(Best(rels, conds))
	if seen != 1<<40-1 {
		t.Errorf("%b", seen)
	}
}

// TestAgainstAllTrees: no tree costs less than the one that is chosen.
func TestAgainstAllTrees(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := 2 + rnd.IntN(4)
		o := &order{plans: map[Set]*join{}}
		for i := range n {
			rows := float64(1 + rnd.IntN(1000))
			o.relations = append(o.relations, Relation{Rows: rows, Cost: rows})
			if i > 0 {
				o.conditions = append(o.conditions, Condition{
					Of: SetOf(rnd.IntN(i), i), Selectivity: rnd.Float64(), Lookup: map[int]float64{i: CostLookup},
				})
			}
		}
		leaf := func(i int) *join {
			return &join{tree: &Tree{Relation: i}, set: SetOf(i), rows: o.relations[i].Rows, cost: o.relations[i].Cost}
		}
		var all func(trees []*join) float64
		all = func(trees []*join) float64 {
			if len(trees) == 1 {
				return trees[0].sent()
			}
			least := 1e300
			for i := range trees {
				for k := range trees {
					if i == k {
						continue
					}
					j := o.pair(trees[i], trees[k], false)
					if j == nil {
						continue
					}
					rest := []*join{j}
					for m := range trees {
						if m != i && m != k {
							rest = append(rest, trees[m])
						}
					}
					least = min(least, all(rest))
				}
			}
			return least
		}
		var leaves []*join
		for i := range n {
			leaves = append(leaves, leaf(i))
			o.plans[SetOf(i)] = leaf(i)
		}
		if got, want := o.exact(1<<n-1, false).sent(), all(leaves); got > want*(1+1e-9) {
			t.Fatalf("%d relations: %g, another tree costs %g", n, got, want)
		}
	}
}
