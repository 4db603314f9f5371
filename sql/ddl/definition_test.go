package ddl_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/scramsecret"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/types"
)

func TestTableDefinition(t *testing.T) {
	w := newWorld(t)
	w.run(`CREATE TABLE orders (id text, total numeric(10,2) DEFAULT 1 CHECK (total > 0), doc jsonb NOT NULL,
		other jsonb, twice numeric GENERATED ALWAYS AS (total * 2) STORED, PRIMARY KEY (id))
		WITH (shard_by = 'Customer', shard_range = 1000, fillfactor = 90);`)
	o := w.table("orders")
	if !o.Anchors || o.Document != 3 || o.Policy == nil || !o.PolicyValidated || o.Policy.Range != 1000 {
		t.Errorf("collection: %+v", o)
	}
	pk := o.PrimaryKey()
	if pk == nil || pk.Name != "orders_pkey" || len(o.Indexes) != 1 || pk.Index != o.Indexes[0].OID ||
		!o.Columns[0].NotNull {
		t.Errorf("primary key: %+v %+v", pk, o.Indexes)
	}
	if k := o.Constraint("orders_total_check"); k == nil || !strings.Contains(k.Check, "total > ") || !k.Valid {
		t.Errorf("check: %+v", k)
	}
	if o.Columns[1].Typmod != 10<<16+2+4 || o.Columns[1].Default == "" || o.Columns[4].Generated == "" {
		t.Errorf("columns: %+v", o.Columns)
	}
	if o.Options["fillfactor"] != "90" || o.Options["shard_by"] != "Customer" || o.Options["shard_range"] != "1000" {
		t.Errorf("options: %v", o.Options)
	}
}

// TestAnchors has one case for each rule about which tables are collections.
func TestAnchors(t *testing.T) {
	for name, c := range map[string]struct {
		create   string
		anchors  bool
		document int16
	}{
		"doc by name":    {"CREATE TABLE t (a jsonb, doc jsonb, id text PRIMARY KEY)", true, 2},
		"only jsonb":     {"CREATE TABLE t (id text PRIMARY KEY, body jsonb)", true, 2},
		"two jsonb":      {"CREATE TABLE t (id text PRIMARY KEY, a jsonb, b jsonb)", false, 0},
		"named":          {"CREATE TABLE t (id text PRIMARY KEY, a jsonb, b jsonb) WITH (document = b)", true, 3},
		"no document":    {"CREATE TABLE t (id text PRIMARY KEY, a int)", false, 0},
		"forced on":      {"CREATE TABLE t (id text PRIMARY KEY, a int) WITH (anchors = on)", true, 0},
		"forced off":     {"CREATE TABLE t (id text PRIMARY KEY, doc jsonb) WITH (anchors = off)", false, 2},
		"composite key":  {"CREATE TABLE t (id text, n int, doc jsonb, PRIMARY KEY (id, n))", false, 3},
		"varchar key":    {"CREATE TABLE t (id varchar PRIMARY KEY, doc jsonb)", false, 2},
		"no key":         {"CREATE TABLE t (id text, doc jsonb)", false, 2},
		"key made later": {"CREATE TABLE t (id text, doc jsonb); ALTER TABLE t ADD PRIMARY KEY (id)", true, 2},
		"document comes": {"CREATE TABLE t (id text PRIMARY KEY); ALTER TABLE t ADD COLUMN doc jsonb", false, 2},
		"document goes": {"CREATE TABLE t (id text PRIMARY KEY, doc jsonb); ALTER TABLE t DROP COLUMN doc", true,
			0},
		"switched on empty": {"CREATE TABLE t (id text PRIMARY KEY, doc jsonb); ALTER TABLE t SET (anchors = off)",
			false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.run(strings.ReplaceAll(c.create, "; ", ";\n"))
			got := w.table("t")
			if got.Anchors != c.anchors || got.Document != c.document {
				t.Errorf("anchors %v, document %d; want %v, %d\n%s", got.Anchors, got.Document, c.anchors, c.document,
					w.out.String())
			}
		})
	}
}

