package catalog

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

const testCluster = "0191f2a4-8f6e-4000-8000-00000000002a"

func openCatalog(t *testing.T, dir string) *Catalog {
	t.Helper()
	c, err := Open(Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

func bootstrapOptions() BootstrapOptions {
	return BootstrapOptions{ClusterID: testCluster, Fragments: 3, Node: Node{ID: 1, Name: "n1", Block: "A", SQLAddr: "127.0.0.1:5433"}}
}

func openBootstrapped(t *testing.T) *Catalog {
	t.Helper()
	c := openCatalog(t, t.TempDir())
	if created, err := c.Bootstrap(t.Context(), bootstrapOptions()); err != nil || !created {
		t.Fatalf("bootstrap: %v %v", created, err)
	}
	return c
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// newTable makes a collection's descriptor with numbers of its own.
func newTable(t *testing.T, c *Catalog, name string) *Table {
	t.Helper()
	oid := must[OID](t)
	tableOID, pkey := oid(c.NewOID(t.Context())), oid(c.NewOID(t.Context()))
	policy, err := shardmap.ParsePolicyJSON(`{"Fields":["Customer"],"Range":1000}`)
	if err != nil {
		t.Fatal(err)
	}
	return &Table{
		OID: tableOID, Database: PostgresDB, Schema: PostgresPublic, Name: name, Owner: BootstrapRole, Kind: KindTable, StorageID: tableOID,
		Columns:         []Column{{AttNum: 1, Name: "id", Type: 25, Typmod: -1, Collation: 100, NotNull: true}, {AttNum: 2, Name: "doc", Type: 3802, Typmod: -1, Missing: []byte{}}},
		Constraints:     []Constraint{{OID: oid(c.NewOID(t.Context())), Name: name + "_pkey", Kind: PrimaryKey, Columns: []int16{1}, Valid: true, Index: pkey}},
		Indexes:         []Index{{OID: pkey, Name: name + "_pkey", StorageID: 1, Columns: []int16{1}, Unique: true, Primary: true}},
		Anchors:         true,
		Document:        2,
		Policy:          policy,
		PolicyValidated: true,
		Options:         map[string]string{"shard_by": "Customer", "fillfactor": "90"},
		ColumnComments:  map[int16]string{2: "the document"},
		NextAttNum:      3,
	}
}

func putTable(t *testing.T, c *Catalog, tab *Table) *View {
	t.Helper()
	return must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error { return ch.PutTable(tab) }))
}

func TestBootstrap(t *testing.T) {
	c := openBootstrapped(t)
	v := c.View()
	db := v.DatabaseByName("postgres")
	if db == nil || db.OID != 5 || v.Database(5) != db || len(db.Fragments) != 3 {
		t.Fatalf("database: %+v", db)
	}
	if b, err := shardmap.BucketOf("customers/1-A"); err != nil || db.Map.Lookup(b) != db.Fragments[2].ID {
		t.Errorf("customers/1-A: %v", err)
	}
	if d, f := v.Fragment(db.Fragments[1].ID); d != db || d.FragmentName(f) != "postgres$1" {
		t.Errorf("fragment: %+v", f)
	}
	if s := v.SchemaByName(5, "public"); s == nil || s.OID != 2200 || v.Role(s.Owner).Name != "pg_database_owner" {
		t.Errorf("schema: %+v", s)
	}
	if r := v.RoleByName("postgres"); r == nil || !r.Superuser || r.OID != 10 || len(slices.Collect(v.Roles())) != 14 {
		t.Errorf("role: %+v", r)
	}
	if n := v.NodeByName("n1"); n == nil || v.Node(1) != n || v.Cluster().ID != testCluster {
		t.Errorf("node: %+v", n)
	}
	if created, err := c.Bootstrap(t.Context(), bootstrapOptions()); created || err != nil {
		t.Errorf("a second time: %v %v", created, err)
	}
	other := bootstrapOptions()
	other.ClusterID = "0191f2a4-8f6e-4000-8000-00000000002b"
	if _, err := c.Bootstrap(t.Context(), other); err == nil {
		t.Error("another cluster's directory was taken")
	}
}

func TestTableLifecycle(t *testing.T) {
	c := openBootstrapped(t)
	tab := newTable(t, c, "orders")
	v := putTable(t, c, tab)
	got := v.FindTable(PostgresDB, "public", "orders")
	tab.Version = 1
	if !reflect.DeepEqual(got, tab) {
		t.Fatalf("got %+v\nwant %+v", got, tab)
	}
	if x, i := v.Relation(PostgresPublic, "orders_pkey"); x != got || i == nil || i.Name != "orders_pkey" || v.TableByName(PostgresPublic, "orders_pkey") != nil {
		t.Errorf("index: %+v %+v", x, i)
	}
	if x, i := v.Index(tab.Indexes[0].OID); x != got || i.Name != "orders_pkey" || v.TableByStorage(tab.StorageID) != got {
		t.Errorf("index by OID: %+v %+v", x, i)
	}
	if x := v.TableOfPart(tab.Constraints[0].OID); x != got {
		t.Errorf("constraint by OID: %+v", x)
	}
	before := v
	v = must[*View](t)(c.Update(t.Context(), func(v *View, ch *Change) error {
		u := v.Table(tab.OID).Clone()
		u.Name, u.Indexes[0].Name, u.Options["fillfactor"] = "sales", "sales_pkey", "80"
		return ch.PutTable(u)
	}))
	if v.FindTable(PostgresDB, "public", "orders") != nil || v.FindTable(PostgresDB, "public", "sales").Version != 2 {
		t.Error("rename")
	}
	if old := before.FindTable(PostgresDB, "public", "orders"); old == nil || old.Options["fillfactor"] != "90" || old.Indexes[0].Name != "orders_pkey" {
		t.Errorf("the older view has changed: %+v", old) // K1
	}
	v = must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error { ch.DropTable(tab.OID); return nil }))
	if v.Table(tab.OID) != nil || v.TableByStorage(tab.StorageID) != nil || v.TableOfPart(tab.Indexes[0].OID) != nil || len(slices.Collect(v.TablesIn(PostgresPublic))) != 0 {
		t.Error("dropped, and still there")
	}
}

