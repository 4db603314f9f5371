package integration

import (
	"fmt"
	"math/big"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// TestPsycopg runs a Python program against the server. It takes Debian's Python, which the packages belong to.
func TestPsycopg(t *testing.T) {
	const python = "/usr/bin/python3"
	Need(t, []string{"python3-psycopg", "python3-psycopg2"}, python, "-c", "import psycopg, psycopg2")
	out, err := exec.CommandContext(t.Context(), python, "drivers/psycopg_test.py", sharedURL(t)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// TestPgx sends parameters and reads results in each of pgx's ways: extended with cached statements, described each time, and simple.
func TestPgx(t *testing.T) {
	url := sharedURL(t)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol} {
		t.Run(strings.ReplaceAll(mode.String(), " ", "-"), func(t *testing.T) {
			config, err := pgx.ParseConfig(url)
			if err != nil {
				t.Fatal(err)
			}
			config.DefaultQueryExecMode = mode
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			pgxConversation(t, conn, fmt.Sprintf("pgx_%d", mode))
		})
	}
}

func pgxConversation(t *testing.T, conn *pgx.Conn, table string) {
	ctx := t.Context()
	Exec(t, conn, "CREATE TABLE "+table+` (id text PRIMARY KEY, doc jsonb NOT NULL, at timestamptz, amount numeric(12, 3), raw bytea, tags text[], n bigint, f float8,
		ok bool, day date, u uuid, took interval, small smallint)`)
	at := time.Date(2026, 11, 21, 10, 11, 12, 345678000, time.UTC)
	insert := "INSERT INTO " + table + " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
	amount := pgtype.Numeric{Int: big.NewInt(-1234567), Exp: -3, Valid: true}
	day := time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)
	took := pgtype.Interval{Months: 1, Days: 2, Microseconds: 3_000_001, Valid: true}
	Exec(t, conn, insert, "a/1", `{"x": [1, 2]}`, at, amount, []byte{0, 1, 255}, []string{"a b", `"`, ""}, int64(-1)<<62, 1.5e-300, true, day,
		"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", took, int16(-5))
	Exec(t, conn, insert, "a/2", "{}", nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	var got struct {
		doc    map[string][]int
		at     time.Time
		amount pgtype.Numeric
		raw    []byte
		tags   []string
		n      int64
		f      float64
		ok     bool
		day    time.Time
		u      string
		took   pgtype.Interval
		small  int16
	}
	err := conn.QueryRow(ctx, "SELECT doc, at, amount, raw, tags, n, f, ok, day, u::text, took, small FROM "+table+" WHERE id = $1", "a/1").Scan(
		&got.doc, &got.at, &got.amount, &got.raw, &got.tags, &got.n, &got.f, &got.ok, &got.day, &got.u, &got.took, &got.small)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(got.doc, got.at.UTC(), got.amount.Int, got.amount.Exp, got.raw, len(got.tags), got.tags, got.n, got.f, got.ok, got.day, got.u, got.took, got.small)
	want := fmt.Sprint(map[string][]int{"x": {1, 2}}, at, amount.Int, amount.Exp, []byte{0, 1, 255}, 3, []string{"a b", `"`, ""}, int64(-1)<<62, 1.5e-300, true, day,
		"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", took, -5)
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if One[bool](t, conn, "SELECT at IS NULL AND n IS NULL AND tags IS NULL FROM "+table+" WHERE id = $1", "a/2") != true {
		t.Error("nulls came back as something")
	}
	batch := &pgx.Batch{}
	for n := range 50 {
		batch.Queue("INSERT INTO "+table+" (id, doc, n) VALUES ($1, $2, $3)", fmt.Sprintf("b/%d", n), "{}", n)
	}
	batch.Queue("SELECT sum(n)::bigint FROM " + table + " WHERE id LIKE 'b/%'")
	results := conn.SendBatch(ctx, batch)
	for range 50 {
		if _, err := results.Exec(); err != nil {
			t.Fatal(err)
		}
	}
	var sum int64
	if err := results.QueryRow().Scan(&sum); err != nil || sum != 49*50/2 {
		t.Errorf("the batch gives %d, %v", sum, err)
	}
	if err := results.Close(); err != nil {
		t.Error(err)
	}
	n, err := conn.CopyFrom(ctx, pgx.Identifier{table}, []string{"id", "doc", "n", "at"}, pgx.CopyFromSlice(100, func(i int) ([]any, error) {
		return []any{fmt.Sprintf("c/%d", i), map[string]int{"i": i}, i, at}, nil
	}))
	if err != nil || n != 100 {
		t.Errorf("binary COPY: %d, %v", n, err)
	}
	if got := One[int64](t, conn, "SELECT sum((doc->>'i')::int) FROM "+table+" WHERE id = ANY ($1)", []string{"c/1", "c/99", "c/100"}); got != 100 {
		t.Errorf("sum %d", got)
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "DELETE FROM "+table); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "SELECT 1/$1::int", 0)
		return err
	})
	if sqlState(err) != "22012" || One[int](t, conn, "SELECT count(*)::int FROM "+table) != 152 {
		t.Errorf("a transaction that fails: %v", err)
	}
}

