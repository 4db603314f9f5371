package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
)

// TestCopyDuplicates: a key that a fragment finds taken is reported with its line, as in
// PostgreSQL, even if later lines were read by then.
func TestCopyDuplicates(t *testing.T) {
	a := newWorld(t).connect(t)
	a.want("CREATE TABLE cp (id int PRIMARY KEY, v text)", "CREATE TABLE")
	a.want("INSERT INTO cp VALUES (0, 'x')", "INSERT 0 1")
	var many []string
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("%d\tx", i+1))
	}
	many[123] = "0\tx"
	for _, c := range []struct {
		copy  string
		lines []string
		where string
	}{
		{"COPY cp FROM STDIN", []string{"1\ta", "2\tb", "1\tc", "4\td"}, "COPY cp, line 3"},
		{
			"COPY cp FROM STDIN (FORMAT csv, HEADER)",
			[]string{"id,v", `1,"a`, `b"`, "2,x", "1,y", "4,z"}, "COPY cp, line 5",
		},
		{"COPY cp FROM STDIN", many, "COPY cp, line 124"},
		{"COPY cp FROM STDIN", []string{"1\ta", "x\tb"}, `COPY cp, line 2, column id: "x"`},
	} {
		r := &recorder{env: a.s.Env, lines: c.lines}
		err := a.s.Simple(t.Context(), c.copy, r)
		if e := pgerr.From(err); err == nil || e.Where != c.where {
			t.Errorf("%s of %s: %v, CONTEXT %q, expected %q", c.copy,
				strings.Join(c.lines[:min(4, len(c.lines))], ";"), err, e.Where, c.where)
		}
	}
	a.want("SELECT count(*) FROM cp", "1\nSELECT 1")
}