func TestPolicyTrust(t *testing.T) {
	w := newWorld(t)
	w.run("CREATE TABLE o (id text PRIMARY KEY, doc jsonb);")
	filled := func(context.Context, *catalog.View, string, func([]types.Datum) error) error { return nil }
	w.env.Query = func(ctx context.Context, v *catalog.View, text string, emit func([]types.Datum) error) error {
		if err := filled(ctx, v, text, emit); err != nil {
			return err
		}
		return emit([]types.Datum{types.NewInt(1)}) // the table has rows
	}
	bad := []ddl.Misplaced{}
	w.env.Misplaced = func(_ context.Context, _ *catalog.View, _ *catalog.Table, emit func(ddl.Misplaced) error) error {
		for _, m := range bad {
			if err := emit(m); err != nil {
				return err
			}
		}
		return nil
	}
	for _, step := range []struct {
		sql       string
		bad       int
		validated bool
		code      string
	}{
		{sql: "ALTER TABLE o SET (shard_by = 'C')"},
		{sql: "ALTER TABLE o VALIDATE CONSTRAINT sharding", bad: 7, code: pgerr.CheckViolation},
		{sql: "ALTER TABLE o VALIDATE CONSTRAINT sharding", validated: true},
		{sql: "ALTER TABLE o SET (shard_range = 10)", validated: true},
		{sql: "ALTER TABLE o SET (shard_range = 30)", validated: true},
		{sql: "ALTER TABLE o SET (shard_range = 40)"},
		{sql: "ALTER TABLE o VALIDATE CONSTRAINT sharding", validated: true},
		{sql: "ALTER TABLE o SET (fillfactor = 50)", validated: true},
		{sql: "ALTER TABLE o SET (shard_mutable)"},
		{sql: "ALTER TABLE o VALIDATE CONSTRAINT sharding", code: pgerr.ObjectNotInPrerequisiteState},
		{sql: "ALTER TABLE o SET (shard_mutable = off)"},
		{sql: "TRUNCATE o", validated: true},
		{sql: "ALTER TABLE o SET (shard_by = 'id()')", validated: true},
		{sql: "ALTER TABLE o SET (anchors = off)", validated: true},
		{sql: "ALTER TABLE o RESET (shard_by)"},
		{sql: "ALTER TABLE o VALIDATE CONSTRAINT sharding", code: pgerr.UndefinedObject},
	} {
		bad = make([]ddl.Misplaced, step.bad)
		before := w.out.Len()
		w.run(step.sql + ";\n")
		said := w.out.String()[before:]
		if step.code == "" && strings.Contains(said, "ERROR") || !strings.Contains(said, step.code) {
			t.Errorf("%s: %s", step.sql, said)
		}
		if got := w.table("o").PolicyValidated; got != step.validated {
			t.Errorf("%s: validated is %v", step.sql, got)
		}
	}
}

