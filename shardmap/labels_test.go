package shardmap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

func rule(t testing.TB, text string) LabelRule {
	t.Helper()
	r, err := ParseLabelRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseLabelRule(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"  ":                              "",
		"region=eu":                       "region=eu",
		" region = us | eu , disk != hdd": "disk!=hdd, region=eu|us",
		"a=1,a=1":                         "a=1",
		"a=1|1":                           "a=1",
		"a=1|2,a=2|3":                     "a=1|2, a=2|3",
		"a!=1,a!=2":                       "a!=1, a!=2",
	} {
		r, err := ParseLabelRule(text)
		if err != nil || r.String() != want {
			t.Errorf("%q: %q, %v", text, r, err)
		}
		if again, err := ParseLabelRule(r.String()); err != nil || again.String() != want {
			t.Errorf("%q read again: %q, %v", r, again, err)
		}
	}
	for _, text := range []string{
		"region", "=eu", "region=", "region=eu,", "region=eu|", "a=b=c", "a==b", "a!!=b", "a=1,a=2", "a=1,a!=1",
		"a=1|2,a!=1|2", "a|b=1",
	} {
		if r, err := ParseLabelRule(text); !pgerr.Is(err, pgerr.InvalidParameterValue) {
			t.Errorf("%q: %q, %v", text, r, err)
		}
	}
}

func TestLabelRuleAllows(t *testing.T) {
	eu, us, none := map[string]string{
		"region": "eu", "disk": "ssd",
	}, map[string]string{"region": "us"}, map[string]string(nil)
	for _, c := range []struct {
		rule         string
		eu, us, none bool
	}{
		{"", true, true, true},
		{"region=eu", true, false, false},
		{"region=eu|us", true, true, false},
		{"region!=eu", false, true, true},
		{"region=eu, disk=ssd", true, false, false},
		{"region=us, disk=ssd", false, false, false},
		{"disk!=ssd", false, true, true},
	} {
		r := rule(t, c.rule)
		if r.Allows(eu) != c.eu || r.Allows(us) != c.us || r.Allows(none) != c.none {
			t.Errorf("%q: %t %t %t", c.rule, r.Allows(eu), r.Allows(us), r.Allows(none))
		}
	}
	if _, err := ParseLabelRule(
		"a=" + strings.Repeat("1|", 1000) + "x" + strings.Repeat("y", 1000),
	); !pgerr.Is(err, pgerr.ProgramLimitExceeded) {
		t.Errorf("long: %v", err)
	}
	both := rule(t, "region=eu").And(rule(t, "disk=ssd, region=eu|us"))
	if both.String() != "disk=ssd, region=eu, region=eu|us" || !both.Allows(eu) || both.Allows(us) {
		t.Errorf("both: %q", both)
	}
}

// labelledSites are nodes 1 … n, whose region is eu, us and asia by turns.
func labelledSites(n int) (out []Site) {
	for i := range uint32(n) {
		s := site(i+1, "", "")
		s.Labels = map[string]string{"region": []string{"eu", "us", "asia"}[i%3]}
		out = append(out, s)
	}
	return out
}

func TestPlacementByLabels(t *testing.T) {
	sites := labelledSites(6) // eu: 1, 4; us: 2, 5; asia: 3, 6
	dead := labelledSites(6)
	dead[0].Dead, dead[0].Silent = true, true
	for _, c := range []struct {
		name  string
		sites []Site
		rule  string
		want  int
		nodes []uint32
		next  string
	}{
		{"kept", sites, "region=eu", 2, []uint32{1, 4}, ""},
		{"one is outside", sites, "region=eu", 2, []uint32{1, 2}, "[1 2 4] [4] [2]"},
		{"all are outside: one at a time", sites, "region=eu", 2, []uint32{2, 3}, "[2 3 1] [1] [2]"},
		{"too few nodes: what is outside goes", sites, "region=eu", 3, []uint32{1, 4, 2}, "[1 4 2] [] [2]"},
		{"no node has the labels", sites, "region=moon", 3, []uint32{1, 2, 3}, ""},
		{"dead, and nobody else has the labels", dead, "region=eu", 2, []uint32{4, 1}, ""},
		{"dead, and another has the labels", dead, "region=eu|us", 2, []uint32{4, 1}, "[4 1 2] [2] [1]"},
		{"excluded", sites, "region!=us", 2, []uint32{1, 2}, "[1 2 3] [3] [2]"},
	} {
		s := ReplicaSet{Fragment: 1, Want: c.want, Labels: rule(t, c.rule), Nodes: c.nodes}
		next, ok := NextPlacement(c.sites, []ReplicaSet{s})
		got := ""
		if ok {
			got = fmt.Sprint(next.Nodes, next.Joining, next.Leaving)
		}
		if got != c.next {
			t.Errorf("%s: %s, want %s", c.name, got, c.next)
		}
	}
	if n := FirstPlacement(sites, nil, 3, rule(t, "region=us")); !slices.Equal(n, []uint32{2, 5}) {
		t.Errorf("first placement on %v", n)
	}
	if n := FirstPlacement(sites, nil, 3, rule(t, "region=moon")); n != nil {
		t.Errorf("first placement on %v", n)
	}
}

