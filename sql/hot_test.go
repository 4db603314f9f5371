package sql_test

import (
	"strings"
	"testing"
)

// hotWorld has a table of counters with one document that is split and one that is not.
func hotWorld(t *testing.T) (*world, *client) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE counters (id text PRIMARY KEY, v bigint, n numeric, i int, note text, "+
		"doc jsonb NOT NULL DEFAULT '{}')"+
		" WITH (counters = 'v, n, i, Likes, Stats.Views')", "CREATE TABLE")
	c.want(`INSERT INTO counters VALUES ('counters/hot', 10, 1.5, 1, 'a', `+
		`'{"Likes":5,"Stats":{"Views":7},"Name":"x"}'), ('counters/cold', 1, 1, 1, 'b', '{"Likes":1}')`, "INSERT 0 2")
	c.want("SELECT sherd.hot_split('counters/hot', 8)", "8\nSELECT 1")
	return w, c
}

// TestHotIncrements: a session that adds to a counter does not wait for another one that does,
// however the statement is written, and the sum has both increments.
func TestHotIncrements(t *testing.T) {
	w, a := hotWorld(t)
	b := w.connect(t)
	b.want("SET lock_timeout = '60s'", "SET")
	for _, c := range []struct{ set, look, before, after string }{
		{"v = v + 1", "v", "10", "12"},
		{"v = 2 + v", "v", "12", "16"},
		{"v = v - 3", "v", "16", "10"},
		{"v = v + 1::smallint, n = n + 0.25", "v || ' ' || n", "10 1.5", "12 2.00"},
		{"n = n - 1", "n", "2.00", "0.00"},
		{"i = i + 1", "i", "1", "3"},
		{"i = i + 1::bigint", "i", "3", "5"},
		{"v = coalesce(v, 0) + 1", "v", "12", "14"},
		{"doc = jsonb_set(doc, '{Likes}', to_jsonb((doc->>'Likes')::int + 1))", "doc->>'Likes'", "5", "7"},
		{"doc = jsonb_set(doc, '{Likes}', ((doc->>'Likes')::int + 1)::text::jsonb)", "doc->>'Likes'", "7", "9"},
		{
			"doc = jsonb_set(doc, '{Likes}', (coalesce(doc->>'Likes', '0')::bigint - 1)::text::jsonb)",
			"doc->>'Likes'", "9", "7",
		},
		{
			"doc = jsonb_set(doc, '{Stats,Views}', to_jsonb((doc#>>'{Stats,Views}')::numeric + 2))",
			"doc#>>'{Stats,Views}'", "7", "11",
		},
		{
			"doc = jsonb_set(doc, '{Stats,Views}', to_jsonb((doc->'Stats'->>'Views')::bigint + 1), true)",
			"doc->'Stats'->>'Views'", "11", "13",
		},
		{"doc['Likes'] = to_jsonb(doc['Likes']::int + 1)", "doc['Likes']", "7", "9"},
		{"doc = doc || jsonb_build_object('Likes', (doc->>'Likes')::int + 1)", "doc->>'Likes'", "9", "11"},
		{"doc = jsonb_set(jsonb_set(doc, '{Likes}', to_jsonb((doc->>'Likes')::int + 1)), '{Stats,Views}', " +
			"to_jsonb((doc#>>'{Stats,Views}')::int + 1)), v = v + 1",
			"doc->>'Likes' || ' ' || (doc->'Stats'->>'Views') || ' ' || v", "11 13 14", "13 15 16"},
	} {
		look := "SELECT " + c.look + " FROM counters WHERE id = 'counters/hot'"
		update := "UPDATE counters SET " + c.set + " WHERE id = 'counters/hot'"
		a.want(look, c.before+"\nSELECT 1")
		a.want("BEGIN", "BEGIN")
		a.want(update, "UPDATE 1")
		b.want(update, "UPDATE 1") // at the same time
		a.want("COMMIT", "COMMIT")
		b.want(look, c.after+"\nSELECT 1")
	}
	a.want("BEGIN", "BEGIN")
	const upsert = "INSERT INTO counters (id, v) VALUES ('counters/hot', 2) ON CONFLICT (id) DO UPDATE " +
		"SET v = counters.v + excluded.v"
	a.want(upsert, "INSERT 0 1")
	b.want(upsert, "INSERT 0 1")
	a.want("COMMIT", "COMMIT")
	a.want("SELECT v FROM counters WHERE id = 'counters/hot'", "20\nSELECT 1")
	a.want("SELECT sherd.hot_join('counters/hot')", "\nSELECT 1")
	a.want("SELECT * FROM counters ORDER BY id", `counters/cold|1|1|1|b|{"Likes": 1}`+"\n"+
		`counters/hot|20|0.00|5|a|{"Name": "x", "Likes": 13, "Stats": {"Views": 15}}`+"\nSELECT 2")
	a.want("SELECT count(*) FROM sherd.check() WHERE NOT ok", "0\nSELECT 1")
}

