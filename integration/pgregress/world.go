package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sherddb/sherd/integration"
	"github.com/sherddb/sherd/integration/pgregress/psql"
	"github.com/sherddb/sherd/integration/postgres"
)

// world is the two servers and the scripts.
type world struct {
	options   options
	dir       string
	scripts   string // the directory of PostgreSQL's regression tests
	reference *postgres.Server
	process   *integration.Process
}

func newWorld(ctx context.Context, o options) (w *world, err error) {
	w = &world{options: o}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.dir, err = os.MkdirTemp("", "sherd-pgregress-"); err != nil {
		return w, err
	}
	if err := os.Chmod(w.dir, 0o755); err != nil { // PostgreSQL runs as another user, and reads files of the scripts
		return w, err
	}
	if w.scripts, err = fetchScripts(ctx, w.dir); err != nil {
		return w, err
	}
	results := filepath.Join(w.dir, "results")
	if err := os.Mkdir(results, 0o755); err != nil {
		return w, err
	}
	if err := os.Chmod(results, 0o777); err != nil { // both servers write files there
		return w, err
	}
	binary := o.binary
	if binary == "" {
		if binary, err = integration.Build(w.dir); err != nil {
			return w, err
		}
	}
	if w.reference, err = postgres.Create(ctx, filepath.Join(w.dir, "postgres")); err != nil {
		return w, err
	}
	w.process, err = integration.Start(binary, filepath.Join(w.dir, "data"))
	return w, err
}

func (w *world) close() {
	if w.process != nil {
		w.process.Kill()
	}
	if w.reference != nil {
		w.reference.Stop()
	}
	if w.dir != "" {
		os.RemoveAll(w.dir)
	}
}

// reader returns a reader of a script.
func (w *world) reader(script string) (*psql.Reader, error) {
	text, err := os.ReadFile(filepath.Join(w.scripts, "sql", script+".sql"))
	if err != nil {
		return nil, err
	}
	r := psql.NewReader(string(text))
	r.Environment = map[string]string{"PG_ABS_SRCDIR": w.scripts, "PG_ABS_BUILDDIR": w.dir,
		"PG_LIBDIR": "/nonexistent", "PG_DLSUFFIX": ".so"}
	return r, nil
}

// needs are the scripts that others build upon, of PostgreSQL's parallel_schedule; test_setup
// comes before all.
var needs = map[string][]string{
	"aggregates":  {"create_aggregate"},
	"alter_table": {"create_misc"},
	"join":        {"create_misc"},
	"with":        {"create_misc"},
	"horology":    {"date", "time", "timetz", "timestamp", "timestamptz", "interval"},
}

// prepare makes a new database on a server, with what a script needs in it.
func (w *world) prepare(ctx context.Context, url, script string) (*player, error) {
	p := &player{url: url, database: "postgres", timeout: w.options.timeout}
	if err := p.connect(ctx, ""); err != nil {
		return nil, err
	}
	if err := p.clear(ctx); err != nil {
		p.close()
		return nil, err
	}
	p.close()
	p.database = database
	if err := p.connect(ctx, ""); err != nil {
		return nil, err
	}
	for _, name := range append([]string{"test_setup"}, needs[script]...) {
		r, err := w.reader(name)
		if err != nil {
			return nil, err
		}
		p.playAll(ctx, r)
	}
	return p, nil
}

// database is the name of the database of the scripts.
const database = "regression"

// clear drops what an earlier script left, and creates the database.
func (p *player) clear(ctx context.Context) error {
	if err := p.must(ctx, "DROP DATABASE IF EXISTS "+database+" WITH (FORCE)"); err != nil {
		return err
	}
	roles := p.run(ctx, "SELECT quote_ident(rolname) FROM pg_roles WHERE rolname LIKE 'regress%'", nil, nil)
	for _, r := range roles.results {
		for _, row := range r.rows {
			p.run(ctx, fmt.Sprintf("DROP OWNED BY %s CASCADE", *row[0]), nil, nil)
			p.run(ctx, fmt.Sprintf("DROP ROLE %s", *row[0]), nil, nil)
		}
	}
	for _, text := range []string{"CREATE DATABASE " + database + " TEMPLATE template0 LOCALE 'C'",
		"ALTER DATABASE " + database + " SET lc_messages TO 'C'",
		"ALTER DATABASE " + database + " SET lc_monetary TO 'C'",
		"ALTER DATABASE " + database + " SET lc_numeric TO 'C'",
		"ALTER DATABASE " + database + " SET lc_time TO 'C'",
		"ALTER DATABASE " + database + " SET bytea_output TO 'hex'"} {
		if err := p.must(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// end rolls back the transactions that a script has left prepared, which keep its database from
// being dropped, and disconnects.
func (p *player) end(ctx context.Context) {
	p.switchUser(ctx, nil)
	prepared := p.run(ctx,
		"SELECT quote_literal(gid) FROM pg_prepared_xacts WHERE database = current_database()", nil, nil)
	for _, r := range prepared.results {
		for _, row := range r.rows {
			p.run(ctx, "ROLLBACK PREPARED "+*row[0], nil, nil)
		}
	}
	p.close()
}

// must runs a statement that may not fail.
func (p *player) must(ctx context.Context, text string) error {
	a := p.run(ctx, text, nil, nil)
	if a.lost != nil {
		return a.lost
	}
	for _, r := range a.results {
		if r.code != "" {
			return fmt.Errorf("%s: %s (%s)", text, r.message, r.code)
		}
	}
	return nil
}
