package catalog

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/hashicorp/raft"
	pb "github.com/sherddb/sherd/catalog/catalogpb"
	"github.com/sherddb/sherd/shardmap"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// rewrite makes the golden files of the present format. Those of a released format are never rewritten.
var rewrite = flag.Bool("rewrite", false, "write the golden files of the formats anew")

// fullOps is a batch in which every field of every descriptor is set.
func fullOps(t *testing.T) []op {
	t.Helper()
	policy, err := shardmap.ParsePolicyJSON(`{"Fields":["Address.State","numeric(\"a.b\".c)"],"Range":1000,"Mutable":true}`)
	if err != nil {
		t.Fatal(err)
	}
	bucketMap, err := shardmap.NewInitialMap([]uint32{1, 2}).Reassign(shardmap.Interval{Lo: 7, Hi: 9}, 2)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{"work_mem": "8MB", "application_name": "x"}
	descriptors := []descriptor{
		&Cluster{ID: testCluster, Format: 1, Settings: settings},
		&Database{
			ReplicationFactor: DefaultReplicationFactor,
			OID:               5, Name: "orders", Owner: 10, Map: bucketMap, ConnectionLimit: -1, Settings: settings, Comment: "of customers",
			Fragments: []Fragment{{ID: 1, Ordinal: 0, Nodes: []uint32{1}}, {ID: 2, Ordinal: 1, Nodes: []uint32{1}}},
		},
		&Schema{OID: 16384, Database: 5, Name: "sales", Owner: 10, Comment: "s"},
		&Table{
			OID: 16385, Database: 5, Schema: 16384, Name: "orders", Owner: 10, Kind: KindTable, Version: 3, StorageID: 16390,
			Columns: []Column{
				{AttNum: 1, Name: "id", Type: 25, Typmod: -1, Collation: 100, NotNull: true, Default: "'x'::text"},
				{AttNum: 2, Name: "n", Type: 20, Typmod: 8, Identity: 'a', Missing: []byte{}},
				{AttNum: 4, Name: "g", Type: 23, Typmod: -1, Generated: "n + 1", Missing: []byte{1, 2}},
				{AttNum: 5, Name: "........pg.dropped.5........", Typmod: -1, Dropped: true},
				{AttNum: 6, Name: "doc", Type: 3802, Typmod: -1},
			},
			Constraints: []Constraint{
				{OID: 16387, Name: "orders_pkey", Kind: PrimaryKey, Columns: []int16{1, 2}, Valid: true, Index: 16386, Comment: "c"},
				{OID: 16388, Name: "positive", Kind: Check, Columns: []int16{2}, Check: "(n > 0)", NoInherit: true},
			},
			Indexes: []Index{{OID: 16386, Name: "orders_pkey", StorageID: 1, Columns: []int16{1, 2}, Unique: true, Primary: true, Comment: "i"}},
			Anchors: true, Document: 6, AnchorBy: "OrderId", Policy: policy, PolicyValidated: true,
			Options: settings, Comment: "t", ColumnComments: map[int16]string{1: "the id", 6: "the document"}, NextAttNum: 7,
		},
		&Role{
			OID: 10, Name: "postgres", Superuser: true, Inherit: true, CreateRole: true, CreateDB: true, Login: true, Replication: true, BypassRLS: true,
			ConnectionLimit: 4, Password: "SCRAM-SHA-256$…", ValidUntil: "2027-01-01 00:00:00+00", Settings: settings, Comment: "r",
		},
		&Node{ID: 1, Name: "n1", Block: "A", SQLAddr: "a:1", NodeAddr: "a:2", HTTPAddr: "a:3", Labels: map[string]string{"zone": "a"}},
		&Job{
			ID: 1, Kind: "validate_policy", State: JobFailed, Database: 5, Table: 16385, Payload: []byte{0, 255}, Done: 1, Total: 2, Error: "e",
			StartedMicros: 1, UpdatedMicros: 2,
		},
	}
	var ops []op
	for _, d := range descriptors {
		ops = append(ops, op{kind: putOp, key: keyOf(d), desc: d})
	}
	return ops
}

func fullState(t *testing.T) state {
	t.Helper()
	c := counters{oid: 16448, fragment: 3, node: 2, job: 2}
	v, err := emptyView().apply(fullOps(t), c)
	if err != nil {
		t.Fatal(err)
	}
	ids := &idCounters{}
	ids.Set(16385, 4097)
	return state{view: v, counters: c, ids: ids}
}

