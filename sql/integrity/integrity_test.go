package integrity_test

import (
	"context"
	"testing"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/testsql"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// transaction is one that a test runs statements in, and never commits.
type transaction struct {
	integrity.Transaction
	t *testing.T
	x stmt.Executor
}

func begin(t *testing.T, n *testsql.Node) *transaction {
	env := &tx.Environment{
		Services: n.Services, Database: catalog.PostgresDB, Locks: n.Locks.NewSession(0), Values: n.Worker.Values,
		Setting: func(string) (string, bool) { return "", true },
	}
	x := &transaction{t: t, x: n.Worker.Executor()}
	x.Tx = env.BeginSystem(time.Now())
	t.Cleanup(func() { x.Rollback(); x.Close() })
	return x
}

// run runs a statement with what its constraints need.
func (x *transaction) run(text string) error {
	x.t.Helper()
	list, err := parse.Parse(text)
	if err != nil {
		x.t.Fatal(err)
	}
	if n := list[0].Node.GetConstraintsSetStmt(); n != nil {
		return x.set(n)
	}
	x.x.Compiler.View = x.View()
	p, err := x.x.Compiler.Program(list[0], nil)
	if err != nil {
		x.t.Fatalf("%s: %v", text, err)
	}
	c := x.x.Context(x.t.Context(), x.Tx, nil)
	_, err = x.Perform(&x.x, p, c, func([]types.Datum) error { return nil })
	return err
}

// set is SET CONSTRAINTS.
func (x *transaction) set(n *pg_query.ConstraintsSetStmt) error {
	x.x.Compiler.View = x.View()
	list, err := integrity.FindConstraints(x.x.Compiler, n)
	if err != nil {
		return err
	}
	x.Set(n, list)
	return x.check(false)
}

func (x *transaction) check(force bool) error {
	return x.CheckDeferred(x.t.Context(), func(context.Context) stmt.Executor { return x.x }, force)
}

// steps runs statements, each with the SQLSTATE that it ends with; the commit's comes last.
func (x *transaction) steps(list ...[2]string) {
	x.t.Helper()
	for _, s := range list {
		err := error(nil)
		if s[0] == "COMMIT" {
			err = x.check(true)
		} else {
			err = x.run(s[0])
		}
		if got := pgerr.Code(err); got != s[1] {
			x.t.Errorf("%s: got SQLSTATE %q (%v), want %q", s[0], got, err, s[1])
		}
	}
}

const tables = `CREATE TABLE parent (k text PRIMARY KEY);
	CREATE TABLE child (k text PRIMARY KEY, p text CONSTRAINT later REFERENCES parent DEFERRABLE INITIALLY DEFERRED,
		q text CONSTRAINT now REFERENCES parent, u text CONSTRAINT once UNIQUE DEFERRABLE)`

// TestDeferred checks when deferred constraints are checked, and that those of a statement that is
// undone are not.
func TestDeferred(t *testing.T) {
	n := testsql.Open(t, 2)
	n.Define(tables)
	child := n.Table("child").OID
	const insert = "INSERT INTO child VALUES ('1', 'late')"
	for name, steps := range map[string][][2]string{
		"missing":           {{insert, ""}, {"COMMIT", pgerr.ForeignKeyViolation}},
		"inserted later":    {{insert, ""}, {"INSERT INTO parent VALUES ('late')", ""}, {"COMMIT", ""}},
		"deleted again":     {{insert, ""}, {"DELETE FROM child", ""}, {"COMMIT", ""}},
		"immediate":         {{"SET CONSTRAINTS ALL IMMEDIATE", ""}, {insert, pgerr.ForeignKeyViolation}},
		"immediate by name": {{"SET CONSTRAINTS later IMMEDIATE", ""}, {insert, pgerr.ForeignKeyViolation}},
		"made immediate":    {{insert, ""}, {"SET CONSTRAINTS later IMMEDIATE", pgerr.ForeignKeyViolation}},
		"another immediate": {{insert, ""}, {"SET CONSTRAINTS once IMMEDIATE", ""}, {"COMMIT", pgerr.ForeignKeyViolation}},
		"not deferrable":    {{"INSERT INTO child VALUES ('1', NULL, 'late')", pgerr.ForeignKeyViolation}},
		"referenced row": {
			{"INSERT INTO parent VALUES ('p')", ""}, {"INSERT INTO child VALUES ('1', 'p')", ""},
			{"DELETE FROM parent", ""}, {"COMMIT", pgerr.ForeignKeyViolation},
		},
		"referenced row is back": {
			{"INSERT INTO parent VALUES ('p')", ""}, {"INSERT INTO child VALUES ('1', 'p')", ""},
			{"DELETE FROM parent", ""}, {"INSERT INTO parent VALUES ('p')", ""}, {"COMMIT", ""},
		},
		"unknown name":   {{"SET CONSTRAINTS none DEFERRED", pgerr.UndefinedObject}},
		"cannot defer":   {{"SET CONSTRAINTS now DEFERRED", pgerr.WrongObjectType}},
		"unknown schema": {{"SET CONSTRAINTS none.later DEFERRED", pgerr.InvalidSchemaName}},
		"unique at once": {{"INSERT INTO child (k, u) VALUES ('1', 'a'), ('2', 'a')", pgerr.UniqueViolation}},
		"unique deferred": {
			{"SET CONSTRAINTS once DEFERRED", ""}, {"INSERT INTO child (k, u) VALUES ('1', 'a'), ('2', 'a')", ""},
			{"COMMIT", pgerr.UniqueViolation},
		},
		"unique again": {
			{"SET CONSTRAINTS ALL DEFERRED", ""}, {"INSERT INTO child (k, u) VALUES ('1', 'a'), ('2', 'a')", ""},
			{"UPDATE child SET u = 'b' WHERE k = '2'", ""}, {"COMMIT", ""},
		},
	} {
		t.Run(name, func(t *testing.T) { begin(t, n).steps(steps...) })
	}
	x := begin(t, n)
	mark := x.Mark()
	x.steps([2]string{insert, ""})
	if !x.Awaits(child) {
		t.Error("a deferred check of the table is not reported")
	}
	x.Restore(mark)
	if x.Awaits(child) {
		t.Error("a check that was undone still waits")
	}
	x.steps([2]string{"COMMIT", ""}, [2]string{"DELETE FROM child", ""})
	x.steps([2]string{insert, ""}, [2]string{"COMMIT", pgerr.ForeignKeyViolation})
}

// TestManyKeys checks more keys than a statement takes, one of which has no row.
func TestManyKeys(t *testing.T) {
	n := testsql.Open(t, 2)
	n.Define(tables)
	n.Must("INSERT INTO parent SELECT i::text FROM generate_series(1, 2500) i WHERE i <> 2345")
	for _, column := range []string{"p", "q"} {
		t.Run(column, func(t *testing.T) {
			x := begin(t, n)
			err := x.run("INSERT INTO child (k, " + column + ") SELECT i::text, i::text FROM generate_series(1, 2500) i")
			if column == "p" {
				testsql.WantCode(t, err, "")
				err = x.check(true)
			}
			want := "Key (" + column + `)=(2345) is not present in table "parent".`
			if err == nil || pgerr.From(err).Detail != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// TestActions checks what follows from a deleted or changed row for those that refer to it.
func TestActions(t *testing.T) {
	for action, want := range map[string][2]string{ // after DELETE and after UPDATE; an SQLSTATE, or the rows
		"CASCADE":     {"", "c|new\nd|other"},
		"SET NULL":    {"c|null\nd|other", "c|null\nd|other"},
		"SET DEFAULT": {"c|other\nd|other", "c|other\nd|other"},
		"RESTRICT":    {pgerr.ForeignKeyViolation, pgerr.ForeignKeyViolation},
		"NO ACTION":   {pgerr.ForeignKeyViolation, pgerr.ForeignKeyViolation},
	} {
		if action == "CASCADE" {
			want[0] = "d|other"
		}
		t.Run(action, func(t *testing.T) {
			n := testsql.Open(t, 2)
			n.Define("CREATE TABLE parent (k text PRIMARY KEY); CREATE TABLE child (k text PRIMARY KEY, " +
				"p text DEFAULT 'other' REFERENCES parent ON DELETE " + action + " ON UPDATE " + action + ")")
			for i, text := range []string{"DELETE FROM parent WHERE k = 'p'", "UPDATE parent SET k = 'new' WHERE k = 'p'"} {
				n.Must("DELETE FROM child", "DELETE FROM parent", "INSERT INTO parent VALUES ('p'), ('other')",
					"INSERT INTO child VALUES ('c', 'p'), ('d', 'other')")
				got := pgerr.Code(n.Run(text))
				if got == "" {
					got = n.Rows("SELECT k, p FROM child ORDER BY k")
				}
				if got != want[i] {
					t.Errorf("%s: got %q, want %q", text, got, want[i])
				}
			}
		})
	}
}
