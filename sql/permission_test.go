package sql_test

import (
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/session"
)

// TestOptionsAtStart: options at the start of a session cannot set a superuser's parameter either.
func TestOptionsAtStart(t *testing.T) {
	w := newWorld(t)
	w.connect(t).want("CREATE ROLE plain LOGIN", "CREATE ROLE")
	_, err := w.server.NewSession(t.Context(), session.StartupParams{
		User: "plain", Database: "postgres", Settings: map[string]string{"options": "-c log_statement=all"},
	})
	if !pgerr.Is(err, pgerr.InsufficientPrivilege) {
		t.Errorf("at the start: %v", err)
	}
}
