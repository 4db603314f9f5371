package integration

import (
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dumpKey is a random word that pg_dump writes against injected commands.
var dumpKey = regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`)

// pgDump runs PostgreSQL's pg_dump on a database. Rows come in the order of the fragments, so lines are sorted.
func pgDump(t *testing.T, url string) (text, sorted string) {
	t.Helper()
	out, err := exec.Command("pg_dump", "-d", url).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text = string(out)
	lines := strings.Split(dumpKey.ReplaceAllString(text, ""), "\n")
	slices.Sort(lines)
	return text, strings.Join(lines, "\n")
}

// TestDump restores what pg_dump wrote into another database, and dumps that: it must be the same, and nothing of Sherd's own may be in it.
func TestDump(t *testing.T) {
	need(t, []string{"postgresql-client"}, "pg_dump", "--version")
	from := sharedURL(t)
	main := Connect(t, from)
	database := func(name string) string {
		Exec(t, main, "CREATE DATABASE "+name)
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		u.Path = "/" + name
		return u.String()
	}
	first, second := database("dump_one"), database("dump_two")
	conn := Connect(t, first)
	for _, statement := range []string{
		"CREATE TABLE orders (id text PRIMARY KEY, doc jsonb)",
		`INSERT INTO orders SELECT 'orders/' || g, jsonb_build_object('n', g, 'text', E'tab\t and \\ "quotes"') FROM generate_series(1, 100) g`,
		`CREATE TABLE "Lines" (a int, b int DEFAULT 7, total numeric(10, 2) CHECK (total > 0), twice int GENERATED ALWAYS AS (a * 2) STORED, note varchar(20), PRIMARY KEY (a, b))`,
		`INSERT INTO "Lines" (a, total, note) VALUES (1, 2.5, NULL), (2, 3, 'é')`,
		`CREATE INDEX "Lines by note" ON "Lines" (lower(note)) WHERE total > 1`,
		`ALTER TABLE "Lines" ADD CONSTRAINT noted UNIQUE (a, b, note)`,
		`COMMENT ON TABLE "Lines" IS 'what was ordered'`,
		"CREATE SCHEMA other",
		"CREATE TABLE other.nokey (t timestamptz, tags text[])",
		"INSERT INTO other.nokey VALUES ('2026-11-21 10:00Z', '{a,NULL}'), (NULL, NULL)",
	} {
		Exec(t, conn, statement)
	}
	text, want := pgDump(t, first)
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "GRANT") || strings.HasPrefix(line, "REVOKE") || strings.Contains(line, "sherd") {
			t.Errorf("in the dump: %s", line)
		}
	}
	restore := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", second)
	restore.Stdin = strings.NewReader(text)
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, got := pgDump(t, second); got != want {
		t.Errorf("the dump of what was restored differs:\n%s", firstDifference(got, want))
	}
}
