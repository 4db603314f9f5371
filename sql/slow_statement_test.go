package sql_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/sql/session"
)

// TestStatementLog checks which statements log_min_duration_statement logs.
func TestStatementLog(t *testing.T) {
	w := newWorld(t)
	var out bytes.Buffer // the session's goroutine is the test's
	cfg := w.cfg
	cfg.Logger = slog.New(slog.NewTextHandler(&out, nil))
	server := sql.NewServer(cfg)
	s, err := server.NewSession(t.Context(), session.StartupParams{User: "postgres", Database: "postgres", PID: 77})
	must(t, err)
	defer s.Close()
	c := &client{t: t, s: s}
	c.want("SELECT 1 AS before", "1\nSELECT 1")
	c.want("SET log_min_duration_statement = 0", "SET")
	c.want("SELECT 2 AS wanted", "2\nSELECT 1")
	must(t, s.Parse(t.Context(), "", "SELECT 3 AS prepared", nil))
	must(t, s.Bind(t.Context(), "", "", nil))
	d, err := s.DescribePortal(t.Context(), "")
	must(t, err)
	r := &recorder{env: s.Env}
	must(t, r.Describe(d.Columns))
	_, err = s.Execute(t.Context(), "", 0, r)
	must(t, err)
	must(t, s.Sync(t.Context()))
	c.want("SET log_min_duration_statement = '1h'", "SET")
	c.want("SELECT 4 AS after", "4\nSELECT 1")
	for text, want := range map[string]bool{"1 AS before": false, "2 AS wanted": true,
		"3 AS prepared": true, "4 AS after": false} {
		if got := strings.Contains(out.String(), text); got != want {
			t.Errorf("%s: logged %t\n%s", text, got, out.String())
		}
	}
	if !strings.Contains(out.String(), "duration=") || !strings.Contains(out.String(), "pid=77") ||
		!strings.Contains(out.String(), "database=postgres") {
		t.Error(out.String())
	}
}
