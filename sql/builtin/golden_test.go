package builtin

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// The golden files testdata/*.golden have calls and the results of PostgreSQL 15. A line that
// begins with neither a tab nor # is a call, and the lines with a tab below it are its result: the
// result type's OID, then the rows. To add calls, write them without a result and run
//
//	SHERD_ORACLE='host=… user=…' go test ./sql/builtin -run Golden -rewrite
//
// A call is name(argument, …), each argument 'text'::type or null::type; @name(types) [[…],…] is an
// aggregate over rows.
var rewrite = flag.Bool("rewrite", false, "ask PostgreSQL (SHERD_ORACLE) for the answers of the golden files")

const goldenZone = "America/New_York"

func goldenEnv(t *testing.T) *types.Env {
	loc, err := time.LoadLocation(goldenZone)
	if err != nil {
		t.Fatal(err)
	}
	return &types.Env{Zone: loc, ZoneName: goldenZone}
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".golden"), func(t *testing.T) { goldenFile(t, file) })
	}
}

func goldenFile(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	entries := parseGolden(string(data))
	if *rewrite {
		askOracle(t, entries)
		if err := os.WriteFile(file, []byte(formatGolden(entries)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := goldenEnv(t)
	for _, e := range entries {
		if e.call == "" {
			continue
		}
		got := evaluate(t, e, env)
		if want := strings.Join(e.rows, "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", e.call, got, want)
		}
	}
}

// goldenEntry is a call with its result, or a comment line.
type goldenEntry struct {
	comment string
	call    string
	retType uint32
	rows    []string
}

func parseGolden(text string) []*goldenEntry {
	var entries []*goldenEntry
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		last := len(entries) - 1
		switch {
		case line == "" || line[0] == '#':
			entries = append(entries, &goldenEntry{comment: line})
		case line[0] != '\t':
			entries = append(entries, &goldenEntry{call: line})
		case entries[last].retType == 0 && len(entries[last].rows) == 0:
			n, _ := strconv.ParseUint(line[1:], 10, 32)
			entries[last].retType = uint32(n)
		default:
			entries[last].rows = append(entries[last].rows, line[1:])
		}
	}
	return entries
}

func formatGolden(entries []*goldenEntry) string {
	var b strings.Builder
	for _, e := range entries {
		if e.call == "" {
			b.WriteString(e.comment + "\n")
			continue
		}
		fmt.Fprintf(&b, "%s\n\t%d\n", e.call, e.retType)
		for _, r := range e.rows {
			b.WriteString("\t" + r + "\n")
		}
	}
	return b.String()
}

// show prints a value's text in one line.
func show(s string) string {
	if strings.ContainsAny(s, "\n\t\r") || strings.TrimSpace(s) != s || s == "" {
		return strconv.Quote(s)
	}
	return s
}

func askOracle(t *testing.T, entries []*goldenEntry) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv("SHERD_ORACLE"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "set timezone = '"+goldenZone+"'"); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.call == "" {
			continue
		}
		sql := callOf(t, e.call).sql()
		e.rows = nil
		e.retType = uint32(types.Unknown)
		results, err := conn.PgConn().Exec(ctx, "select pg_typeof("+sql+")::oid limit 1").ReadAll()
		if err == nil && len(results[0].Rows) > 0 {
			n, _ := strconv.ParseUint(string(results[0].Rows[0][0]), 10, 32)
			e.retType = uint32(n)
		}
		from := "select " + sql
		if strings.HasPrefix(sql, "(select") {
			from = "select " + sql
		}
		results, err = conn.PgConn().Exec(ctx, from).ReadAll()
		if err != nil {
			pg, ok := err.(*pgconn.PgError)
			if !ok {
				t.Fatal(e.call, err)
			}
			e.rows = []string{show("!" + pg.Code + " " + pg.Message)}
			if pg.Code == pgerr.UndefinedFunction {
				t.Errorf("%s: %v", sql, err)
			}
			continue
		}
		for _, row := range results[0].Rows {
			if row[0] == nil {
				e.rows = append(e.rows, "NULL")
			} else {
				e.rows = append(e.rows, show(string(row[0])))
			}
		}
	}
}
