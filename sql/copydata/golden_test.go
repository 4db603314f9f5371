package copydata

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// With -rewrite, PostgreSQL 15 at SHERD_ORACLE writes the golden files.
var rewrite = flag.Bool("rewrite", false, "ask PostgreSQL for the golden files")

// dialects are options as SQL and as ours.
var dialects = []struct {
	name, sql string
	change    func(o *Options)
	format    Format
}{
	{"text", "", nil, Text},
	{"text_delimiter", "DELIMITER '|', NULL ''", func(o *Options) { o.Delimiter, o.Null = '|', "" }, Text},
	{"text_null", "NULL 'nil'", func(o *Options) { o.Null = "nil" }, Text},
	{"text_header", "HEADER", func(o *Options) { o.Header = true }, Text},
	{"csv", "FORMAT csv", nil, CSV},
	{"csv_header", "FORMAT csv, HEADER", func(o *Options) { o.Header = true }, CSV},
	{"csv_semicolon", "FORMAT csv, DELIMITER ';', NULL 'nil'", func(o *Options) {
		o.Delimiter, o.Null = ';', "nil"
	}, CSV},
	{"csv_escape", `FORMAT csv, QUOTE '''', ESCAPE E'\\'`, func(o *Options) { o.Quote, o.Escape = '\'', '\\' }, CSV},
	{"csv_force", "FORMAT csv, FORCE_QUOTE (b)", func(o *Options) { o.ForceQuote = map[string]bool{"b": true} }, CSV},
	{"csv_force_all", "FORMAT csv, FORCE_QUOTE *", func(o *Options) { o.ForceQuote = map[string]bool{"*": true} }, CSV},
	{"binary", "FORMAT binary", nil, Binary},
}

// rows hold everything that some format has to escape; nil is null.
func rows() [][]*string {
	var out [][]*string
	values := []string{
		"plain", "", `\N`, `\.`, "nil", "a\tb", "line\nfeed", "carriage\rreturn", "both\r\n", `back\slash`,
		`ends in \`, `"quoted"`, `one " inside`, `""`,
		"it's", `\'`, "a,b", "a;b", "a|b", " spaces ", "\b\f\v", "ünïcödé ☃", `\x41\101`,
		strings.Repeat("long ", 300), ",", "\n",
	}
	for i := range values {
		out = append(
			out, []*string{&values[i], &values[(i*7+3)%len(values)]}, []*string{nil, &values[i]},
			[]*string{&values[i], nil},
		)
	}
	return append(out, []*string{nil, nil})
}

var columnNames = []string{"a", "b"}

func goldenFile(name string) string { return filepath.Join("testdata", name+".golden") }

// TestWriterAndReader compares what is written with what PostgreSQL wrote, and reads that back.
func TestWriterAndReader(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			o := Defaults(d.format)
			if d.change != nil {
				d.change(&o)
			}
			if *rewrite {
				writeGolden(t, d.name, d.sql)
			}
			want, err := os.ReadFile(goldenFile(d.name))
			if err != nil {
				t.Fatal(err)
			}
			if got := written(&o); !bytes.Equal(got, want) {
				t.Errorf("written:\n%q\nPostgreSQL:\n%q", got, want)
			}
			for _, size := range []int{1, 2, 7, 1000, len(want)} {
				got, err := readAll(o, want, size)
				if err != nil {
					t.Fatalf("chunks of %d: %v", size, err)
				}
				if want := show(readBack(&o, rows())); !slices.Equal(got, want) {
					t.Fatalf("chunks of %d:\n%q\nwant\n%q", size, got, want)
				}
			}
		})
	}
}

func written(o *Options) (out []byte) {
	if o.Format == Binary {
		out = AppendHeader(out)
	}
	if o.Header {
		head := *o
		head.ForceQuote = nil
		out = head.AppendRecord(out, fieldsOf([]*string{&columnNames[0], &columnNames[1]}), columnNames)
	}
	for _, r := range rows() {
		out = o.AppendRecord(out, fieldsOf(r), columnNames)
	}
	if o.Format == Binary {
		out = AppendTrailer(out)
	}
	return out
}

