package sql_test

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/session"
)

// TestOddArguments: functions of Sherd name the argument that is wrong, and do not misread one
// argument as another.
func TestOddArguments(t *testing.T) {
	a := newWorld(t).connect(t)
	a.want(`CREATE TABLE "It's" (id text PRIMARY KEY, doc jsonb NOT NULL)`, "CREATE TABLE")
	a.want(`INSERT INTO "It's" VALUES ('it''s', '{"Likes": 1}')`, "INSERT 0 1")
	a.want("CREATE SEQUENCE counting", "CREATE SEQUENCE")
	// Segments of a range table are buckets beyond those that keys are hashed to. A number below 0
	// must not be mistaken for one of them.
	a.want("CREATE TABLE events (id text PRIMARY KEY, v int) WITH (shard_by = 'range', shard_splits = 'g,p')",
		"CREATE TABLE")
	for _, c := range []struct{ statement, want string }{
		{"sherd.move_bucket('postgres', -1, 'postgres$0')", "there is no bucket -1 (SQLSTATE 22023)"},
		{
			"sherd.move_buckets('postgres', -1, 5, 'postgres$0')",
			"there are no buckets from -1 to before 5 (SQLSTATE 22023)",
		},
		{"sherd.pin('postgres', 0, -5, 'postgres$0')", "there are no buckets from 0 to before -5 (SQLSTATE 22023)"},
		{
			"sherd.unpin('postgres', -2147483648, 5)",
			"there are no buckets from -2147483648 to before 5 (SQLSTATE 22023)",
		},
		{"sherd.split_range('postgres', -1)", "there is no bucket -1 (SQLSTATE 22023)"},
		{"sherd.merge_ranges('postgres', -1)", "there is no bucket -1 (SQLSTATE 22023)"},
		{"sherd.pause_move(-1)", "move -1 does not exist (SQLSTATE 42704)"},
		{"sherd.cancel_move(0)", "move 0 does not exist (SQLSTATE 42704)"},

		{"sherd.bucket('counting', 'x')", `"counting" is not a table of this database (SQLSTATE 42809)`},
		{"sherd.bucket('events_pkey', 'x')", `"events_pkey" is not a table of this database (SQLSTATE 42809)`},
		{"sherd.fragment('pg_class', 'x')", `"pg_class" is not a table of this database (SQLSTATE 42809)`},
		{"sherd.bucket(4000000, 'x')", "relation with OID 4000000 does not exist (SQLSTATE 42P01)"},
		{"sherd.set_policy('counting', '')", `"counting" is not a table of this database (SQLSTATE 42809)`},
		{"sherd.split_segment('counting', 'x')", `"counting" is not a table of this database (SQLSTATE 42809)`},
		{
			"sherd.move_segment('events_pkey', 'x', 'postgres$0')",
			`"events_pkey" is not a table of this database (SQLSTATE 42809)`,
		},
		{"sherd.replace_placement('sherd.nodes')", `"nodes" is not a table of this database (SQLSTATE 42809)`},
		{"sherd.drop_forwarding('counting')", `"counting" is not a table of this database (SQLSTATE 42809)`},
		{
			"sherd.pin_anchors('counting', '{a}', 'postgres$0')",
			`"counting" is not a table of this database (SQLSTATE 42809)`,
		},
		{"sherd.hot_split('counting', 'a', 2)", `"counting" is not a table of this database (SQLSTATE 42809)`},
		{"sherd.check_index('events')", `"events" is not an index of this database (SQLSTATE 42809)`},
		{"sherd.check_index(0::regclass)", "relation with OID 0 does not exist (SQLSTATE 42P01)"},

		{
			`sherd.hot_split('"It''s"', 'it''s', 2, ARRAY['', 'a'])`,
			"invalid list of counters ', a' (SQLSTATE 22023): Unexpected \",\" at character 1.",
		},
		{`sherd.hot_split('"It''s"', 'it''s', 2, ARRAY['a', 'a'])`, "counter a is named twice (SQLSTATE 22023)"},
		{`sherd.hot_split('"It''s"', 'it''s', 2, ARRAY[NULL]::text[])`, "counters must not be null (SQLSTATE 22004)"},
		{
			"sherd.hot_split('nothing/like/it', 2)",
			`no table is named like the collection of "nothing/like/it" (SQLSTATE 42P01)`,
		},
		{"sherd.hot_split(NULL, 2)", "null\nSELECT 1"},
		{"sherd.pause_move(NULL, 'it is late')", "null\nSELECT 1"},

		// A driver sends null for an argument that its caller has left out.
		{"sherd.pause_move(-1, NULL)", "move -1 does not exist (SQLSTATE 42704)"},
		{
			"sherd.move_bucket('postgres', -1, 'postgres$0', wait => NULL, why => NULL)",
			"there is no bucket -1 (SQLSTATE 22023)",
		},
	} {
		a.want("SELECT * FROM "+c.statement, c.want)
	}
	a.want("SELECT count(*) FROM sherd.moves", "0\nSELECT 1")

	// The statement in a hint runs, whatever the names in it.
	err := pgerr.From(a.s.Simple(t.Context(), `SELECT sherd.hot_split('"It''s"', 'it''s', 2)`, &recorder{env: a.s.Env}))
	const hint = `ALTER TABLE "It's" SET (counters = 'Likes, Views') declares them for all of its documents, ` +
		`or name them: SELECT sherd.hot_split('"It''s"', 'it''s', 16, ARRAY['Likes']).`
	if err == nil || err.Hint != hint {
		t.Errorf("got %+v, want the hint %s", err, hint)
	}
	a.want(`SELECT sherd.hot_split('"It''s"', 'it''s', 16, ARRAY['Likes'])`, "16\nSELECT 1")
}