// TestHotWrites: a write that is not an increment changes the document itself, and sees the sum of
// its parts.
func TestHotWrites(t *testing.T) {
	_, c := hotWorld(t)
	const add = "UPDATE counters SET v = v + 1 WHERE id = 'counters/hot'"
	for _, x := range [][2]string{
		{add, "UPDATE 1"},
		{"UPDATE counters SET v = v + 1 WHERE id = 'counters/hot' RETURNING v", "12\nUPDATE 1"},
		{add, "UPDATE 1"},
		{"UPDATE counters SET v = v * 2 WHERE id = 'counters/hot'", "UPDATE 1"},
		{"SELECT v FROM counters WHERE id = 'counters/hot'", "26\nSELECT 1"},
		{add, "UPDATE 1"},
		{"UPDATE counters SET note = v WHERE v = 27", "UPDATE 1"},
		{add, "UPDATE 1"},
		{"SELECT v, note FROM counters WHERE v > 20", "28|27\nSELECT 1"},
		{"UPDATE counters SET v = counters.v + 1 FROM (VALUES (1)) x", "UPDATE 2"},
		{"SELECT sum(v), max(v), count(*) FROM counters", "31|29|2\nSELECT 1"},
		{"SELECT a.v, b.v FROM counters a JOIN counters b ON a.v = b.v ORDER BY 1", "2|2\n29|29\nSELECT 2"},
		{
			"SELECT (SELECT v FROM counters c WHERE c.id = x.id) FROM (VALUES ('counters/hot'), " +
				"('counters/cold')) x (id)", "29\n2\nSELECT 2",
		},
		{add, "UPDATE 1"},
		{"SELECT v FROM counters WHERE id = 'counters/hot' FOR UPDATE", "30\nSELECT 1"},
		{
			"SELECT counters FROM counters WHERE id = 'counters/hot'",
			"(counters/hot,30,1.5,1,27,\"{\"\"Name\"\": \"\"x\"\", \"\"Likes\"\": 5, \"\"Stats\"\": {\"\"Views\"\": " +
				"7}}\")\nSELECT 1",
		},
		{"UPDATE counters SET v = 9223372036854775806 WHERE id = 'counters/hot'", "UPDATE 1"},
		{add, "UPDATE 1"},
		{"SELECT v FROM counters WHERE id = 'counters/hot'", "9223372036854775807\nSELECT 1"},
		{add, "bigint out of range (SQLSTATE 22003)"},
		{"UPDATE counters SET v = NULL WHERE id = 'counters/hot'", "UPDATE 1"},
		{add, "UPDATE 1"},
		{"SELECT v IS NULL FROM counters WHERE id = 'counters/hot'", "t\nSELECT 1"},
		{"UPDATE counters SET v = 1 WHERE id = 'counters/hot'", "UPDATE 1"},
		{add, "UPDATE 1"},
		{
			"WITH gone AS (DELETE FROM counters WHERE v = 2 RETURNING id, v) SELECT * FROM gone ORDER BY id",
			"counters/cold|2\ncounters/hot|2\nSELECT 2",
		},
		{add, "UPDATE 0"},
		{"INSERT INTO counters VALUES ('counters/hot', 5)", "INSERT 0 1"},
		{add, "UPDATE 1"},
		{"SELECT v FROM counters", "6\nSELECT 1"},
		{"SELECT sherd.hot_split('counters/hot', 4)", "4\nSELECT 1"},
		{add, "UPDATE 1"},
		{"UPDATE counters SET id = 'counters/new' WHERE id = 'counters/hot'", "UPDATE 1"},
		{add, "UPDATE 0"},
		{"SELECT id, v FROM counters", "counters/new|7\nSELECT 1"},
		{"TRUNCATE counters", "TRUNCATE TABLE"},
		{"SELECT count(*) FROM counters", "0\nSELECT 1"},
		{"DROP TABLE counters", "DROP TABLE"},
		{"SELECT count(*) FROM sherd.check() WHERE NOT ok", "0\nSELECT 1"},
	} {
		c.want(x[0], x[1])
	}
}

