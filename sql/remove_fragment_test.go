package sql_test

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/session"
)

// refusal returns the SQLSTATE, message, detail and hint with which a statement is refused.
func (c *client) refusal(text string) string {
	c.t.Helper()
	err := c.s.Simple(c.t.Context(), text, &recorder{env: c.s.Env})
	if err == nil {
		return "no error"
	}
	e := pgerr.From(err)
	return strings.Join([]string{string(e.Code), e.Message, e.Detail, e.Hint}, "|")
}

// TestRemoveFragment: a fragment is removed in the background. Its buckets move to the others, no
// row is lost, and until then the removal can be cancelled. If a fragment cannot be removed, the
// error says what to do.
func TestRemoveFragment(t *testing.T) {
	w := newWorld(t)
	c, old := w.connect(t), w.connect(t)
	c.want("CREATE ROLE remover LOGIN", "CREATE ROLE")
	c.want("CREATE TABLE acc (id text PRIMARY KEY, n int UNIQUE)", "CREATE TABLE")
	c.want("INSERT INTO acc SELECT 'acc/' || i, i FROM generate_series(1, 600) i", "INSERT 0 600")
	refused := func(c *client, call, want string) {
		t.Helper()
		if got := c.refusal("SELECT sherd." + call); got != want {
			t.Errorf("%s\ngot:  %s\nwant: %s", call, got, want)
		}
	}
	rows := func() {
		t.Helper()
		c.want("SELECT count(*), sum(n), count(DISTINCT id) FROM acc", "600|180300|600\nSELECT 1")
		c.want("SELECT * FROM sherd.check() WHERE NOT ok", "SELECT 0")
	}
	refused(w.connectAs(t, "remover", session.Handle{}), "remove_fragment('postgres$1')",
		"42501|permission denied for function remove_fragment||Only superusers and the role sherd_admin may change "+
			"where buckets lie.")
	refused(c, "remove_fragment('postgres')",
		`42704|fragment "postgres" does not exist||Fragments are named like orders$1: the database and a number. `+
			`sherd.fragments lists them.`)
	refused(c, "remove_fragment('nowhere$0')", `3D000|database "nowhere" does not exist||`)
	if got := c.refusal(
		"SELECT sherd.remove_fragment('postgres$9')",
	); !strings.HasPrefix(got, `42704|fragment "postgres$9" of database "postgres" does not exist|`) {
		t.Error(got)
	}
	c.want("BEGIN READ ONLY", "BEGIN")
	refused(c, "remove_fragment('postgres$1')",
		"25006|cannot execute sherd.remove_fragment() in a read-only transaction||")
	c.want("ROLLBACK", "ROLLBACK")

	c.want("SELECT sherd.pin('postgres', 400000, 400009, 'postgres$1')", "\nSELECT 1")
	refused(c, "remove_fragment('postgres$1')",
		`55006|fragment "postgres$1" cannot be removed: buckets [400000,400009) are pinned to it||SELECT `+
			`sherd.unpin('postgres', 400000, 400009) ends the pin.`)
	c.want("SELECT sherd.unpin('postgres', 400000, 400009)", "\nSELECT 1")

	// A snapshot that is in use keeps the fragment until it is released, so the test can see the
	// removal and cancel it.
	old.want("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM acc", "BEGIN\n600\nSELECT 1")
	c.want("SELECT sherd.remove_fragment('postgres$1', why => 'fewer') > 0", "t\nSELECT 1")
	refused(c, "remove_fragment('postgres$1')",
		`55006|fragment "postgres$1" is being removed||sherd.jobs tells how far it is.`)
	refused(c, "move_buckets('postgres', 0, 9, 'postgres$1')",
		`55000|fragment "postgres$1" takes no buckets: it is being removed||`)
	c.want("SELECT kind, object FROM sherd.jobs WHERE kind = 'remove_fragment'",
		"remove_fragment|fragment postgres$1\nSELECT 1")
	c.want("SELECT sherd.cancel_move(id) FROM sherd.jobs WHERE kind = 'remove_fragment'", "\nSELECT 1")
	c.want("SELECT count(*) FROM sherd.fragments WHERE fragment = 'postgres$1'", "1\nSELECT 1")
	old.want("SELECT count(*), sum(n) FROM acc; COMMIT", "600|180300\nSELECT 1\nCOMMIT")
	rows()

	for _, f := range []string{"postgres$1", "postgres$2"} {
		if got := c.answer(
			"SELECT sherd.remove_fragment('" + f + "', wait => true) > 0",
		); !strings.HasSuffix(got, "t\nSELECT 1") {
			t.Fatalf("removing %s: %s", f, got)
		}
		rows()
	}
	c.want("SELECT fragment, buckets FROM sherd.fragments", "postgres$0|1048576\nSELECT 1")
	c.want("SELECT count(*) FROM sherd.jobs", "0\nSELECT 1")
	c.want("SELECT subject, change, why FROM sherd.changelog WHERE kind = 'fragment' ORDER BY at",
		"postgres$1|removal begun|fewer\npostgres$1|removal cancelled|null\npostgres$1|removal "+
			"begun|null\npostgres$1|removed|null\npostgres$2|removal begun|null\npostgres$2|removed|null\nSELECT 6")
	refused(c, "remove_fragment('postgres$0')",
		`55000|fragment "postgres$0" cannot be removed: no other fragment of database "postgres" can take its `+
			`buckets||Add one first, with SELECT sherd.add_fragment('postgres').`)
	c.want("SELECT sherd.add_fragment('postgres')", "postgres$1\nSELECT 1")
	c.answer("SELECT sherd.remove_fragment('postgres$0', wait => true)")
	c.want("SELECT fragment, buckets FROM sherd.fragments", "postgres$1|1048576\nSELECT 1")
	rows()
}