// TestEveryFieldIsEncoded fails when a descriptor gains a field that fullOps and laterOps leave zero: such a field might be lost on disk.
func TestEveryFieldIsEncoded(t *testing.T) {
	zero := map[string]bool{}
	for _, o := range slices.Concat(fullOps(t), laterOps(), addingOps(), referringOps(), memberOps(), sequenceOps(), nodeOps(), replicaOps(), deferrableKeyOps(), moveOps()[:3], planOps(), factorOps(), hotOps(),
		zoneOps(), forwardingOps(t), segmentOps(), resegmentOps(), prefixOps(), classOps(), methodOps(),
		targetOps(), extendedOps(), typeOps(), domainOps(), compositeOps(), functionOps(), accessOps(t)) {
		noteFields(zero, reflect.TypeOf(o.desc).Elem().Name(), reflect.ValueOf(o.desc).Elem())
	}
	delete(zero, "Schema.Temporary") // schemas that have it are never stored
	for path, is := range zero {
		if is {
			t.Errorf("%s is zero in all", path)
		}
	}
}

// noteFields notes of every field whether it was zero whenever it was seen, in the structs of slices too.
func noteFields(zero map[string]bool, name string, v reflect.Value) {
	for i := range v.NumField() {
		f, path := v.Field(i), name+"."+v.Type().Field(i).Name
		before, seen := zero[path]
		zero[path] = f.IsZero() && (before || !seen)
		if f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct {
			for k := range f.Len() {
				noteFields(zero, path, f.Index(k))
			}
		}
	}
}

var fullAllotment = allotment{64, 3, 1, 2, 16385, 4096}

func TestFormats(t *testing.T) {
	encode := func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	ops := append(fullOps(t), op{kind: dropOp, key: newKey(roleObject, 16400), expect: 9}, op{kind: requireOp, key: newKey(schemaObject, 2200), expect: 2})
	batch, allotted := golden(t, "batch.v1", encode(encodeBatch(ops))), golden(t, "allocate.v1", encode(encodeAllotment(fullAllotment)))
	asRead := func(d *Database) { d.ReplicationFactor = DefaultReplicationFactor } // of files that say nothing of it
	asRead(ops[1].desc.(*Database))
	if e, err := decodeEntry(batch); err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Errorf("batch: %v", err)
	}
	if e, err := decodeEntry(allotted); err != nil || e.ops != nil || e.want != (fullAllotment) {
		t.Errorf("allotment: %+v, %v", e, err)
	}
	want := fullState(t)
	s, err := decodeSnapshot(golden(t, "snapshot.v1", encode(encodeSnapshot(want))))
	if err != nil || s.counters != want.counters {
		t.Fatalf("snapshot: %+v, %v", s.counters, err)
	}
	asRead(want.view.Database(5))
	sameView(t, want.view, s.view)
	if n, _ := s.ids.Get(16385); n != 4097 || s.ids.Len() != 1 {
		t.Errorf("id counters: %d, %d of them", n, s.ids.Len())
	}
}