// TestHotRefused: statements that cannot be right while a document is split are refused.
func TestHotRefused(t *testing.T) {
	_, c := hotWorld(t)
	refused := func(text, want string) {
		t.Helper()
		if got := c.answer(text); !strings.HasSuffix(got, "(SQLSTATE "+want+")") {
			t.Errorf("%s: %s", text, got)
		}
	}
	refused("SELECT sherd.hot_split('counters/hot', 8)", "42710")
	refused("SELECT sherd.hot_split('counters/none', 8)", "42704")
	refused("SELECT sherd.hot_split('elsewhere/none', 8)", "42P01")
	refused("SELECT sherd.hot_split('counters/cold', 1)", "22023")
	refused("SELECT sherd.hot_split('counters/cold', 8, ARRAY['id'])", "0A000")
	refused("SELECT sherd.hot_split('counters/cold', 8, ARRAY['note'])", "0A000")
	refused("SELECT sherd.hot_split('counters/cold', 8, ARRAY['Stats'])", "0A000")
	refused("SELECT sherd.hot_join('counters/cold')", "42704")
	refused("CREATE INDEX ON counters (v)", "0A000")
	refused("ALTER TABLE counters ADD CHECK (v > 0)", "0A000")
	refused("ALTER TABLE counters DROP COLUMN v", "0A000")
	refused("ALTER TABLE counters ALTER COLUMN v TYPE numeric", "0A000")
	refused("ALTER TABLE counters SET (shard_by = 'Likes')", "0A000")
	refused("SELECT * FROM sherd_parts_16384", "42P01")
	refused("ALTER TABLE counters SET (counters = 'note')", "0A000")
	c.want("BEGIN", "BEGIN")
	refused("SELECT sherd.hot_split('counters/cold', 8)", "25001")
	c.want("ROLLBACK", "ROLLBACK")
	c.want("SELECT sherd.hot_join('counters/hot')", "\nSELECT 1")
	c.want("CREATE INDEX likes ON counters ((doc->>'Likes'))", "CREATE INDEX")
	c.want("CREATE INDEX names ON counters ((doc->>'Name'))", "CREATE INDEX")
	refused("SELECT sherd.hot_split('counters/hot', 8)", "0A000")
	c.want("SELECT sherd.hot_split('counters', 'counters/hot', 8, ARRAY['v'])", "8\nSELECT 1")
	c.want("SELECT sherd.hot_split('counters', 'counters/cold', 8, ARRAY['Stats.Views'])", "8\nSELECT 1")
}