// readBack is what becomes of rows: in text, a value that looks like null is null.
func readBack(o *Options, rows [][]*string) [][]*string {
	for _, r := range rows {
		for i, v := range r {
			if o.Format == Text && v != nil && *v == o.Null && !strings.Contains(*v, `\`) {
				r[i] = nil
			}
		}
	}
	return rows
}

func fieldsOf(row []*string) (out []Field) {
	for _, v := range row {
		if v == nil {
			out = append(out, Field{Null: true})
		} else {
			out = append(out, Field{Bytes: []byte(*v)})
		}
	}
	return out
}

// readAll reads data that comes in chunks.
func readAll(o Options, data []byte, chunk int) (out []string, err error) {
	r := NewReader(o, func() ([]byte, error) {
		if len(data) == 0 {
			return nil, io.EOF
		}
		b := data[:min(chunk, len(data))]
		data = data[len(b):]
		return b, nil
	})
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, showFields(fields))
	}
}

func showFields(fields []Field) string {
	row := []*string{}
	for _, f := range fields {
		if f.Null {
			row = append(row, nil)
			continue
		}
		s := string(f.Bytes)
		row = append(row, &s)
	}
	b, _ := json.Marshal(row)
	return string(b)
}

func show(rows [][]*string) (out []string) {
	for _, r := range rows {
		out = append(out, showFields(fieldsOf(r)))
	}
	return out
}

func oracle(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), os.Getenv("SHERD_ORACLE"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func writeGolden(t *testing.T, name, options string) {
	ctx, conn := context.Background(), oracle(t)
	if _, err := conn.Exec(ctx, "CREATE TEMP TABLE t (n serial, a text, b text)"); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows() {
		if _, err := conn.Exec(ctx, "INSERT INTO t (a, b) VALUES ($1, $2)", r[0], r[1]); err != nil {
			t.Fatal(err)
		}
	}
	if options != "" {
		options = "WITH (" + options + ")"
	}
	var out bytes.Buffer
	if _, err := conn.PgConn().CopyTo(
		ctx, &out, "COPY (SELECT a, b FROM t ORDER BY n) TO STDOUT "+options,
	); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile(name), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// inputs are data nobody's COPY TO writes.
var inputs = []struct {
	options string
	change  func(o *Options)
	format  Format
	data    string
}{
	{"", nil, Text, "a\tb\r\nc\td\r\n"},
	{"", nil, Text, "a\tb"},
	{"", nil, Text, "\\x41\\x4g\\101\\7z\t\\q\\\\n\\\n"},
	{"", nil, Text, "a\\\nb\tc\nd\te\n"},
	{"", nil, Text, "\\\\N\t\\N\n\t\n"},
	{"", nil, Text, "a\tb\n\\.\nc\td\n"},
	{"DELIMITER '|'", func(o *Options) { o.Delimiter = '|' }, Text, "a\\|b|c\n"},
	{"FORMAT csv", nil, CSV, "a,b\n\"x\"\"y\",\"\"\n"},
	{"FORMAT csv", nil, CSV, "\"a\nb\",\"c\r\nd\"\r\ne,f\r\n"},
	{"FORMAT csv", nil, CSV, "ab\"c,d\"ef,g\n"},
	{"FORMAT csv", nil, CSV, "a,\n,\n\"\",\"\"\n"},
	{"FORMAT csv", nil, CSV, "a, \"b\" \n"},
	{"FORMAT csv, HEADER", func(o *Options) { o.Header = true }, CSV, "x,y\na,b\n"},
	{`FORMAT csv, ESCAPE E'\\'`, func(o *Options) { o.Escape = '\\' }, CSV, `"a\"b\\c\d",e` + "\n"},
	{"FORMAT csv", nil, CSV, "\"open,b\n"},
	{"FORMAT csv", nil, CSV, "a,b\n\\.\n"},
	{"FORMAT csv", nil, CSV, "\"a\"\"\"\"b\",\"\"\"\"\n"},
}

// TestReaderReadsWhatPostgreSQLReads compares the rows and errors that odd data gives.
func TestReaderReadsWhatPostgreSQLReads(t *testing.T) {
	var got strings.Builder
	for _, in := range inputs {
		o := Defaults(in.format)
		if in.change != nil {
			in.change(&o)
		}
		for _, chunk := range []int{len(in.data), 1} {
			var one strings.Builder
			fmt.Fprintf(&one, "%s %q\n", in.options, in.data)
			rows, err := readAll(o, []byte(in.data), chunk)
			if err != nil {
				rows = []string{"ERROR: " + err.Error()}
			}
			one.WriteString(strings.Join(rows, "\n") + "\n")
			if chunk > 1 {
				got.WriteString(one.String())
			} else if !strings.HasSuffix(got.String(), one.String()) {
				t.Errorf("byte by byte: %s", one.String())
			}
		}
	}
	if *rewrite {
		writeInputs(t)
	}
	want, err := os.ReadFile(goldenFile("inputs"))
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got:\n%s\nPostgreSQL:\n%s", got.String(), want)
	}
}

func writeInputs(t *testing.T) {
	ctx, conn := context.Background(), oracle(t)
	var out strings.Builder
	for _, in := range inputs {
		fmt.Fprintf(&out, "%s %q\n", in.options, in.data)
		if _, err := conn.Exec(
			ctx, "DROP TABLE IF EXISTS t; CREATE TEMP TABLE t (n serial, a text, b text)",
		); err != nil {
			t.Fatal(err)
		}
		options := ""
		if in.options != "" {
			options = "WITH (" + in.options + ")"
		}
		if _, err := conn.PgConn().CopyFrom(
			ctx, strings.NewReader(in.data), "COPY t (a, b) FROM STDIN "+options,
		); err != nil {
			fmt.Fprintf(&out, "%s\n", err)
			continue
		}
		rows, err := conn.Query(ctx, "SELECT a, b FROM t ORDER BY n")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			r := make([]*string, 2)
			if err := rows.Scan(&r[0], &r[1]); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&out, showFields(fieldsOf(r)))
		}
	}
	if err := os.WriteFile(goldenFile("inputs"), []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzReader reads anything without failing otherwise than by an error, and the same however it is
// cut.
func FuzzReader(f *testing.F) {
	for _, in := range inputs {
		f.Add([]byte(in.data), byte(in.format), byte(3))
	}
	for _, d := range dialects {
		if b, err := os.ReadFile(goldenFile(d.name)); err == nil {
			f.Add(b[:min(len(b), 400)], byte(d.format), byte(1))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format, chunk byte) {
		o := Defaults(Format(format % 3))
		whole, err := readAll(o, data, len(data)+1)
		cut, cutErr := readAll(o, data, int(chunk)+1)
		if !slices.Equal(whole, cut) || fmt.Sprint(err) != fmt.Sprint(cutErr) {
			t.Fatalf("whole: %q, %v\ncut: %q, %v", whole, err, cut, cutErr)
		}
	})
}
