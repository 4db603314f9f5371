package monitor

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

func newActivity(log *slog.Logger) *Activity {
	manager := locks.NewManager(txn.NewDetector(), log)
	return NewActivity(Client{
		PID: 7, User: "ann", Database: "shop", Role: 10, DatabaseID: 20, Remote: "10.0.0.1:5000",
		Opened: time.Now(), Locks: manager.NewSession(7), WaitsElsewhere: func() bool { return false },
	}, log)
}

// TestActivity follows a session from its start to the end of a statement.
func TestActivity(t *testing.T) {
	a := newActivity(slog.Default())
	a.SetApplication("app")
	a.Rest(Idle, false)
	row := a.Row()
	if row.PID != 7 || row.Role != 10 || row.Database != 20 || row.ClientHost != "10.0.0.1" || row.ClientPort != 5000 {
		t.Errorf("the client is %+v", row)
	}
	if row.State != "idle" || row.WaitType != "Client" || row.Query != "" || row.Application != "app" {
		t.Errorf("at the start it is %+v", row)
	}
	a.Run("SELECT 1")
	if row = a.Row(); row.State != "active" || row.WaitType != "" || row.Query != "SELECT 1" || row.QueryStarted.IsZero() {
		t.Errorf("while a statement runs it is %+v", row)
	}
	a.Rest(InTxn, true)
	if row = a.Row(); row.State != "idle in transaction" || row.Query != "SELECT 1" {
		t.Errorf("after the statement it is %+v", row)
	}
}

// TestStatementLog logs statements that took log_min_duration_statement, each once.
func TestStatementLog(t *testing.T) {
	var out bytes.Buffer
	a := newActivity(slog.New(slog.NewTextHandler(&out, nil)))
	a.Run("SELECT 1")
	a.Rest(Idle, false)
	if out.Len() > 0 {
		t.Errorf("logged by default: %s", out.String())
	}
	a.LogAfter(0)
	a.Run("SELECT 2")
	a.Run("SELECT 3") // of the same pipeline
	a.Rest(Idle, false)
	a.Rest(Idle, false)
	a.LogAfter(time.Hour)
	a.Run("SELECT 4")
	a.Rest(Idle, false)
	log := out.String()
	if strings.Count(log, "\n") != 2 || !strings.Contains(log, `text="SELECT 2"`) || !strings.Contains(log, `text="SELECT 3"`) ||
		!strings.Contains(log, "pid=7 role=ann database=shop") {
		t.Errorf("logged:\n%s", log)
	}
}
