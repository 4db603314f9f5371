package catalog

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

func factorOps() []op {
	d := &Database{
		OID: 5, Name: "orders", Owner: 10, Map: shardmap.NewInitialMap([]uint32{1}), ReplicationFactor: 3,
		Fragments: []Fragment{{ID: 1, Nodes: []uint32{1}, Replicas: 2, On: []uint32{1, 4}}},
	}
	return []op{{kind: putOp, key: keyOf(d), desc: d}}
}

func TestFactorFormat(t *testing.T) {
	data, err := encodeBatch(factorOps())
	if err != nil {
		t.Fatal(err)
	}
	if e, err := decodeEntry(golden(t, "factor.v1", data)); err != nil || !reflect.DeepEqual(e.ops, factorOps()) {
		t.Errorf("batch: %v", err)
	}
}

// TestFactors: a fragment's number goes before the database's, until it is taken back.
func TestFactors(t *testing.T) {
	d := &Database{ReplicationFactor: 3, Fragments: []Fragment{{ID: 1}, {ID: 2, Replicas: 5}}}
	if a, b := d.Factor(&d.Fragments[0]), d.Factor(&d.Fragments[1]); a != 3 || b != 5 {
		t.Errorf("%d and %d replicas", a, b)
	}
	c := d.Clone()
	c.Fragments[1].On = append(c.Fragments[1].On, 1)
	if slices.Contains(d.Fragments[1].On, 1) {
		t.Error("a copy shares its nodes")
	}
	for n, ok := range map[int]bool{-1: false, 0: false, 1: true, 15: true, 16: false} {
		if err := CheckFactor(n); (err == nil) != ok || err != nil && !pgerr.Is(err, pgerr.InvalidParameterValue) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// TestBootstrapChecksFactor checks that a cluster cannot begin with a number of replicas that SQL refuses.
func TestBootstrapChecksFactor(t *testing.T) {
	o := bootstrapOptions()
	for _, n := range []int{-1, MaxReplicationFactor + 1, 99} {
		o.Replication = n
		if created, err := openCatalog(t, t.TempDir()).Bootstrap(t.Context(), o); created || pgerr.From(err).Code != pgerr.InvalidParameterValue {
			t.Errorf("%d replicas: %v, %v", n, created, err)
		}
	}
}