// TestTransactionFormats: the entries and the snapshot of a transaction that is decided by the catalog.
func TestTransactionFormats(t *testing.T) {
	encode := func(data []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	id, other := TransactionID{1, 2, 15: 16}, TransactionID{15: 9}
	p := &prepared{id: id, writers: []uint32{1, 7}, ops: []op{
		{kind: dropOp, key: newKey(roleObject, 16390), expect: 1}, {kind: putOp, key: newKey(roleObject, 16400), nextID: 17, desc: &Role{OID: 16400, Name: "r"}},
	}}
	e, err := decodeEntry(golden(t, "prepare.v1", encode(encodePrepare(p))))
	if err != nil || e.prepare == nil || e.prepare.id != id || !reflect.DeepEqual(e.prepare.ops, p.ops) || !reflect.DeepEqual(e.prepare.writers, p.writers) {
		t.Errorf("prepare: %+v, %v", e.prepare, err)
	}
	d := decision{id: id, commitTS: 1 << 60, commit: true}
	if e, err := decodeEntry(golden(t, "decide.v1", encode(encodeDecision(d)))); err != nil || *e.decide != d {
		t.Errorf("decide: %+v, %v", e.decide, err)
	}
	d.prepared = true
	if e, err := decodeEntry(golden(t, "decide-held.v1", encode(encodeDecision(d)))); err != nil || *e.decide != d {
		t.Errorf("decide held: %+v, %v", e.decide, err)
	}
	h := &prepared{id: id, transaction: &preparedTransaction{3, []TableLock{{16384, 1 << 8}, {16390, 6}}}, ops: p.ops}
	if e, err := decodeEntry(golden(t, "hold.v1", encode(encodePrepare(h)))); err != nil || e.prepare.transaction == nil || !reflect.DeepEqual(e.prepare.transaction, h.transaction) {
		t.Errorf("hold: %+v, %v", e.prepare, err)
	}
	if e, err := decodeEntry(golden(t, "forget.v1", encode(encodeForget(id)))); err != nil || *e.forget != id {
		t.Errorf("forget: %+v, %v", e.forget, err)
	}
	s := state{counters: counters{oid: 16448, fragment: 3, node: 2, job: 2}, ids: &idCounters{}}
	if s.view, err = emptyView().apply([]op{{key: newKey(roleObject, 16390), desc: &Role{OID: 16390, Name: "old"}}}, s.counters); err != nil {
		t.Fatal(err)
	}
	if s.view, err = s.view.prepare(e.prepare, s.counters); err != nil {
		t.Fatal(err)
	}
	s.view.decided = []*decided{{other, 5, []uint32{2}}}
	got, err := decodeSnapshot(golden(t, "snapshot-prepared.v1", encode(encodeSnapshot(s))))
	if err != nil {
		t.Fatal(err)
	}
	if got.view.findPrepared(id) == nil || !reflect.DeepEqual(*got.view.findDecided(other), *s.view.decided[0]) {
		t.Error("the snapshot lost a transaction")
	}
}

// golden gives the bytes of a file of a released format, which must mean what this release writes.
func golden(t *testing.T, name string, written []byte) []byte {
	t.Helper()
	path := "testdata/" + name
	if *rewrite {
		if err := os.WriteFile(path, written, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != string(written) {
		t.Errorf("%s: this release writes other bytes:\n%s", name, describe(written))
	}
	return data
}

// describe prints an entry for a failed test.
func describe(data []byte) string {
	var e pb.Entry
	if err := proto.Unmarshal(data[1:], &e); err != nil {
		return err.Error()
	}
	return protojson.Format(&e)
}

// TestUnreadableEntryStops: a replica that went on past an entry it cannot read would part from the others.
func TestUnreadableEntryStops(t *testing.T) {
	defer func() {
		want := "entry 7 of the catalog's log: catalog: log entry has format 2, which this release of Sherd cannot read"
		if got := recover(); got != want {
			t.Errorf("panic %v, want %s", got, want)
		}
	}()
	newMachine().Apply(&raft.Log{Index: 7, Data: []byte{2, 0}})
}

func TestDamagedFormats(t *testing.T) {
	snapshot, err := encodeSnapshot(fullState(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"empty": nil, "newer": append([]byte{2}, snapshot[1:]...), "cut": snapshot[:len(snapshot)-3]} {
		if _, err := decodeSnapshot(data); err == nil {
			t.Errorf("%s snapshot accepted", name)
		}
		if _, err := decodeEntry(data); err == nil {
			t.Errorf("%s entry accepted", name)
		}
	}
	if _, err := decodeEntry([]byte{1}); err == nil {
		t.Error("entry without a kind accepted")
	}
}

// FuzzDecode: whatever the bytes, decoding ends in an error or in a state that reads back the same; applying never panics and keeps the
// state's own snapshot readable.
func FuzzDecode(f *testing.F) {
	names, err := filepath.Glob("testdata/*.v1")
	if err != nil || len(names) < 25 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := decodeSnapshot(data); err == nil {
			reread(t, s)
		}
		e, err := decodeEntry(data)
		if err != nil {
			return
		}
		m := newMachine()
		m.counters = counters{oid: 1 << 20, fragment: 100, node: 100, job: 100}
		if a := m.apply(e); a.err == nil {
			reread(t, m.state())
		}
	})
}

func reread(t *testing.T, s state) {
	data, err := encodeSnapshot(s)
	if err != nil {
		return // text that is no UTF-8 cannot come from a decoded message, and is refused here
	}
	again, err := decodeSnapshot(data)
	if err != nil {
		t.Fatalf("own snapshot is refused: %v", err)
	}
	sameView(t, s.view, again.view)
}
