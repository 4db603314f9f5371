package sql_test

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
)

// ddlStatements is how many statements one seed makes on an empty database.
const ddlStatements = 250

// TestRandomDefinitions sends random definitions to a server. No statement may panic, fail with an
// internal error, or hang. The catalogs stay readable, and at the end sherd.check() finds nothing.
// SHERD_FUZZ is how long the test goes on with new seeds (make fuzz); SHERD_FUZZ_SEED is the first
// seed, to repeat a failure.
func TestRandomDefinitions(t *testing.T) {
	seed, length := uint64(1), time.Duration(0)
	if text := os.Getenv("SHERD_FUZZ"); text != "" {
		var err error
		length, err = time.ParseDuration(text)
		must(t, err)
		seed = uint64(time.Now().UnixNano())
	}
	if text := os.Getenv("SHERD_FUZZ_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		must(t, err)
	}
	end := time.Now().Add(length)
	for n := 0; n < 6 || time.Now().Before(end); n++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { randomDefinitions(t, seed) })
		seed++
	}
}

func randomDefinitions(t *testing.T, seed uint64) {
	w := newWorldOf(t, 1+int(seed%2)*2)
	r := &ddlRun{t: t, client: w.connect(t), gen: newDDLGen(seed)}
	r.run("CREATE SCHEMA s1")
	for n := range ddlStatements {
		r.run(r.gen.statement())
		if n%25 == 24 {
			r.catalogs()
		}
	}
	t.Logf("%d of %d statements succeeded", r.done, len(r.history))
	r.run("ROLLBACK")
	r.catalogs()
	if got := r.run(`SELECT "check", subject, detail FROM sherd.check() WHERE NOT ok`); got != "SELECT 0" {
		r.failf("the data is damaged: %s", got)
	}
}

// ddlRun is a session under random definitions.
type ddlRun struct {
	t       *testing.T
	client  *client
	gen     *ddlGen
	history []string
	done    int // statements that succeeded
}

// run sends a statement and returns its answer.
func (r *ddlRun) run(text string) string {
	r.history = append(r.history, text)
	defer func() {
		if p := recover(); p != nil {
			r.failf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(r.t.Context(), testTimeout)
	defer cancel()
	out := &recorder{env: r.client.s.Env}
	err := r.client.s.Simple(ctx, text, out)
	if err == nil {
		r.done++
		return strings.TrimSuffix(out.out.String(), "\n")
	}
	e := pgerr.From(err)
	if strings.HasPrefix(e.Code, "XX") || ctx.Err() != nil {
		r.failf("%s: %s", e.Code, e.Message)
	}
	return e.Error()
}

// failf ends the test with the statements that led to the failure.
func (r *ddlRun) failf(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("%s\nafter:\n%s;", fmt.Sprintf(format, args...), strings.Join(r.history, ";\n"))
}

// catalogs reads the catalogs as clients do, and the texts that functions make of definitions.
func (r *ddlRun) catalogs() {
	if got := r.run("SELECT 1"); got != "1\nSELECT 1" {
		return // the transaction has failed
	}
	for _, q := range []string{
		"SELECT pg_get_indexdef(indexrelid), pg_get_indexdef(indexrelid, 1, true), pg_get_expr(indexprs, indrelid), " +
			"pg_get_expr(indpred, indrelid) FROM pg_index",
		"SELECT conrelid::regclass, conname, pg_get_constraintdef(oid, true), conkey, confkey FROM pg_constraint",
		"SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef",
		"SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod), attnum, attnotnull, attidentity, " +
			"attgenerated FROM pg_attribute WHERE attrelid >= 16384",
		"SELECT oid::regclass, relkind, reltype::regtype, reltuples FROM pg_class WHERE oid >= 16384",
		"SELECT * FROM information_schema.columns WHERE table_schema IN ('public', 's1')",
		"SELECT classid, objid, objsubid, pg_describe_object(classid, objid, objsubid), refobjid, deptype " +
			"FROM pg_depend WHERE objid >= 16384",
		"SELECT * FROM pg_sequences", "SELECT * FROM pg_indexes WHERE schemaname <> 'pg_catalog'",
		"SELECT oid::regtype, typname, typrelid::regclass FROM pg_type WHERE oid >= 16384",
		"SELECT * FROM sherd.jobs",
	} {
		if got := r.run(q); strings.HasPrefix(got, "ERROR") {
			r.failf("%s: %s", q, got)
		}
		r.history = r.history[:len(r.history)-1]
	}
}

// TestRandomDefinitionsParse: nearly everything that the generator writes is SQL. After a mistake
// in the generator, the test above would test nothing.
func TestRandomDefinitionsParse(t *testing.T) {
	g, bad := newDDLGen(7), 0
	for range 2000 {
		if _, err := parse.Parse(g.statement()); err != nil {
			bad++
			t.Log(err)
		}
	}
	if bad > 100 {
		t.Errorf("%d of 2000 statements are no SQL", bad)
	}
}
