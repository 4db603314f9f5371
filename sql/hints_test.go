package sql_test

import (
	"regexp"
	"strings"
	"testing"
)

// hinted finds the statement in a hint, up to the word or full stop behind it.
var hinted = regexp.MustCompile(`((?:SELECT|ALTER TABLE) .*?[^ ])(?: ends the pin| lists them all| makes it whole| ` +
	`first| by itself)?\.(?: |$)`)

// TestHintsRun: the statement in a hint runs as it is, whatever the names in it. Afterwards the
// refused statement works, unless the hint says to write it differently.
func TestHintsRun(t *testing.T) {
	c := newWorld(t).connect(t)
	for _, x := range []struct{ before, refused, then string }{
		{
			`CREATE TABLE "It's" (id text PRIMARY KEY, doc jsonb, "By" text) WITH (shard_by = 'Customer', ` +
				`shard_mutable = true)`, `ALTER TABLE "It's" VALIDATE CONSTRAINT sharding`, "ALTER TABLE",
		},
		{
			`CREATE SCHEMA "S's"; CREATE TABLE "S's"."T's" (id text PRIMARY KEY, doc jsonb, "By" text) ` +
				`WITH (shard_by = '"By"')`, `ALTER TABLE "S's"."T's" DROP COLUMN "By"`, "ALTER TABLE",
		},
		{`ALTER TABLE "S's"."T's" SET (shard_by = 'x')`, `ALTER TABLE "S's"."T's" ADD COLUMN x int`, "ALTER TABLE"},
		{`ALTER TABLE "S's"."T's" SET (anchor_by = 'k')`, `ALTER TABLE "S's"."T's" DROP COLUMN doc`, "ALTER TABLE"},
		{`ALTER TABLE "It's" SET (shard_by = 'a', shard_mutable = false); INSERT INTO "It's" VALUES ('i$', '{"a": 1, ` +
			`"b": 2}'); ALTER TABLE "It's" SET (shard_by = 'b')`,
			`ALTER TABLE "It's" VALIDATE CONSTRAINT sharding`, ""},
		{
			"SELECT sherd.pin('postgres', 0, 9, 'postgres$0')",
			"SELECT sherd.move_buckets('postgres', 0, 9, 'postgres$1') > 0", "t\nSELECT 1",
		},
		{`CREATE TABLE "Hot" (id text PRIMARY KEY, v int) WITH (counters = 'v'); INSERT INTO "Hot" VALUES ('it''s', ` +
			`1);; SELECT sherd.hot_split('"Hot"', 'it''s', 2)`,
			`SELECT sherd.hot_split('"Hot"', 'it''s', 4)`, "4\nSELECT 1"},
	} {
		for _, text := range strings.Split(x.before, ";; ") {
			if got := c.answer(text); strings.Contains(got, "SQLSTATE") {
				t.Fatalf("%s\n%s", text, got)
			}
		}
		_, hint, _ := cutLast(c.refusal(x.refused), "|")
		found := hinted.FindStringSubmatch(hint)
		if found == nil {
			t.Errorf("%s: the hint names no statement: %s", x.refused, hint)
			continue
		}
		if got := c.answer(found[1]); strings.Contains(got, "SQLSTATE") {
			t.Errorf("%s\nhint: %s\nran: %s\n%s", x.refused, hint, found[1], got)
		}
		if x.then != "" {
			c.want(x.refused, x.then)
		}
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	at := strings.LastIndex(s, sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(sep):], true
}