func TestSetPolicy(t *testing.T) {
	w := newWorld(t)
	w.run("CREATE TABLE o (id text PRIMARY KEY, doc jsonb);")
	oid := w.table("o").OID
	if err := ddl.SetPolicy(t.Context(), w.env, oid, `{"Fields":["Customer"],"Range":1000}`); err != nil {
		t.Fatal(err)
	}
	if p := w.table("o").Policy; p == nil || p.JSON() != `{"Fields":["Customer"],"Range":1000,"Mutable":false}` {
		t.Errorf("policy %v", p)
	}
	for text, code := range map[string]string{"{": "22P02", `{"Fields":[]}`: "22023", `{"Field":["a"]}`: "22023"} {
		if err := ddl.SetPolicy(t.Context(), w.env, oid, text); pgerr.Code(err) != code {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := ddl.SetPolicy(t.Context(), w.env, oid, ""); err != nil || w.table("o").Policy != nil {
		t.Errorf("taken away: %v %v", err, w.table("o").Policy)
	}
	if err := ddl.SetPolicy(t.Context(), w.env, 1, ""); pgerr.Code(err) != pgerr.UndefinedTable {
		t.Error(err)
	}
}

// TestTruncate checks that the storage id changes and that a job deletes the old rows.
func TestTruncate(t *testing.T) {
	w := newWorld(t)
	w.run("CREATE TABLE a (x int);\nCREATE TABLE b (x int);")
	old, b := w.table("a").StorageID, w.table("b").StorageID
	w.run("TRUNCATE a;\nDROP TABLE b;")
	if w.table("a").StorageID == old {
		t.Error("the storage id is the old one")
	}
	got := map[uint32]bool{}
	for j := range w.env.Catalog.View().Jobs() {
		if id, ok := j.DroppedStorage(); ok && j.Database == catalog.PostgresDB {
			got[id] = true
		}
	}
	if len(got) != 2 || !got[old] || !got[b] {
		t.Errorf("jobs for %v, want %d and %d", got, old, b)
	}
}

func TestPasswords(t *testing.T) {
	w := newWorld(t)
	w.run("CREATE ROLE a LOGIN PASSWORD 'secret';\nCREATE ROLE b;\nALTER ROLE a VALID UNTIL '2030-01-01 12:00+02';")
	v := w.env.Catalog.View()
	a := v.RoleByName("a")
	if a == nil || !scramsecret.Is(a.Password) || !a.Login || a.ValidUntil != "2030-01-01 10:00:00+00" ||
		v.RoleByName("b").Login {
		t.Fatalf("%+v", a)
	}
	w.run("CREATE ROLE c PASSWORD '" + a.Password + "';\nALTER ROLE a PASSWORD NULL;")
	v = w.env.Catalog.View()
	if v.RoleByName("c").Password != a.Password || v.RoleByName("a").Password != "" {
		t.Error("a verifier is kept as it is, NULL takes the password away")
	}
}

// TestPermissions runs statements as a role without rights.
func TestPermissions(t *testing.T) {
	w := newWorld(t)
	w.run("CREATE TABLE t (x int);\nCREATE SCHEMA s;\nCREATE ROLE u;\nCREATE ROLE v CREATEDB CREATEROLE;")
	for _, sql := range []string{
		"DROP TABLE t", "ALTER TABLE t ADD COLUMN y int", "TRUNCATE t", "ALTER TABLE t RENAME TO u",
		"COMMENT ON TABLE t IS 'x'",
		"CREATE TABLE n (x int)", "CREATE TABLE s.n (x int)", "CREATE SCHEMA n", "DROP SCHEMA s",
		"ALTER SCHEMA s RENAME TO z",
		"CREATE DATABASE n", "DROP DATABASE postgres", "ALTER DATABASE postgres SET work_mem = '1MB'", "CREATE ROLE n",
		"DROP ROLE v",
		"ALTER ROLE v LOGIN", "ALTER ROLE postgres PASSWORD 'x'", "ALTER TABLE t OWNER TO u",
		"ALTER TABLE t SET (shard_by = 'x')",
	} {
		w.env.Role = w.env.Catalog.View().RoleByName("u").OID
		before := w.out.Len()
		w.run(sql + ";\n")
		if said := w.out.String()[before:]; !strings.Contains(said, "42501") {
			t.Errorf("%s", said)
		}
	}
	w.env.Role = w.env.Catalog.View().RoleByName("v").OID
	before := w.out.Len()
	w.run("CREATE DATABASE n;\nCREATE ROLE n;\nDROP DATABASE n;\nDROP ROLE n;\nALTER ROLE v PASSWORD 'x';")
	if said := w.out.String()[before:]; strings.Contains(said, "ERROR") {
		t.Error(said)
	}
}
