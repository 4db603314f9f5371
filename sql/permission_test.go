package sql_test

import (
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql"
)

// TestSettingsOfSuperusers: only superusers can change a superuser's parameters, and parameters
// that are fixed at the start stay. Answers are PostgreSQL's.
func TestSettingsOfSuperusers(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("CREATE ROLE plain LOGIN", "CREATE ROLE")
	a.want("ALTER ROLE plain SET log_lock_waits = on", "ALTER ROLE")
	b := w.connectAs(t, "plain", sql.Handle{})
	denied := func(name string) string { return `permission denied to set parameter "` + name + `" (SQLSTATE 42501)` }
	const late = `parameter "log_connections" cannot be set after connection start (SQLSTATE 55P02)`
	script(b,
		"SHOW log_lock_waits", "on\nSHOW",
		"SET log_statement = 'all'", denied("log_statement"),
		"RESET log_statement", denied("log_statement"),
		"SELECT set_config('log_statement', 'all', false)", denied("log_statement"),
		"SET deadlock_timeout = '2s'", denied("deadlock_timeout"),
		"ALTER ROLE plain SET log_statement = 'all'", denied("log_statement"),
		"SET log_connections = on", late,
		"RESET ALL; SET plain.x = 1; SET work_mem = '5MB'", "RESET\nSET\nSET",
		"SHOW log_lock_waits", "on\nSHOW",
	)
	if err := a.s.Simple(t.Context(), "SET sherd.segment_size = '4MB'", &recorder{env: a.s.Env}); !pgerr.Is(err,
		pgerr.CantChangeRuntimeParam) ||
		!strings.Contains(pgerr.From(err).Hint, "ALTER SYSTEM SET sherd.segment_size") {
		t.Errorf("a parameter of the cluster: %v", err)
	}
	for text, hints := range map[string]bool{"SET sherd.gc_ttl = '1h'": true, "SET sherd.max_row_size = '1MB'": false,
		"ALTER SYSTEM SET sherd.max_row_size = '1MB'": false, "ALTER SYSTEM SET work_mem = '5MB'": true} {
		if err := a.s.Simple(
			t.Context(), text, &recorder{env: a.s.Env},
		); err == nil || hints != (pgerr.From(err).Hint != "") {
			t.Errorf("%s: %v, hint %q", text, err, pgerr.From(err).Hint)
		}
	}
	script(a, "SET log_statement = 'all'; SHOW log_statement", "SET\nall\nSHOW", "SET log_connections = on", late)
	_, err := w.server.NewSession(t.Context(), sql.StartupParams{
		User: "plain", Database: "postgres", Settings: map[string]string{"options": "-c log_statement=all"},
	})
	if !pgerr.Is(err, pgerr.InsufficientPrivilege) {
		t.Errorf("at the start: %v", err)
	}
}
