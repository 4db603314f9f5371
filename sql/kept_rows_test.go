package sql_test

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql"
)

// TestKeptRowsMemory: the error about rows that are kept for a portal, and exceed the memory limit,
// says why they are kept.
func TestKeptRowsMemory(t *testing.T) {
	const (
		holdable  = "COMMIT keeps the rows that a cursor WITH HOLD has not returned yet, and they exceed the memory limit."
		returning = "The rows of RETURNING are kept to be returned in parts, and they exceed the memory limit."
	)
	w := newWorldOf(t, 1)
	w.cfg.QueryMemory = 1 << 16
	w.server = sql.NewServer(w.cfg)
	ctx, c := t.Context(), w.connect(t)
	c.want("CREATE TABLE k (id int PRIMARY KEY)", "CREATE TABLE")
	check := func(what string, err error, detail string) {
		t.Helper()
		if e := pgerr.From(err); e == nil || e.Code != pgerr.OutOfMemory || e.Detail != detail {
			t.Errorf("%s: %+v", what, e)
		}
	}
	const declare = "DECLARE h CURSOR WITH HOLD FOR SELECT generate_series(1, 100000)"
	r := &recorder{env: c.s.Env}
	check("COMMIT of a cursor", c.s.Simple(ctx, declare, r), holdable)
	c.want("BEGIN; "+declare+"; FETCH h", "BEGIN\nDECLARE CURSOR\n1\nFETCH 1")
	check("COMMIT of a cursor that was fetched", c.s.Simple(ctx, "COMMIT", r), holdable)

	must(t, c.s.Parse(ctx, "", "INSERT INTO k SELECT generate_series(1, 3000) RETURNING id", nil))
	must(t, c.s.Bind(ctx, "p", "", nil))
	_, err := c.s.Execute(ctx, "p", 1, r)
	check("a portal with RETURNING", err, returning)
	must(t, c.s.Sync(ctx))
	c.want("SELECT count(*) FROM k", "0\nSELECT 1")
}
