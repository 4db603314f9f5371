package catalog

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

// addingOps is a batch with a column that is on its way in, and a database that says how many replicas it wants.
func addingOps() []op {
	t := &Table{
		OID: 16385, Database: 5, Schema: 16384, Name: "orders", Owner: 10, Kind: KindTable, Version: 3, StorageID: 16390,
		Columns: []Column{
			{AttNum: 1, Name: "id", Type: 25, Typmod: -1}, {AttNum: 2, Name: "n", Type: 20, Typmod: -1, Missing: []byte{1}, Dropped: true, Adding: true},
		},
		NextAttNum: 3,
	}
	d := &Database{
		OID: 5, Name: "orders", Owner: 10, Map: shardmap.NewInitialMap([]uint32{1}), ConnectionLimit: -1, ReplicationFactor: 2,
		Fragments: []Fragment{{ID: 1, Nodes: []uint32{1}}},
	}
	return []op{{kind: putOp, key: keyOf(t), desc: t}, {kind: putOp, key: keyOf(d), desc: d}}
}

func TestAddingFormat(t *testing.T) {
	ops := addingOps()
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "adding.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("%+v, %v", e.ops, err)
	}
}

func TestUnbuild(t *testing.T) {
	c := openBootstrapped(t)
	tab := newTable(t, c, "orders")
	x := Index{OID: must[OID](t)(c.NewOID(t.Context())), Name: "orders_x", State: IndexBuilding}
	x.StorageID = x.OID
	tab.Indexes = append(tab.Indexes, x)
	id := must[uint64](t)(c.NewJobID(t.Context()))
	must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error {
		if err := ch.PutTable(tab); err != nil {
			return err
		}
		return ch.PutJob(NewBuildIndexJob(id, tab, &x, 1))
	}))
	v := must[*View](t)(c.Update(t.Context(), func(v *View, ch *Change) error {
		if err := ch.Unbuild(v.Job(id)); err != nil {
			return err
		}
		return ch.Discard(v.Job(id), 2, "it broke")
	}))
	table, index, ok := v.Job(id).DroppedIndex()
	if !ok || table != tab.StorageID || index != x.StorageID || v.Table(tab.OID).Index(x.OID) != nil {
		t.Errorf("%+v", v.Job(id))
	}
	v = must[*View](t)(c.Update(t.Context(), func(v *View, ch *Change) error { return ch.Swept(v.Job(id), 3) }))
	if j := v.Job(id); j.State != JobFailed || j.Kind != BuildIndexJob || j.Error != "it broke" || j.Table != tab.OID {
		t.Errorf("%+v", j)
	}
	clean := NewDropIndexJob(id, tab.Database, table, index, 4)
	v = must[*View](t)(c.Update(t.Context(), func(v *View, ch *Change) error { return ch.Swept(clean, 5) }))
	if v.Job(id) != nil {
		t.Errorf("%+v", v.Job(id))
	}
}

// TestDropTableJob pins what the job that deletes a table's rows says of its segments (V1), and what it says without.
func TestDropTableJob(t *testing.T) {
	table := &Table{OID: 1, Database: PostgresDB, StorageID: 16400}
	for want, segments := range map[string]shardmap.Segments{
		"00004010": nil, "000040100010000200100000": {{Bucket: shardmap.BucketCount + 2}, {Start: []byte{7}, Bucket: shardmap.BucketCount}},
	} {
		table.Segments = segments
		j := NewDropTableJob(3, table, 5)
		if got := hex.EncodeToString(j.Payload); got != want {
			t.Errorf("payload %s, want %s", got, want)
		}
		if id, ok := j.DroppedStorage(); !ok || id != 16400 || !j.droppedBuckets().Equal(segments.Buckets()) {
			t.Errorf("it is of storage %d, %v, and of buckets %v", id, ok, j.droppedBuckets().Intervals())
		}
	}
}
