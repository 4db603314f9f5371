package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/session"
)

// TestResolveTransaction: which roles may resolve a transaction, and how. Package cluster tests the
// consequences.
func TestResolveTransaction(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE ROLE resolve_bob LOGIN", "CREATE ROLE")
	const id = "00112233445566778899aabbccddeeff"
	resolve := func(id, word string) string {
		return fmt.Sprintf("SELECT sherd.resolve_transaction('%s', '%s')", id, word)
	}
	bob := w.connectAs(t, "resolve_bob", session.Handle{})
	bob.want(resolve(id, "abort"), "permission denied for function resolve_transaction (SQLSTATE 42501)")
	for _, c := range []struct{ id, word, want string }{
		{"nonsense", "abort", "(SQLSTATE 22023)"},
		{id, "rollback", `a transaction is resolved by "commit" or "abort", not "rollback" (SQLSTATE 22023)`},
		{id, "commit", "transaction " + id + " is not prepared in any fragment within reach (SQLSTATE 42704)"},
		{id, "ABORT", "transaction " + id + " is not prepared in any fragment within reach (SQLSTATE 42704)"},
	} {
		if got := a.answer(resolve(c.id, c.word)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", resolve(c.id, c.word), got)
		}
	}
	a.want("SELECT sherd.resolve_transaction(NULL, 'abort') IS NULL", "t\nSELECT 1")
	a.want("BEGIN; CREATE TABLE resolved (id int PRIMARY KEY); INSERT INTO resolved VALUES (1)",
		"BEGIN\nCREATE TABLE\nINSERT 0 1")
	own := strings.TrimSuffix(a.answer("SELECT sherd.txn_id()"), "\nSELECT 1")
	w.connect(t).want(resolve(own, "abort"), "transaction "+own+" is at work in a session (SQLSTATE 55006)")
	a.want("COMMIT", "COMMIT")
	a.want("SELECT sherd.txn_outcome('"+own+"')", "committed\nSELECT 1")
	a.want("BEGIN; ALTER TABLE resolved ADD COLUMN n int; SELECT sherd.txn_outcome(sherd.txn_id())",
		"BEGIN\nALTER TABLE\nin progress\nSELECT 1")
	own = strings.TrimSuffix(a.answer("SELECT sherd.txn_id()"), "\nSELECT 1")
	a.want("COMMIT", "COMMIT")
	a.want("SELECT sherd.txn_outcome('"+own+"')", "committed\nSELECT 1")
}
