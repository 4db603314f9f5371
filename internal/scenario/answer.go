package scenario

import (
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// answer collects what a session sees, one thing a line.
type answer struct{ lines []string }

func (a *answer) line(s string) { a.lines = append(a.lines, s) }

func (a *answer) String() string { return strings.Join(a.lines, "\n") }

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "|", `\|`)

// value writes a value as a row does.
func value(v []byte) string {
	switch {
	case v == nil:
		return "NULL"
	case len(v) == 0:
		return "''"
	}
	return escapes.Replace(string(v))
}

func (a *answer) row(values [][]byte) {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = value(v)
	}
	if len(out) == 0 {
		out = []string{"()"}
	}
	a.line(strings.Join(out, "|"))
}

// notice adds an error or a notice with its DETAIL and HINT.
func (a *answer) notice(severity string, e *pgconn.PgError) {
	a.line(masked(severity + " " + e.Code + ": " + e.Message))
	for _, more := range [][2]string{{"DETAIL: ", e.Detail}, {"HINT: ", e.Hint}} {
		if more[1] != "" {
			a.line(masked(more[0] + more[1]))
		}
	}
}

var (
	times        = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.\d]*(Z|[+-]\d\d(:\d\d)*)?(\+\d+)?`)
	transactions = regexp.MustCompile(`(ransaction) \d+`)
)

// masked removes the parts of an error that differ from run to run.
func masked(s string) string {
	s = transactions.ReplaceAllString(times.ReplaceAllString(s, "TIME"), "$1 N")
	return strings.ReplaceAll(s, "\n", `\n`)
}
