package system_test

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/testsql"
)

// TestFunctions checks what functions return that ask for the session.
func TestFunctions(t *testing.T) {
	n := testsql.Open(t, 1)
	n.Define("CREATE TABLE t (k text PRIMARY KEY, who text CHECK (who = current_user))")
	n.Must("INSERT INTO t VALUES ('a', 'postgres')")
	testsql.WantCode(t, n.Run("INSERT INTO t VALUES ('b', 'ann')"), pgerr.CheckViolation)
	for text, want := range map[string]string{
		"session_user":                        "postgres",
		"current_database()":                  "postgres",
		"current_schema()":                    "public",
		"current_setting('application_name')": "sherd",
		"current_setting('no.such', true)":    "null",
		"pg_backend_pid()":                    "0",
		"'t'::regclass":                       "t",
		"to_regclass('no_such')":              "null",
		"current_query()":                     "SELECT (current_query())::text",
		"statement_timestamp() >= now()":      "true",
		"pg_postmaster_start_time() < now()":  "true",
		"random() < 1":                        "true",
	} {
		if got := n.Rows("SELECT (" + text + ")::text"); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := n.Rows("SELECT version()"); !strings.HasPrefix(got, "PostgreSQL 15") {
		t.Errorf("got %s", got)
	}
}

// TestNoSession checks that functions which need a client's session fail.
func TestNoSession(t *testing.T) {
	n := testsql.Open(t, 1)
	for _, text := range []string{
		"lastval()", "set_config('application_name', 'x', false)", "pg_advisory_xact_lock(1)", "pg_export_snapshot()",
		"pg_notify('c', 'x')", "pg_cancel_backend(1)", "txid_current()", "pg_database_size('postgres')",
	} {
		testsql.WantCode(t, n.Run("SELECT "+text), pgerr.FeatureNotSupported)
	}
}
