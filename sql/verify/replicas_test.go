package verify

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sherddb/sherd/catalog"
)

// Findings about replicas that agree, differ, or cannot be compared.
func TestReplicas(t *testing.T) {
	same := func(node string) Replica { return Replica{Node: node, Keys: 7, Sum: "aa00"} }
	other := func(node string) Replica { return Replica{Node: node, Keys: 6, Sum: "bb11"} }
	leads := func(r Replica) Replica { r.Leads = true; return r }
	for _, x := range []struct {
		name string
		list []Replica
		want []string
	}{
		{"equal", []Replica{leads(same("n1")), same("n2"), same("n3")},
			[]string{"true 3 replicas, 7 keys, checksum aa00"}},
		{"a follower", []Replica{leads(same("n1")), same("n2"), other("n3")},
			[]string{"false node n3 differs: it has 6 keys, checksum bb11; n1, n2: 7 keys, checksum aa00"}},
		{"the leader", []Replica{leads(other("n1")), same("n2"), same("n3")},
			[]string{"false node n1 differs: it has 6 keys, checksum bb11; n2, n3: 7 keys, checksum aa00"}},
		{"one against one", []Replica{other("n1"), leads(same("n2"))},
			[]string{"false node n1 differs: it has 6 keys, checksum bb11; n2: 7 keys, checksum aa00"}},
		{"away", []Replica{leads(same("n1")), same("n2"), {Node: "n3", Missed: "it is away", Excused: true}},
			[]string{"true 2 replicas, 7 keys, checksum aa00", "true node n3 was not compared: it is away"}},
		{"behind", []Replica{leads(same("n1")), {Node: "n2", Missed: "it is behind"}},
			[]string{"false node n2 could not be compared: it is behind"}},
		{"none", []Replica{{Node: "n2", Missed: "it is away", Excused: true}},
			[]string{"false no replica could be compared", "true node n2 was not compared: it is away"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := &Check{db: &catalog.Database{Name: "d", Fragments: []catalog.Fragment{{ID: 3}}},
				findings: map[topic]*finding{}}
			c.Replicas(3, x.list)
			var got []string
			err := c.Report(func(check, subject string, ok bool, detail string) error {
				if check != "replicas" || subject != "d$0" {
					t.Errorf("%s of %s", check, subject)
				}
				got = append(got, fmt.Sprint(ok, " ", detail))
				return nil
			})
			if err != nil || !slices.Equal(got, x.want) {
				t.Errorf("%v: %q", err, got)
			}
		})
	}
}
