package sql_test

import (
	"testing"

	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// TestKeptRows has portals keep more rows than the memory of a query holds. They are in files, within
// temp_file_limit.
func TestKeptRows(t *testing.T) {
	w := newWorldOf(t, 1)
	w.cfg.QueryMemory = 1 << 16
	w.server = sql.NewServer(w.cfg)
	ctx, c := t.Context(), w.connect(t)
	c.want("CREATE TABLE k (id int PRIMARY KEY)", "CREATE TABLE")
	const declare = "DECLARE h CURSOR WITH HOLD FOR SELECT generate_series(1, 100000)"
	c.want("BEGIN; "+declare+"; FETCH h", "BEGIN\nDECLARE CURSOR\n1\nFETCH 1")
	c.want("COMMIT", "COMMIT")
	c.want("MOVE 99998 IN h; FETCH ALL IN h; CLOSE h", "MOVE 99998\n100000\nFETCH 1\nCLOSE CURSOR")
	c.want("BEGIN; DECLARE s SCROLL CURSOR FOR SELECT generate_series(1, 100000); MOVE ALL IN s",
		"BEGIN\nDECLARE CURSOR\nMOVE 100000")
	c.want("FETCH BACKWARD 2 IN s; FETCH ABSOLUTE 50000 IN s; FETCH FIRST IN s; FETCH LAST IN s; COMMIT",
		"100000\n99999\nFETCH 2\n50000\nFETCH 1\n1\nFETCH 1\n100000\nFETCH 1\nCOMMIT")

	c.want("SET temp_file_limit = '100kB'", "SET")
	const tooMuch = "temporary file size exceeds temp_file_limit (100kB) (SQLSTATE 53400)"
	c.want(declare, tooMuch)
	c.want("BEGIN; "+declare+"; FETCH h", "BEGIN\nDECLARE CURSOR\n1\nFETCH 1")
	c.want("COMMIT", tooMuch)
	c.want("RESET temp_file_limit", "RESET")

	must(t, c.s.Parse(ctx, "", "INSERT INTO k SELECT generate_series(1, 3000) RETURNING id", nil))
	must(t, c.s.Bind(ctx, "p", "", nil))
	r := &recorder{env: c.s.Env, columns: []stmt.Column{{Name: "id", Type: types.Int4}}}
	for range 2 {
		_, err := c.s.Execute(ctx, "p", 1500, r)
		must(t, err)
	}
	must(t, c.s.Sync(ctx))
	c.want("SELECT count(*) FROM k", "3000\nSELECT 1")
}