// TestHotSnapshots: a snapshot from before a document was split, or made whole, shows the contents
// of that time. Its transaction cannot write a document that has changed since.
func TestHotSnapshots(t *testing.T) {
	w, c := hotWorld(t)
	const add, look = "UPDATE counters SET v = v + 1 WHERE id = 'counters/hot'",
		"SELECT v FROM counters WHERE id = 'counters/hot'"
	whole := w.connect(t) // from before the next split
	c.want("SELECT sherd.hot_join('counters/hot')", "\nSELECT 1")
	whole.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	whole.want("SELECT 1", "1\nSELECT 1")
	c.want("SELECT sherd.hot_split('counters/hot', 4)", "4\nSELECT 1")
	c.want(add, "UPDATE 1")
	split := w.connect(t) // from while it is split
	split.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	split.want("SELECT 1", "1\nSELECT 1")
	c.want(add, "UPDATE 1")
	c.want("SELECT sherd.hot_join('counters/hot')", "\nSELECT 1")
	c.want(add, "UPDATE 1")
	c.want(look, "13\nSELECT 1")
	whole.want(look, "10\nSELECT 1")
	split.want(look, "11\nSELECT 1")
	split.want("SELECT sum(v) FROM counters", "12\nSELECT 1")
	for _, x := range []*client{whole, split} {
		if got := x.answer(add); !strings.Contains(got, "40001") {
			t.Errorf("an old snapshot writes: %s", got)
		}
		x.want("ROLLBACK", "ROLLBACK")
	}
	whole.want("BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN")
	whole.want("SELECT 1", "1\nSELECT 1")
	c.want("SELECT sherd.hot_split('counters/hot', 4)", "4\nSELECT 1")
	if got := whole.answer("UPDATE counters SET v = 1 WHERE id = 'counters/hot'"); !strings.Contains(got, "40001") {
		t.Errorf("a snapshot of before the split writes: %s", got)
	}
	whole.want("ROLLBACK", "ROLLBACK")
	c.want(look, "13\nSELECT 1")
}

// TestHotCursors: cursors show what was there when they were opened, and locking cursors show the
// whole document.
func TestHotCursors(t *testing.T) {
	w, c := hotWorld(t)
	const add = "UPDATE counters SET v = v + 1 WHERE id = 'counters/hot'"
	c.want(add, "UPDATE 1")
	c.want("BEGIN", "BEGIN")
	c.want("DECLARE plain CURSOR FOR SELECT v FROM counters ORDER BY id", "DECLARE CURSOR")
	c.want(add, "UPDATE 1")
	c.want("FETCH ALL FROM plain", "1\n11\nFETCH 2")
	c.want("DECLARE locking CURSOR FOR SELECT v FROM counters WHERE id = 'counters/hot' FOR UPDATE", "DECLARE CURSOR")
	c.want("FETCH locking", "12\nFETCH 1")
	other := w.connect(t)
	other.want("SET lock_timeout = '100ms'", "SET")
	if got := other.answer(add); !strings.Contains(got, "55P03") {
		t.Errorf("beside FOR UPDATE: %s", got)
	}
	c.want("UPDATE counters SET v = v + 10 WHERE CURRENT OF locking", "UPDATE 1")
	c.want("COMMIT", "COMMIT")
	// The parts that c has locked in other fragments become free some time after its COMMIT.
	other.want("RESET lock_timeout", "RESET")
	other.want(add, "UPDATE 1")
	c.want("SELECT v FROM counters ORDER BY v", "1\n23\nSELECT 2")
	c.want("PREPARE get(text) AS SELECT v FROM counters WHERE id = $1", "PREPARE")
	c.want("EXECUTE get('counters/hot')", "23\nSELECT 1")
	c.want("EXECUTE get('counters/cold')", "1\nSELECT 1")
	c.want("PREPARE add(text, bigint) AS UPDATE counters SET v = v + $2 WHERE id = $1", "PREPARE")
	c.want("EXECUTE add('counters/hot', 2)", "UPDATE 1")
	c.want("EXECUTE add('counters/cold', 2)", "UPDATE 1")
	c.want("SELECT v FROM counters ORDER BY v", "3\n25\nSELECT 2")
	c.want("SELECT collection, id, parts, counters FROM sherd.hot_documents",
		"counters|counters/hot|8|{v,n,i,Likes,Stats.Views}\nSELECT 1")
}