func TestRefusals(t *testing.T) {
	c := openBootstrapped(t)
	orders, other := newTable(t, c, "orders"), newTable(t, c, "other")
	putTable(t, c, orders)
	putTable(t, c, other)
	oid := must[OID](t)(c.NewOID(t.Context()))
	fragment := must[[]uint32](t)(c.NewFragmentIDs(t.Context(), 1))
	edit := func(tab *Table, f func(*Table)) func(*View, *Change) error {
		return func(v *View, ch *Change) error {
			u := v.Table(tab.OID).Clone()
			f(u)
			return ch.PutTable(u)
		}
	}
	tests := []struct {
		name string
		plan func(*View, *Change) error
		code string
	}{
		{"table name taken", edit(orders, func(u *Table) { u.Name = "other" }), pgerr.DuplicateTable},
		{"table name taken by an index", edit(orders, func(u *Table) { u.Name = "other_pkey" }), pgerr.DuplicateTable},
		{"index name taken by its table", edit(orders, func(u *Table) { u.Indexes[0].Name = "orders" }), pgerr.DuplicateTable},
		{"column twice", edit(orders, func(u *Table) { u.Columns[1].Name = "id" }), pgerr.DuplicateColumn},
		{"constraint twice", edit(orders, func(u *Table) { u.Constraints = append(u.Constraints, u.Constraints[0]) }), pgerr.DuplicateObject},
		{"no such schema", edit(orders, func(u *Table) { u.Schema = 4711 }), pgerr.InvalidSchemaName},
		{"no such owner", edit(orders, func(u *Table) { u.Owner = 4711 }), pgerr.UndefinedObject},
		{"storage of another table", edit(orders, func(u *Table) { u.StorageID = other.StorageID }), pgerr.InternalError},
		{"number not allotted", edit(orders, func(u *Table) { u.StorageID = 1 << 30 }), pgerr.InternalError},
		{"attribute number not below next", edit(orders, func(u *Table) { u.NextAttNum = 2 }), pgerr.InternalError},
		{"key on no column", edit(orders, func(u *Table) { u.Constraints[0].Columns[0] = 9 }), pgerr.InternalError},
		{"schema twice", func(_ *View, ch *Change) error {
			return ch.PutSchema(&Schema{OID: oid, Database: PostgresDB, Name: "public", Owner: BootstrapRole})
		}, pgerr.DuplicateSchema},
		{"built-in schema", func(_ *View, ch *Change) error {
			return ch.PutSchema(&Schema{OID: oid, Database: PostgresDB, Name: "sherd", Owner: BootstrapRole})
		}, pgerr.DuplicateSchema},
		{"schema of no database", func(_ *View, ch *Change) error {
			return ch.PutSchema(&Schema{OID: oid, Database: 4711, Name: "s", Owner: BootstrapRole})
		}, pgerr.InvalidCatalogName},
		{"schema in use", func(_ *View, ch *Change) error { ch.DropSchema(PostgresPublic); return nil }, pgerr.DependentObjectsStillExist},
		{"role in use", func(_ *View, ch *Change) error { ch.DropRole(BootstrapRole); return nil }, pgerr.DependentObjectsStillExist},
		{"role twice", func(_ *View, ch *Change) error { return ch.PutRole(&Role{OID: oid, Name: "postgres"}) }, pgerr.DuplicateObject},
		{"database twice", func(v *View, ch *Change) error {
			d := v.Database(PostgresDB).Clone()
			d.OID, d.Fragments = oid, nil
			return ch.PutDatabase(d)
		}, pgerr.InternalError}, // its map names fragments that it has not
		{"database name taken", func(v *View, ch *Change) error {
			d := v.Database(PostgresDB).Clone()
			d.OID, d.Fragments, d.Map = oid, []Fragment{{ID: fragment[0]}}, shardmap.NewInitialMap(fragment)
			return ch.PutDatabase(d)
		}, pgerr.DuplicateDatabase},
		{"fragment of another database", func(v *View, ch *Change) error {
			d := v.Database(PostgresDB).Clone()
			d.OID, d.Name = oid, "copy"
			return ch.PutDatabase(d)
		}, pgerr.InternalError},
		{"fragment on no node", func(v *View, ch *Change) error {
			d := v.Database(PostgresDB).Clone()
			d.Fragments[0].Nodes = []uint32{9}
			return ch.PutDatabase(d)
		}, pgerr.UndefinedObject},
		{"node in use", func(_ *View, ch *Change) error { ch.DropNode(1); return nil }, pgerr.DependentObjectsStillExist},
		{"cluster dropped", func(_ *View, ch *Change) error { ch.drop(clusterObject, 0); return nil }, pgerr.InternalError},
		{"node block twice", func(v *View, ch *Change) error { return ch.PutNode(&Node{ID: 1, Name: "", Block: "A"}) }, pgerr.InternalError},
		{"name too long", edit(orders, func(u *Table) { u.Name = string(make([]byte, 64)) }), pgerr.InternalError},
	}
	before := c.View()
	for _, tt := range tests {
		if _, err := c.Update(t.Context(), tt.plan); pgerr.Code(err) != tt.code {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.code)
		}
	}
	if c.View() != before {
		t.Error("a refused change left a trace")
	}
}