// TestKeysAreForTheirReaders: views of rows that are locked, hot or split show their keys to roles
// that may read the table, and statements to superusers, as pg_stat_activity does.
func TestKeysAreForTheirReaders(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE TABLE secrets (id text PRIMARY KEY, doc jsonb NOT NULL)", "CREATE TABLE")
	a.want(`INSERT INTO secrets SELECT 'secrets/' || i, '{"N": 1}' FROM generate_series(1, 3) i`, "INSERT 0 3")
	a.want("SELECT sherd.hot_split('secrets/3', 2, ARRAY['N'])", "2\nSELECT 1")
	for range 300 {
		a.want("SELECT doc FROM secrets WHERE id = 'secrets/1'", "{\"N\": 1}\nSELECT 1")
	}
	a.want("CREATE ROLE bob LOGIN", "CREATE ROLE")
	a.want("CREATE TABLE mine (id text PRIMARY KEY)", "CREATE TABLE")
	a.want("ALTER TABLE mine OWNER TO bob", "ALTER TABLE")
	a.want("INSERT INTO mine VALUES ('m')", "INSERT 0 1")
	a.want("BEGIN", "BEGIN")
	a.want("SELECT id FROM secrets WHERE id = 'secrets/2' FOR UPDATE", "secrets/2\nSELECT 1")
	a.want("SELECT id FROM mine FOR UPDATE", "m\nSELECT 1")

	const locks = "SELECT relation, key FROM sherd.locks WHERE locktype = 'row' " +
		"AND relation IN ('secrets'::regclass, 'mine'::regclass) ORDER BY 1::text"
	const hot = "SELECT DISTINCT collection, key FROM sherd.hot_keys WHERE collection = 'secrets'::regclass " +
		"AND (key = 'secrets/1' OR key IS NULL)"
	b := w.connectAs(t, "bob", session.Handle{})
	a.want(locks, "mine|m\nsecrets|secrets/2\nSELECT 2")
	b.want(locks, "mine|m\nsecrets|null\nSELECT 2")
	a.want(hot, "secrets|secrets/1\nSELECT 1")
	b.want(hot, "secrets|null\nSELECT 1")
	a.want("SELECT id FROM sherd.hot_documents", "secrets/3\nSELECT 1")
	b.want("SELECT id FROM sherd.hot_documents", "SELECT 0")
	a.want("COMMIT", "COMMIT")
}

// TestPlansAreForAdministrators: a role that may move buckets may do so by a plan. Otherwise the
// error names the function that is refused.
func TestPlansAreForAdministrators(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	w.olderAdmin(t)
	a.want("CREATE ROLE bob LOGIN", "CREATE ROLE")
	admin, b := w.connectAs(t, "sherd_admin", session.Handle{}), w.connectAs(t, "bob", session.Handle{})
	for _, f := range []string{"apply_plan", "pause_plan", "resume_plan", "cancel_plan"} {
		b.want("SELECT sherd."+f+"(1)", "permission denied for function "+f+" (SQLSTATE 42501)")
		admin.want("SELECT sherd."+f+"(0)", "plan 0 does not exist (SQLSTATE 42704)")
	}
	b.want("SELECT sherd.move_bucket('postgres', 3, 'postgres$1')",
		"permission denied for function move_bucket (SQLSTATE 42501)")
	b.want("SELECT sherd.check_index('pg_class_oid_index')",
		"permission denied for function check_index (SQLSTATE 42501)")
	b.want("SELECT sherd.move_segment('pg_class', 'x', 'y')",
		"permission denied for function move_segment (SQLSTATE 42501)")
	a.want("BEGIN READ ONLY", "BEGIN")
	a.want("SELECT sherd.set_node('n1', 2)",
		"cannot execute sherd.set_node() in a read-only transaction (SQLSTATE 25006)")
	a.want("ROLLBACK", "ROLLBACK")
}