// TestHotMadeAgain: a deleted document is not split any more, and a new document under its id is
// whole. sherd.hot_documents shows this, also within the transaction.
func TestHotMadeAgain(t *testing.T) {
	w, c := hotWorld(t)
	const list = "SELECT id, parts FROM sherd.hot_documents ORDER BY id"
	c.want("SELECT sherd.hot_split('counters/cold', 4)", "4\nSELECT 1")
	c.want("BEGIN; DELETE FROM counters WHERE id = 'counters/hot'", "BEGIN\nDELETE 1")
	c.want(list, "counters/cold|4\nSELECT 1")
	w.connect(t).want(list, "counters/cold|4\ncounters/hot|8\nSELECT 2")
	c.want("ROLLBACK", "ROLLBACK")
	c.want(list, "counters/cold|4\ncounters/hot|8\nSELECT 2")
	c.want("DELETE FROM counters WHERE id = 'counters/hot'", "DELETE 1")
	c.want(list, "counters/cold|4\nSELECT 1")
	c.want("INSERT INTO counters (id, v) VALUES ('counters/hot', 5)", "INSERT 0 1")
	c.want("UPDATE counters SET v = v + 1 WHERE id = 'counters/hot'", "UPDATE 1")
	c.want(list, "counters/cold|4\nSELECT 1")
	c.want("SELECT sherd.hot_split('counters/hot', 2)", "2\nSELECT 1")
	c.want(list, "counters/cold|4\ncounters/hot|2\nSELECT 2")
	c.want("DELETE FROM counters WHERE id = 'counters/hot'", "DELETE 1")
	c.want("INSERT INTO counters (id, v) VALUES ('counters/hot', 5), ('counters/other', 1)", "INSERT 0 2")
	c.want("SELECT sherd.hot_split('counters/other', 2)", "2\nSELECT 1") // removes the record of the deleted document
	c.want("SELECT sherd.hot_join('counters/other')", "\nSELECT 1")
	c.want("SELECT sherd.hot_join('counters/cold')", "\nSELECT 1")
	c.want("SELECT sherd.hot_join('counters/hot')",
		`document "counters/hot" of table "counters" is not split (SQLSTATE 42704)`)
	c.want("CREATE INDEX ON counters (note)", "CREATE INDEX")
	c.want(list, "SELECT 0")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}

// TestHotSplitResolves: the table may be named by a literal, with and without the number of parts,
// as sherd.hot_keys advises.
func TestHotSplitResolves(t *testing.T) {
	w := newWorld(t)
	c := w.connect(t)
	c.want("CREATE TABLE counters (id text PRIMARY KEY, v bigint) WITH (counters = 'v')", "CREATE TABLE")
	c.want("INSERT INTO counters VALUES ('counters/b', 1)", "INSERT 0 1")
	for _, call := range []string{
		"sherd.hot_split('public.counters', 'counters/b')", "sherd.hot_split('counters'::regclass, 'counters/b')",
		"sherd.hot_split('counters', 'counters/b', 16)",
		"sherd.hot_split('counters'::text, 'counters/b')",
		"sherd.hot_split(collection => 'counters', id => 'counters/b')", "sherd.hot_split('counters/b')",
		"sherd.hot_split('counters/b', 16)", "sherd.hot_split('counters', 'counters/b', 16, ARRAY['v'])",
		"sherd.hot_split('counters/b', 16, ARRAY['v'])",
	} {
		c.want("SELECT "+call, "16\nSELECT 1")
		c.want("SELECT sherd.hot_join('public.counters', 'counters/b')", "\nSELECT 1")
	}
	if got := c.answer("SELECT sherd.hot_split('nowhere', 'counters/b')"); !strings.Contains(got, "42P01") {
		t.Errorf("of a table that is not there: %s", got)
	}
}
