package portal

import (
	"context"
	"errors"
	"slices"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// rows runs a program that returns the rows 1 to n, and then err.
func rows(n int64, err error) func(emit exec.Emit) (int64, error) {
	return func(emit exec.Emit) (int64, error) {
		row := make([]types.Datum, 1)
		for i := range n {
			row[0] = types.NewInt(i + 1)
			if err := emit(row); err != nil {
				return i, err
			}
		}
		return n, err
	}
}

// client is a session of tests: its programs return the rows 1 to 5, or more.
type client struct {
	*Portals
	tx     *tx.Tx
	limits memory.Limits
	rows   int64 // that its programs return
	failed error
	got    []int64
}

func newClient() *client {
	c := &client{rows: 5, limits: memory.Limits{Query: 1 << 20, Work: 1 << 20, Files: -1}}
	c.Portals = New(Environment{
		Parse: parse.Parse, Tx: func() *tx.Tx { return c.tx }, Memory: func() *memory.Account { return memory.Limited(c.limits) },
		Allowed: func() error { return c.failed }, Version: func() uint64 { return 1 },
		Program: func(_ context.Context, st parse.Statement, params []types.OID) (*stmt.Program, error) {
			p := &stmt.Program{Statement: st, Query: &query.Query{}, Params: params, Version: 1,
				Columns: []stmt.Column{{Name: "n", Type: types.Int8}}}
			p.Writes = st.Node.GetInsertStmt() != nil
			return p, nil
		},
		Begin:    func() {},
		Columns:  func(*pg_query.Node) []stmt.Column { return nil },
		Compiler: func() *stmt.Compiler { return &stmt.Compiler{} },
		Fold:     func(context.Context, *stmt.Program, []types.Datum) error { return nil },
		Part:     func(*stmt.Program) (*exec.Part, error) { return nil, nil },
		Run: func(
			_ context.Context, _ *Opening, _ *stmt.Program, _ []types.Datum, emit exec.Emit,
		) (int64, error) {
			return rows(c.rows, nil)(emit)
		},
	})
	return c
}

func (c *client) note(row []types.Datum) error {
	c.got = append(c.got, row[0].N)
	return nil
}

// add opens a portal that returns the rows 1 to n, at the client's level of nesting.
func (c *client) add(name string, n int64) *Portal {
	p := &Portal{Statement: &Statement{Text: name}, nest: c.env.nest()}
	p.start(rows(n, nil))
	c.byName[name] = p
	return p
}

func (c *client) names() (out []string) {
	for name := range c.byName {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func check(t *testing.T, what string, ok bool) {
	t.Helper()
	if !ok {
		t.Error(what)
	}
}

// TestParts: a portal returns its rows in parts, is done after the last, and closes its program
// early.
func TestParts(t *testing.T) {
	c := newClient()
	p := c.add("p", 5)
	p.program = &stmt.Program{Query: &query.Query{}}
	for range 2 {
		suspended, _, err := p.Run(2, c.note)
		check(t, "suspended after 2 rows", suspended && err == nil && p.IsOpen())
	}
	suspended, n, err := p.Run(2, c.note)
	check(t, "done after 5 rows", !suspended && err == nil && p.Done && !p.IsOpen() && p.Tag(n) == "SELECT 5")
	check(t, "rows", slices.Equal(c.got, []int64{1, 2, 3, 4, 5}))

	failure := errors.New("failure")
	p = &Portal{}
	p.start(rows(1, failure))
	_, _, err = p.Run(0, c.note)
	check(t, "the error of the program", errors.Is(err, failure))
	p = c.add("p", 5)
	_, _, err = p.Run(0, func([]types.Datum) error { return failure })
	check(t, "the error of the client", errors.Is(err, failure) && !p.Done)

	var ended error
	p.start(func(emit exec.Emit) (int64, error) {
		_, ended = rows(9, nil)(emit)
		return 0, ended
	})
	_, _, err = p.Run(1, c.note)
	p.close()
	check(t, "the program ends with its portal", err == nil && errors.Is(ended, errClosed) && p.err == nil)
}

// full are limits within which a portal keeps few rows: nothing fits into memory, and little into a
// file.
var full = memory.Limits{Query: 1 << 20, Work: 1, Files: 8 << 10}

// TestKeptRows: rows of a statement that writes are kept within temp_file_limit.
func TestKeptRows(t *testing.T) {
	c := newClient()
	ctx := t.Context()
	open := func() (*Portal, error) {
		must(t, c.Statements.Parse(ctx, "", "INSERT INTO t VALUES (1) RETURNING n", nil))
		must(t, c.Bind("", "", nil))
		p, err := c.Find("")
		must(t, err)
		prog, err := c.Statements.Program(ctx, p.Statement)
		must(t, err)
		return p, c.Open(ctx, p, prog)
	}
	p, err := open()
	must(t, err)
	suspended, _, err := p.Run(3, c.note)
	check(t, "a part of RETURNING", suspended && err == nil && slices.Equal(c.got, []int64{1, 2, 3}))
	_, n, err := p.Run(0, c.note)
	check(t, "all of RETURNING", n == 5 && err == nil && len(c.got) == 5)
	c.limits, c.rows = full, 5000
	_, err = open()
	check(t, "too much for RETURNING", pgerr.Is(err, pgerr.ConfigurationLimitExceeded))
}

// TestEndOfTransaction: portals end with their transaction, except cursors WITH HOLD, which keep
// the rows that they have not returned.
func TestEndOfTransaction(t *testing.T) {
	c := newClient()
	c.tx = &tx.Tx{}
	c.add("a", 5)
	h := c.add("h", 5)
	h.hold = true
	check(t, "not held yet", c.HasHoldable())
	_, _, err := h.Run(2, c.note)
	must(t, err)
	must(t, c.Hold())
	check(t, "held", !c.HasHoldable())
	c.tx = nil
	c.EndTransaction()
	check(t, "the names left", slices.Equal(c.names(), []string{"h"}))
	must(t, c.Hold())
	_, n, err := h.Run(0, c.note)
	check(t, "the rows after COMMIT", n == 5 && err == nil && slices.Equal(c.got, []int64{1, 2, 3, 4, 5}))
	_, ok := c.Reads(nil)
	check(t, "no table is in use", !ok)

	c.add("big", 5000).hold = true
	c.limits = full
	err = c.Hold()
	check(t, "too much for COMMIT", pgerr.Is(err, pgerr.ConfigurationLimitExceeded))
	c.CloseAll()
	check(t, "none left", len(c.names()) == 0)
}

// TestHoldError: COMMIT fails with the error of a cursor's rest.
func TestHoldError(t *testing.T) {
	c, failure := newClient(), errors.New("failure")
	p := &Portal{hold: true}
	p.start(rows(3, failure))
	c.byName["p"] = p
	check(t, "the error of the rest", errors.Is(c.Hold(), failure) && !p.held)
}

// TestSavepoints: ROLLBACK TO closes the portals that were opened after the savepoint, and keeps
// the rows of older ones that see what is undone.
func TestSavepoints(t *testing.T) {
	c := newClient()
	fragment := txn.FragmentID(1)
	at := func(name string, nest int, writes int) *Portal {
		p := c.add(name, 5)
		p.nest, p.opening.Before = nest, txn.Marks{fragment: {Writes: writes}}
		return p
	}
	mark := txn.Marks{fragment: {Writes: 3}}
	older, sees, big := at("older", 1, 3), at("sees", 1, 4), at("big", 1, 4)
	at("inner", 2, 4)
	at("deeper", 3, 4)
	big.close()
	big.start(rows(5000, nil))
	c.limits = full
	c.RollbackTo(2, mark)
	check(t, "the names left", slices.Equal(c.names(), []string{"older", "sees"}))
	check(t, "kept", !older.kept && sees.kept)
	_, n, err := sees.Run(0, c.note)
	check(t, "the kept rows", n == 5 && err == nil && len(c.got) == 5)

	at("inner", 2, 0)
	at("deeper", 3, 0)
	c.Release(2)
	c.RollbackTo(2, mark)
	check(t, "RELEASE keeps portals", slices.Equal(c.names(), []string{"deeper", "inner", "older", "sees"}))
	c.RollbackTo(1, mark)
	check(t, "they end with the level around", len(c.names()) == 0)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
