package proof_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/testsql"
	"github.com/sherddb/sherd/sql/proof"
	"github.com/sherddb/sherd/sql/system"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// prove returns what the proof of a node's database says, a line for each result.
func prove(t *testing.T, n *testsql.Node) string {
	t.Helper()
	env := &tx.Environment{
		Services: n.Services, Database: catalog.PostgresDB, Locks: n.Locks.NewSession(0), Values: n.Worker.Values,
		Setting: func(string) (string, bool) { return "", true },
	}
	n.Worker.Executor().Compiler.View = n.Catalog.View()
	var out []string
	err := proof.Run(t.Context(), env, n.Worker.Executor(), func(check, subject string, ok bool, detail string) error {
		out = append(out, fmt.Sprintf("%s %s %v: %s", check, subject, ok, detail))
		return nil
	})
	testsql.WantCode(t, err, "")
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// unchecked runs a statement from which nothing follows.
func unchecked(t *testing.T, n *testsql.Node, text string) {
	t.Helper()
	err := n.Workers.NewWorker(catalog.PostgresDB, true).Do(t.Context(), func(x *system.Transaction) error {
		return x.Run(t.Context(), text)
	})
	testsql.WantCode(t, err, "")
}

// TestForeignKeys checks what is said of keys that have their rows, of keys that do not, and of keys
// that are not looked at.
func TestForeignKeys(t *testing.T) {
	n := testsql.Open(t, 2)
	n.Define("CREATE TABLE parent (k text PRIMARY KEY); CREATE TABLE child (k text PRIMARY KEY, p text REFERENCES parent)")
	n.Must("INSERT INTO parent VALUES ('a'), ('b')", "INSERT INTO child VALUES ('1', 'a'), ('2', 'b'), ('3', NULL)")
	const subject = "foreign key public.child child_p_fkey "
	want(t, prove(t, n), subject+"true: 2 keys")
	owner := n.Locks.NewSession(1).Begin(txn.NewID())
	table := locks.Table(catalog.PostgresDB, n.Table("parent").OID)
	testsql.WantCode(t, owner.Acquire(t.Context(), table, locks.Request{Mode: locks.AccessExclusive}), "")
	want(t, prove(t, n), subject+"true: not looked at: the definition of its tables is being changed")
	owner.Release()
	unchecked(t, n, "DELETE FROM parent WHERE k = 'b'")
	want(t, prove(t, n), subject+`false: Key (p)=(b) is not present in table "parent".`)
	unchecked(t, n, "INSERT INTO child SELECT 'n' || i, 'none' || i FROM generate_series(1, 20) i")
	if got := strings.Split(prove(t, n), "\n"); len(got) != 11 || !slices.Contains(got, subject+"false: and more") {
		t.Errorf("of 21 orphans it says:\n%s", strings.Join(got, "\n"))
	}
}