// TestPsql runs scripts of psql: files, variables, \copy, and the commands that describe.
func TestPsql(t *testing.T) {
	Need(t, []string{"postgresql-client"}, "psql", "--version")
	url := sharedURL(t)
	run := func(want int, stdin string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "psql", append([]string{url, "-X", "-v", "ON_ERROR_STOP=1"}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("psql %q: exit code %d, %v\n%s", args, code, err, out)
		}
		return string(out)
	}
	script := writeFile(t, "shop.sql", `\set name Ada
CREATE SCHEMA shop;
CREATE TABLE shop.orders (id text PRIMARY KEY, doc jsonb NOT NULL, CONSTRAINT has_total CHECK (doc ? 'Total')) WITH (shard_by = 'Customer');
CREATE TABLE shop.lines (num int, line int, price numeric(10, 2) DEFAULT 0, PRIMARY KEY (num, line));
INSERT INTO shop.orders VALUES ('orders/1-A$', jsonb_build_object('Customer', :'name', 'Total', 5));
COPY shop.lines FROM STDIN;
1	1	2.50
1	2	\N
\.
\echo loaded
`)
	if out := run(0, "", "-q", "-f", script); out != "loaded\n" {
		t.Errorf("the script prints %q", out)
	}
	csv := writeFile(t, "lines.csv", "num,line,price\n2,1,\"7.25\"\n2,2,\n")
	if out := run(0, "", "-c", `\copy shop.lines FROM '`+csv+`' CSV HEADER`); out != "COPY 2\n" {
		t.Errorf("\\copy prints %q", out)
	}
	if out := run(0, "", "-c", `\copy (SELECT * FROM shop.lines ORDER BY 1, 2) TO STDOUT CSV HEADER`); out != "num,line,price\n1,1,2.50\n1,2,\n2,1,7.25\n2,2,\n" {
		t.Errorf("\\copy TO prints %q", out)
	}
	if out := run(3, "SELECT 1;\nSELECT nosuch;\nSELECT 2;\n"); !strings.Contains(out, `ERROR:  column "nosuch" does not exist`) || !strings.Contains(out, "        ^") {
		t.Errorf("an error prints %q", out)
	}
	for command, want := range map[string][]string{
		`\l`:                            {"postgres", "UTF8", "C.UTF-8"},
		`\dn`:                           {"public", "shop", "postgres"},
		`\dt shop.*`:                    {"shop   | lines  | table | postgres", "shop   | orders | table | postgres"},
		`\d shop.orders`:                {`Table "shop.orders"`, "doc    | jsonb |           | not null |", `"orders_pkey" PRIMARY KEY, btree (id)`, `"has_total" CHECK (doc ? 'Total'::text)`, `"sharding"`},
		`\d+ shop.lines`:                {"price  | numeric(10,2) |           |          | 0", `"lines_pkey" PRIMARY KEY, btree (num, line)`},
		`\d`:                            {"packages"},
		`\du`:                           {"postgres", "Superuser"},
		`\di shop.*`:                    {"orders_pkey", "lines_pkey"},
		`\dT+`:                          {""},
		`\df sherd.bucket`:              {"bucket", "integer"},
		`\conninfo`:                     {"postgres"},
		`\x \\ SELECT 1 AS a, 'b' AS c`: {"-[ RECORD 1 ]", "a | 1", "c | b"},
	} {
		if strings.HasPrefix(command, `\d`) && strings.TrimSpace(command) == `\d` {
			withPackages(t)
		}
		out := run(0, command+"\n")
		for _, part := range want {
			if !strings.Contains(out, part) {
				t.Errorf("%s does not print %q:\n%s", command, part, out)
			}
		}
	}
	run(0, "", "-q", "-c", "DROP SCHEMA shop CASCADE")
}
