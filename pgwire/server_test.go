package pgwire

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql"
)

// scriptConfig serves script sessions: the role postgres has no password, alice has one, and of the databases only "nowhere" is missing.
func scriptConfig() Config {
	return Config{
		NewSession: func(_ context.Context, p sql.StartupParams) (Session, error) {
			if p.Database == "nowhere" {
				return nil, pgerr.New(pgerr.InvalidCatalogName, `database "%s" does not exist`, p.Database)
			}
			return newScriptSession(p), nil
		},
		Authenticate: func(user string) (string, bool) {
			switch user {
			case "postgres":
				return "", true
			case "alice":
				return aliceVerifier, true
			}
			return "", false
		},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// startServer serves cfg on a loopback port until the test ends.
func startServer(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(cfg)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
	})
	return s, l.Addr().String()
}

func traceServer(t *testing.T) string {
	_, addr := startServer(t, scriptConfig())
	return addr
}

// aliceVerifier is what PostgreSQL 15 keeps of the password "secret".
const aliceVerifier = "SCRAM-SHA-256$4096:pY5woOFkId0MrJnbUA8huw==$iecR/HgNQyEYIFaBUrkebvPn4IGBaQ22bQoj4UWz3H0=:9cckO43Zdt7Nf+NXdisxqLOfR4ZWjIiojmYlWYeEC2Q="
