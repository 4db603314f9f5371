package integration

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shapesFile makes one table of every shape that a dump has to carry, formerFile one whose documents have former ids.
const shapesFile, formerFile = "testdata/dump/shapes.sql", "testdata/dump/former.sql"

// dumpTest is a server with a database of all shapes, named shapes.
type dumpTest struct {
	t    *testing.T
	url  string // of the server, as its superuser
	want map[string]string
}

func newDumpTest(t *testing.T, files ...string) *dumpTest {
	Need(t, []string{"postgresql-client"}, "pg_restore", "--version")
	d := &dumpTest{t: t, url: sharedProcess(t).URL}
	name := strings.ToLower(t.Name())
	from := d.database(name)
	for _, file := range files {
		d.psql(nil, from, "-f", file)
	}
	d.want = d.describe(from)
	return d
}

func (d *dumpTest) at(database string) string {
	u, err := url.Parse(d.url)
	if err != nil {
		d.t.Fatal(err)
	}
	u.Path = "/" + database
	return u.String()
}

// database makes a database and returns its URL.
func (d *dumpTest) database(name string) string {
	Exec(d.t, Connect(d.t, d.url), "CREATE DATABASE "+name)
	return d.at(name)
}

// run runs a program that must succeed and returns what it prints; errors of statements are failures.
func (d *dumpTest) run(stdin []byte, name string, args ...string) []byte {
	d.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(string(stdin))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || strings.Contains(stderr.String(), "ERROR") {
		d.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return out
}

func (d *dumpTest) psql(script []byte, database string, args ...string) string {
	d.t.Helper()
	args = append([]string{"-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database}, args...)
	return string(d.run(script, "psql", args...))
}

// dumpStates are questions about a database whose answers must be the same after a restore.
var dumpStates = map[string]string{
	"policies":   "SELECT * FROM sherd.policies ORDER BY collection::text",
	"segments":   "SELECT collection, segment, lower, upper, automatic FROM sherd.segments ORDER BY collection::text, lower NULLS FIRST",
	"prefixes":   "SELECT prefix, first_bucket, end_bucket, elsewhere, documents FROM sherd.prefixes ORDER BY 1",
	"indexes":    "SELECT collection, index, scope FROM sherd.indexes ORDER BY collection::text, index::text",
	"former ids": "SELECT f.*, m.id FROM pg_forwarding.of_1 f, moved m WHERE m.id = f.old ORDER BY 1",
	"faults":     "SELECT * FROM sherd.check() WHERE NOT ok",
}

// describe returns what must not differ between a database and its copy: all rows and definitions, what psql shows, and what Sherd keeps of its own.
func (d *dumpTest) describe(database string) map[string]string {
	d.t.Helper()
	lines := strings.Split(dumpKey.ReplaceAllString(string(d.run(nil, "pg_dump", "-d", database)), ""), "\n")
	slices.Sort(lines)
	out := map[string]string{
		"dump": strings.Join(lines, "\n"),
		"psql": d.psql(nil, database, "-c", `\d+ public.*`, "-c", `\d+ "Other".*`, "-c", `\di public.*`, "-c", `\dX *.*`),
	}
	for name, query := range dumpStates {
		if name == "former ids" && !strings.Contains(out["psql"], "former_ids=") {
			continue
		}
		out[name] = d.psql(nil, database, "-c", query)
	}
	return out
}

// same compares a copy with the database of all shapes.
func (d *dumpTest) same(how, database string) {
	d.t.Helper()
	got := d.describe(database)
	for name, want := range d.want {
		if got[name] != want {
			d.t.Errorf("%s: %s differ: %s", how, name, firstDifference(got[name], want))
		}
	}
}

// TestDumpShapes dumps a table of every shape and restores it, with each way that pg_dump, psql and pg_restore have.
func TestDumpShapes(t *testing.T) {
	d := newDumpTest(t, shapesFile, formerFile)
	from := d.at(strings.ToLower(t.Name()))
	if rows := d.psql(nil, from, "-At", "-c", "SELECT count(*) FROM pg_forwarding.of_1 f JOIN moved m ON m.id = f.old"); rows != "20\n" {
		t.Fatalf("%s documents are found by their former ids", rows)
	}
	plain := d.run(nil, "pg_dump", "-d", from)

	to := d.database("shapes_plain")
	d.psql(plain, to)
	d.same("pg_dump | psql", to)
	d.psql([]byte(`DELETE FROM valid; INSERT INTO regions VALUES ('new', 1, 1); ALTER TABLE blocks RESET (shard_by); DROP TABLE people;`), to)
	d.psql(d.run(nil, "pg_dump", "--clean", "--if-exists", "-d", from), to)
	d.same("pg_dump --clean --if-exists | psql", to)

	to = d.database("shapes_single")
	d.psql(plain, to, "--single-transaction")
	d.same("pg_dump | psql --single-transaction", to)

	for format, name := range map[string]string{"c": "custom", "d": "directory"} {
		file := filepath.Join(t.TempDir(), name)
		args := []string{"-F" + format, "-f", file, "-d", from}
		if format == "d" {
			args = append(args, "-j4")
		}
		d.run(nil, "pg_dump", args...)
		to = d.database("shapes_" + name)
		// In one run, a foreign key may be added before the former ids that its rows refer by.
		for _, section := range []string{"pre-data", "data", "post-data"} {
			d.run(nil, "pg_restore", "-j4", "--exit-on-error", "--section="+section, "-d", to, file)
		}
		d.same("pg_restore -j4 of format "+name, to)
	}

	to = d.database("shapes_parts")
	d.psql(d.run(nil, "pg_dump", "--schema-only", "-d", from), to)
	d.psql(d.run(nil, "pg_dump", "--data-only", "-d", from), to)
	d.same("pg_dump --schema-only, --data-only | psql", to)
}

// TestDumpPortable restores what pg_dump writes without Sherd's storage parameters into PostgreSQL.
func TestDumpPortable(t *testing.T) {
	d := newDumpTest(t, shapesFile)
	from := d.at(strings.ToLower(t.Name()))
	text := d.run(nil, binary, "export", "--portable", "--url", from)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, "shard") || strings.Contains(line, "sherd") || strings.Contains(line, "scope=") {
			t.Errorf("in the dump: %s", line)
		}
	}
	to := startPostgres(t)
	d.psql(text, to)
	rows := `SELECT (SELECT count(*) FROM valid), (SELECT count(*) FROM events), (SELECT count(*) FROM "Other".lines), (SELECT likes FROM pages WHERE id = 'p/1')`
	if got, want := d.psql(nil, to, "-At", "-c", rows), d.psql(nil, from, "-At", "-c", rows); got != want {
		t.Errorf("PostgreSQL has %s, of %s", got, want)
	}
}

// postgresBin is where Debian installs the programs of the server.
const postgresBin = "/usr/lib/postgresql/15/bin"

// startPostgres starts a PostgreSQL 15 that ends with the test, and returns its URL.
func startPostgres(t *testing.T) string {
	t.Helper()
	Need(t, []string{"postgresql-15"}, filepath.Join(postgresBin, "postgres"), "--version")
	dir, err := os.MkdirTemp("", "sherd-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	command := func(name string, args ...string) *exec.Cmd {
		if os.Getuid() != 0 {
			return exec.Command(filepath.Join(postgresBin, name), args...)
		}
		return exec.Command("runuser", append([]string{"-u", "postgres", "--", filepath.Join(postgresBin, name)}, args...)...)
	}
	if os.Getuid() == 0 {
		if out, err := exec.Command("chown", "postgres", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	data := filepath.Join(dir, "data")
	if out, err := command("initdb", "-D", data, "-E", "UTF8", "--locale=C.UTF-8", "-A", "trust", "-U", "postgres", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	options := fmt.Sprintf("-p %d -h 127.0.0.1 -k %s", port, dir)
	if out, err := command("pg_ctl", "-D", data, "-l", filepath.Join(dir, "log"), "-o", options, "-w", "start").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := command("pg_ctl", "-D", data, "-m", "immediate", "stop").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", port)
}

// TestDumpAll carries roles, databases and what sessions of them begin with from one cluster to another.
func TestDumpAll(t *testing.T) {
	Need(t, []string{"postgresql-client"}, "pg_dumpall", "--version")
	start := func() *dumpTest {
		p, err := Start(binary, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		return &dumpTest{t: t, url: p.URL}
	}
	dump := func(d *dumpTest) (text []byte, sorted string) {
		text = d.run(nil, "pg_dumpall", "-d", d.url)
		lines := strings.Split(dumpKey.ReplaceAllString(string(text), ""), "\n")
		slices.Sort(lines)
		return text, strings.Join(lines, "\n")
	}
	from, to := start(), start()
	from.psql([]byte(`
		CREATE ROLE app LOGIN PASSWORD 'secret' CONNECTION LIMIT 5 VALID UNTIL '2030-01-01';
		CREATE ROLE reader NOINHERIT;
		COMMENT ON ROLE app IS 'the application';
		ALTER ROLE app SET work_mem = '8MB';
		CREATE DATABASE shop OWNER app;
		ALTER DATABASE shop SET statement_timeout = '1min';
		ALTER DATABASE shop CONNECTION LIMIT 7;
		COMMENT ON DATABASE shop IS 'what is sold';
		\c shop
		CREATE SCHEMA app AUTHORIZATION app;
		CREATE TABLE app.orders (id text PRIMARY KEY, doc jsonb) WITH (shard_by = 'Customer');
		INSERT INTO app.orders VALUES ('orders/1$', '{"Customer":"customers/1-A"}');
		ALTER TABLE app.orders OWNER TO app;
	`), from.url)
	text, want := dump(from)
	// Each cluster has its superuser and sherd_admin already.
	others := strings.NewReplacer("CREATE ROLE postgres;\n", "", "CREATE ROLE sherd_admin;\n", "").Replace(string(text))
	to.psql([]byte(others), to.url)
	if _, got := dump(to); got != want {
		t.Errorf("the dump of what was restored differs: %s", firstDifference(got, want))
	}
	validated := to.psql(nil, to.at("shop"), "-At", "-c", "SELECT validated FROM sherd.policies; SELECT * FROM sherd.check() WHERE NOT ok")
	if validated != "t\n" {
		t.Errorf("after the restore: %s", validated)
	}
}