func TestSwapNamesAndDropDatabase(t *testing.T) {
	c := openBootstrapped(t)
	a, b := newTable(t, c, "a"), newTable(t, c, "b")
	putTable(t, c, a)
	putTable(t, c, b)
	v := must[*View](t)(c.Update(t.Context(), func(v *View, ch *Change) error {
		x, y := v.Table(a.OID).Clone(), v.Table(b.OID).Clone()
		x.Name, y.Name = "b", "a"
		if err := ch.PutTable(x); err != nil {
			return err
		}
		return ch.PutTable(y)
	}))
	if v.FindTable(PostgresDB, "public", "a").OID != b.OID || v.FindTable(PostgresDB, "public", "b").OID != a.OID {
		t.Error("names were not swapped")
	}
	v = must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error { ch.DropDatabase(PostgresDB); return nil }))
	if v.DatabaseByName("postgres") != nil || v.Table(a.OID) != nil || v.Schema(PostgresPublic) != nil || v.names.Len() != 14+2 {
		t.Errorf("%d names are left", v.names.Len()) // 14 roles, a node and its block
	}
}

func TestSettingsNodesJobs(t *testing.T) {
	c := openBootstrapped(t)
	v := must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error {
		for _, s := range []Setting{{"work_mem", "8MB"}, {"sherd.gc_ttl", "1h"}, {"work_mem", "9MB"}} {
			if err := ch.PutSetting(s); err != nil {
				return err
			}
		}
		return ch.DropSetting("absent")
	}))
	if got := v.Cluster().SettingList(); !slices.Equal(got, []Setting{{"sherd.gc_ttl", "1h"}, {"work_mem", "9MB"}}) {
		t.Errorf("settings: %v", got)
	}
	definitions := v.DefinitionVersion()
	id := must[uint64](t)(c.NewJobID(t.Context()))
	node := must[uint32](t)(c.NewNodeID(t.Context()))
	job := &Job{ID: id, Kind: "validate_policy", State: JobRunning, Database: PostgresDB, Payload: []byte{1}, Total: 3, StartedMicros: -5}
	v = must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error {
		if err := ch.PutJob(job); err != nil {
			return err
		}
		return ch.PutNode(&Node{ID: node, Name: "n2", Block: NodeBlock(node), Labels: map[string]string{"zone": "a"}})
	}))
	if !reflect.DeepEqual(v.Job(id), job) || v.Node(2).Block != "B" || v.DefinitionVersion() != definitions || v.Version() != definitions+1 {
		t.Errorf("job %+v, node %+v, versions %d %d", v.Job(id), v.Node(2), v.Version(), v.DefinitionVersion())
	}
	v = must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error {
		ch.DropJob(id)
		ch.DropNode(node)
		return ch.DropSettings()
	}))
	if v.Job(id) != nil || v.Node(2) != nil || len(v.Cluster().SettingList()) != 0 {
		t.Error("dropped, and still there")
	}
}

