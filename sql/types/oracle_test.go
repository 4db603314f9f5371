package types

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sherddb/sherd/internal/pgerr"
)

// The expected side of testdata/io.txt is from PostgreSQL 15. To add a case, add a line
// "type<TAB>quoted text" and run
//
//	PGHOST=… PGUSER=… go test ./sql/types -run TestOracle -rewrite
//
// against a server with C.UTF-8, and review the difference before committing it. A line "set name =
// value" applies to the lines below it. A type that ends in "!" is read with an explicit cast;
// values of other types are assigned to a column.
var rewrite = flag.Bool("rewrite", false, "ask PostgreSQL for the expected side of the golden files")

type ioCase struct {
	line    int
	typ     string
	oid     OID
	typmod  int32
	input   string
	want    string
	env     *Env
	setting string
}

func readIOCases(t *testing.T, name string) []ioCase {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var cases []ioCase
	env := Env{}
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		line := sc.Text()
		if line == "" || line[0] == '#' {
			cases = append(cases, ioCase{line: n, setting: line})
			continue
		}
		if strings.HasPrefix(line, "set ") {
			applySetting(t, &env, line)
			cases = append(cases, ioCase{line: n, setting: line})
			continue
		}
		f := strings.SplitN(line, "\t", 5)
		c := ioCase{line: n, typ: f[0]}
		if c.input, err = strconv.Unquote(f[1]); err != nil {
			t.Fatalf("%s:%d: %v", name, n, err)
		}
		if len(f) == 5 {
			o, _ := strconv.Atoi(f[2])
			m, _ := strconv.Atoi(f[3])
			c.oid, c.typmod, c.want = OID(o), int32(m), f[4]
		}
		e := env
		c.env = &e
		cases = append(cases, c)
	}
	return cases
}

func applySetting(t *testing.T, env *Env, line string) {
	name, value, _ := strings.Cut(strings.TrimPrefix(line, "set "), "=")
	value = strings.Trim(strings.TrimSpace(value), "'")
	switch strings.TrimSpace(name) {
	case "datestyle":
		f, o, _ := strings.Cut(value, ", ")
		env.DateFormat = map[string]DateFormat{"ISO": DateISO, "SQL": DateSQL, "Postgres": DatePostgres,
			"German": DateGerman}[f]
		env.DateOrder = map[string]DateOrder{"MDY": OrderMDY, "DMY": OrderDMY, "YMD": OrderYMD}[o]
	case "timezone":
		var ok bool
		if env.Zone, env.ZoneName, ok = LoadZone(value); !ok {
			t.Fatalf("zone %q", value)
		}
	case "intervalstyle":
		env.IntervalFormat = map[string]IntervalFormat{"postgres": IntervalPostgres,
			"postgres_verbose": IntervalPostgresVerbose,
			"sql_standard":     IntervalSQL, "iso_8601": IntervalISO}[value]
	case "extra_float_digits":
		env.ExtraFloatDigits, _ = strconv.Atoi(value)
		env.LowFloatDigits = env.ExtraFloatDigits <= 0
	case "bytea_output":
		env.ByteaEscape = value == "escape"
	default:
		t.Fatalf("setting %q", line)
	}
}

func errorText(code, msg, detail, hint string) string {
	s := "!" + code + " " + msg
	if detail != "" {
		s += " | " + detail
	}
	if hint != "" {
		s += " | hint: " + hint
	}
	return strconv.Quote(s)
}

func (c *ioCase) ours() string {
	explicit := strings.HasSuffix(c.typ, "!")
	typmod := c.typmod
	if explicit && c.oid != Interval {
		typmod = -1
	}
	d, err := Input(c.oid, typmod, c.input, c.env)
	if err == nil && explicit {
		d, err = ApplyTypmod(c.oid, c.typmod, d, true)
	}
	if err != nil {
		var e *pgerr.Error
		if !errors.As(err, &e) {
			return err.Error()
		}
		return errorText(e.Code, e.Message, e.Detail, e.Hint)
	}
	return strconv.Quote(Output(c.oid, d, c.env))
}

func TestOracle(t *testing.T) {
	const name = "testdata/io.txt"
	if *rewrite {
		rewriteIO(t, name)
	}
	for _, c := range readIOCases(t, name) {
		if c.env == nil || c.want == "" {
			continue
		}
		if got := c.ours(); got != c.want {
			t.Errorf("%s:%d: %s %q\n got %s\nwant %s", name, c.line, c.typ, c.input, got, c.want)
		}
	}
}

func rewriteIO(t *testing.T, name string) {
	cases := readIOCases(t, name)
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var out bytes.Buffer
	for _, c := range cases {
		if c.env == nil {
			if strings.HasPrefix(c.setting, "set ") {
				if _, err := conn.Exec(ctx, c.setting).ReadAll(); err != nil {
					t.Fatal(err)
				}
			}
			fmt.Fprintln(&out, c.setting)
			continue
		}
		oid, typmod, want := askOracle(t, conn, &c)
		fmt.Fprintf(&out, "%s\t%q\t%d\t%d\t%s\n", c.typ, c.input, oid, typmod, want)
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func askOracle(t *testing.T, conn *pgconn.PgConn, c *ioCase) (uint32, int32, string) {
	ctx := context.Background()
	typ := strings.TrimSuffix(c.typ, "!")
	lit := "'" + strings.ReplaceAll(c.input, "'", "''") + "'"
	r, err := conn.Exec(ctx, "drop table if exists io_case; create temp table io_case (v "+typ+
		"); select v from (select 1) x left join io_case on true").ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	fd := r[2].FieldDescriptions[0]
	q := "insert into io_case values (" + lit + ") returning v"
	if typ != c.typ {
		q = "select " + lit + "::" + typ
	}
	r, err = conn.Exec(ctx, q).ReadAll()
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return fd.DataTypeOID, fd.TypeModifier, errorText(pe.Code, pe.Message, pe.Detail, pe.Hint)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd.DataTypeOID, fd.TypeModifier, strconv.Quote(string(r[0].Rows[0][0]))
}