// done carries a step out: who joins has joined, who leaves has left.
func (s ReplicaSet) done() ReplicaSet {
	s.Nodes, s.Joining, s.Leaving = s.staying(), nil, nil
	return s
}

// TestPlacementKeepsToLabels: many fragments with rules of many kinds converge, evenly within their
// zones, and no replica is ever given to a node that the rule does not allow, while rules change
// and nodes die.
func TestPlacementKeepsToLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	rules := []LabelRule{
		nil, rule(t, "region=eu"), rule(t, "region=us"), rule(t, "region!=us"), rule(t, "region=eu|asia"),
	}
	sites := labelledSites(30)
	var sets []ReplicaSet
	for f := range 200 {
		s := ReplicaSet{Fragment: FragmentID(f + 1), Want: 3, Labels: rules[rng.IntN(len(rules))]}
		s.Nodes = FirstPlacement(sites, sets, 3, s.Labels)
		sets = append(sets, s)
	}
	for round := range 3 {
		for i := range sets { // people change their minds
			if rng.IntN(4) == 0 {
				sets[i].Labels = rules[rng.IntN(len(rules))]
			}
		}
		if round == 2 {
			sites[0].Dead, sites[0].Silent = true, true
		}
		settleLabelled(t, sites, sets)
		counts := map[string]map[uint32]int{}
		for _, s := range sets {
			if len(s.Nodes) != 3 {
				t.Fatalf("fragment %d has replicas on %v", s.Fragment, s.Nodes)
			}
			for _, n := range s.Nodes {
				if sites[n-1].Dead || !s.Labels.Allows(sites[n-1].Labels) {
					t.Fatalf(
						"a replica of fragment %d, for %q, is on node %d with %v", s.Fragment, s.Labels, n,
						sites[n-1].Labels,
					)
				}
				region := sites[n-1].Labels["region"]
				if counts[region] == nil {
					counts[region] = map[uint32]int{}
				}
				counts[region][n]++
			}
		}
		for region, by := range counts {
			least, most := 1<<30, 0
			for _, n := range by {
				least, most = min(least, n), max(most, n)
			}
			if most-least > 2 {
				t.Errorf("round %d, %s: from %d to %d replicas on a node", round, region, least, most)
			}
		}
	}
}

// settleLabelled carries out what NextPlacement wants until it wants nothing more.
func settleLabelled(t *testing.T, sites []Site, sets []ReplicaSet) {
	t.Helper()
	for range 20_000 {
		next, ok := NextPlacement(sites, sets)
		if !ok {
			return
		}
		was := sets[next.Fragment-1]
		for _, n := range next.Joining {
			if !slices.Contains(was.Nodes, n) && !next.Labels.Allows(sites[n-1].Labels) {
				t.Fatalf("node %d with %v is given a replica for %q", n, sites[n-1].Labels, next.Labels)
			}
		}
		sets[next.Fragment-1] = next.done()
	}
	t.Fatal("replicas do not come to rest")
}

func FuzzParseLabelRule(f *testing.F) {
	for _, s := range []string{"region=eu", "a=1|2, b!=3", "a=1,a=2", "=", "|", "a!=b|"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseLabelRule(text)
		if err != nil {
			return
		}
		again, err := ParseLabelRule(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q: %q, then %q, %v", text, r, again, err)
		}
	})
}