func TestNumbersAreNeverReused(t *testing.T) {
	dir := t.TempDir()
	seen := map[OID]bool{}
	for range 3 {
		c := openCatalog(t, dir)
		for range oidBlock + 3 {
			oid := must[OID](t)(c.NewOID(t.Context()))
			if oid < FirstOID || seen[oid] {
				t.Fatalf("OID %d again", oid)
			}
			seen[oid] = true
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	c := openCatalog(t, dir)
	one, two := must[[]uint32](t)(c.NewFragmentIDs(t.Context(), 3)), must[[]uint32](t)(c.NewFragmentIDs(t.Context(), 2))
	if !slices.Equal(one, []uint32{1, 2, 3}) || !slices.Equal(two, []uint32{4, 5}) {
		t.Errorf("fragments %v %v", one, two)
	}
}

// TestRestart finds every change again, from the log alone and from a snapshot with a log behind it.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	c := openCatalog(t, dir)
	must[bool](t)(c.Bootstrap(t.Context(), bootstrapOptions()))
	putTable(t, c, newTable(t, c, "t1"))
	reopen := func() {
		t.Helper()
		before := c.View()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = openCatalog(t, dir)
		sameView(t, before, c.View())
	}
	reopen()
	putTable(t, c, newTable(t, c, "t2"))
	if err := c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	reopen()
	putTable(t, c, newTable(t, c, "t3"))
	reopen()
	if n := len(slices.Collect(c.View().TablesIn(PostgresPublic))); n != 3 {
		t.Errorf("%d tables", n)
	}
}

func sameView(t *testing.T, a, b *View) {
	t.Helper()
	dump := func(v *View) map[uint64]entry {
		m := map[uint64]entry{}
		v.objects.Scan(func(k uint64, e entry) bool { m[k] = e; return true })
		return m
	}
	x, y := dump(a), dump(b)
	if a.version != b.version || a.definitionVersion != b.definitionVersion || !reflect.DeepEqual(x, y) || a.names.Len() != b.names.Len() || a.numbers.Len() != b.numbers.Len() {
		t.Fatalf("views differ: version %d and %d, objects %v and %v", a.version, b.version, slices.Sorted(maps.Keys(x)), slices.Sorted(maps.Keys(y)))
	}
}

func BenchmarkFindTable(b *testing.B) {
	v := emptyView()
	for i := range 5000 {
		t := &Table{OID: FirstOID + OID(i), Schema: PostgresPublic, Name: fmt.Sprintf("table_%d", i), StorageID: FirstOID + OID(i)}
		if err := v.insert(entry{1, t}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("name", func(b *testing.B) {
		for b.Loop() {
			v.TableByName(PostgresPublic, "table_4711")
		}
	})
	b.Run("oid", func(b *testing.B) {
		for b.Loop() {
			v.Table(FirstOID + 4711)
		}
	})
	b.Run("draft", func(b *testing.B) {
		for b.Loop() {
			v.draft().remove(newKey(tableObject, uint64(FirstOID+4711)))
		}
	})
}

func TestNextIDs(t *testing.T) {
	dir := t.TempDir()
	c := openCatalog(t, dir)
	must[bool](t)(c.Bootstrap(t.Context(), bootstrapOptions()))
	a, b := newTable(t, c, "a"), newTable(t, c, "b")
	putTable(t, c, a)
	version := putTable(t, c, b).Version()
	next := func(table OID, n uint64) uint64 { return must[uint64](t)(c.NextIDs(t.Context(), table, n)) }
	if x, y, z := next(a.OID, 10), next(b.OID, 5), next(a.OID, 10); x != 1 || y != 1 || z != 11 {
		t.Errorf("%d %d %d", x, y, z)
	}
	if err := c.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = openCatalog(t, dir)
	if x := next(a.OID, 1); x != 21 || c.View().Version() != version {
		t.Errorf("after a restart: %d, version %d", x, c.View().Version())
	}
	if _, err := c.NextIDs(t.Context(), a.OID, 1<<63); !pgerr.Is(err, pgerr.ConfigurationLimitExceeded) {
		t.Errorf("too many: %v", err)
	}
	must[*View](t)(c.Update(t.Context(), func(_ *View, ch *Change) error { ch.DropTable(a.OID); return nil }))
	if _, err := c.NextIDs(t.Context(), a.OID, 1); !pgerr.Is(err, pgerr.UndefinedTable) || c.machine.ids.Len() != 1 {
		t.Errorf("of a dropped table: %v, %d counters", err, c.machine.ids.Len())
	}
}
