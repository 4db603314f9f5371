package sql_test

import (
	"strings"
	"testing"
)

// TestDefiningFunctionAgain runs a statement again because of a conflict, after a function in it
// has changed a table's definition. The lock of the first attempt must not block the second one.
func TestDefiningFunctionAgain(t *testing.T) {
	w, c := hotWorld(t)
	c.want("CREATE TABLE other (id text PRIMARY KEY, v int) WITH (shard_by = 'range'); "+
		"INSERT INTO other VALUES ('o', 0)", "CREATE TABLE\nINSERT 0 1")
	c.want("CREATE TABLE plain (id text PRIMARY KEY, doc jsonb)", "CREATE TABLE")
	a := w.connect(t)
	for _, x := range []struct{ call, want string }{
		{"sherd.hot_split('counters/cold', 4)", "4"},
		{"sherd.hot_join('counters/cold')", ""},
		{"sherd.set_prefix('eu/', '{postgres$1}')", "0"},
		{"sherd.drop_prefix('eu/')", ""},
		{`sherd.set_policy('plain', '{"Fields":["Name"]}')`, ""},
	} {
		a.want("BEGIN; UPDATE other SET v = v + 1", "BEGIN\nUPDATE 1")
		answer := make(chan string)
		go func() {
			answer <- c.answer("SELECT s.x FROM (SELECT " + x.call +
				"::text AS x OFFSET 0) s CROSS JOIN other o FOR UPDATE OF o")
		}()
		for a.one("SELECT count(*) FROM sherd.locks WHERE NOT granted") == "0" {
			select {
			case got := <-answer:
				t.Fatalf("%s did not wait: %s", x.call, got)
			default:
			}
		}
		a.want("COMMIT", "COMMIT")
		if got := <-answer; !strings.HasPrefix(got, x.want+"\n") || !strings.HasSuffix(got, "\nSELECT 1") {
			t.Errorf("%s: %s", x.call, got)
		}
	}
	c.want("SELECT count(*) FROM sherd.hot_documents", "1\nSELECT 1")
	c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
}
