package portal

import (
	"errors"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// TestStatementNames: a name is given once, until it is deallocated; the unnamed statement is
// replaced.
func TestStatementNames(t *testing.T) {
	c, ctx := newClient(), t.Context()
	s := &c.Statements
	code := func(what string, err error, code string) {
		t.Helper()
		check(t, what, pgerr.Is(err, code))
	}
	for _, name := range []string{"a", "", "", "b"} {
		must(t, s.Parse(ctx, name, "SELECT 1", nil))
	}
	code("a second a", s.Parse(ctx, "a", "SELECT 2", nil), pgerr.DuplicatePreparedStatement)
	code("two commands", s.Parse(ctx, "", "SELECT 1; SELECT 2", nil), pgerr.SyntaxError)
	list := s.List()
	check(t, "listed without the unnamed one", len(list) == 2 && list[0].Name == "a" && list[1].Name == "b")

	deallocate := func(n *pg_query.DeallocateStmt) (string, error) { return s.Deallocate(n) }
	tag, err := deallocate(&pg_query.DeallocateStmt{Name: "a"})
	check(t, "DEALLOCATE", tag == "DEALLOCATE" && err == nil)
	_, err = deallocate(&pg_query.DeallocateStmt{Name: "a"})
	code("DEALLOCATE again", err, pgerr.InvalidSQLStatementName)
	tag, err = deallocate(&pg_query.DeallocateStmt{Isall: true})
	check(t, "DEALLOCATE ALL", tag == "DEALLOCATE ALL" && err == nil && len(s.List()) == 0)
	_, err = s.Find("")
	code("the unnamed one", err, pgerr.InvalidSQLStatementName)
}

// TestPortalNames: Bind replaces the unnamed portal only; FETCH and CLOSE see only portals with
// names.
func TestPortalNames(t *testing.T) {
	c, ctx := newClient(), t.Context()
	must(t, c.Statements.Parse(ctx, "s", "SELECT $1", []types.OID{types.Int8}))
	args := []types.Datum{types.NewInt(1)}
	for _, name := range []string{"p", "", ""} {
		must(t, c.Bind(name, "s", args))
	}
	declare := func(name string) *pg_query.DeclareCursorStmt {
		return &pg_query.DeclareCursorStmt{Portalname: name}
	}
	for _, x := range []struct {
		what string
		err  error
		code string
	}{
		{"a second p", c.Bind("p", "s", args), pgerr.DuplicateCursor},
		{"no arguments", c.Bind("q", "s", nil), pgerr.ProtocolViolation},
		{"no statement", c.Bind("q", "none", nil), pgerr.InvalidSQLStatementName},
		{"a cursor of the name", c.MayDeclare(declare("p"), true), pgerr.DuplicateCursor},
		{"no block", c.MayDeclare(declare("q"), false), pgerr.NoActiveSQLTransaction},
	} {
		check(t, x.what, pgerr.Is(x.err, x.code))
	}
	_, err := c.Cursor("")
	check(t, "the unnamed portal is no cursor", pgerr.Is(err, pgerr.InvalidCursorName))
	list := c.List()
	check(t, "listed without the unnamed one", len(list) == 1 && list[0].Name == "p")
	c.failed = errors.New("the transaction has failed")
	check(t, "a failed transaction", errors.Is(c.Bind("q", "s", args), c.failed))
	must(t, c.Statements.Parse(ctx, "end", "ROLLBACK", nil))
	must(t, c.Bind("q", "end", nil))
	tag, err := c.CloseCursor(&pg_query.ClosePortalStmt{Portalname: "p"})
	check(t, "CLOSE", tag == "CLOSE CURSOR" && err == nil)
	tag, err = c.CloseCursor(&pg_query.ClosePortalStmt{})
	check(t, "CLOSE ALL", tag == "CLOSE CURSOR ALL" && err == nil && len(c.List()) == 0)
}

// TestNested: a prepared statement may execute another one, but a statement that leads to itself is
// refused.
func TestNested(t *testing.T) {
	c, ctx := newClient(), t.Context()
	s := &c.Statements
	for name, text := range map[string]string{
		"query": "SELECT 1", "once": "EXECUTE query", "self": "EXECUTE self", "a": "EXECUTE b", "b": "EXECUTE a",
		"fetch": "FETCH p", "missing": "EXECUTE none", "empty": "",
	} {
		must(t, s.Parse(ctx, name, text, nil))
	}
	must(t, c.Bind("p", "fetch", nil))
	for name, code := range map[string]string{
		"query": "", "once": "", "missing": "", "empty": "", "self": pgerr.StatementTooComplex,
		"a": pgerr.StatementTooComplex, "fetch": pgerr.StatementTooComplex,
	} {
		st, err := s.Find(name)
		must(t, err)
		columns, err := c.Columns(ctx, st)
		check(t, "describe "+name, pgerr.Code(err) == code)
		check(t, "columns of "+name, (columns != nil) == (name == "query" || name == "once"))
		_, err = s.Executed(&pg_query.ExecuteStmt{Name: name})
		check(t, "execute "+name, err == nil || name != "fetch" && pgerr.Is(err, code))
	}
	for _, name := range []string{"fetch", "empty"} {
		must(t, c.Bind("q", name, nil))
		_, err := c.Fetch(ctx, &pg_query.FetchStmt{Portalname: "q"}, nil)
		check(t, "fetch from "+name, pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState))
		c.Close("q")
	}
}
