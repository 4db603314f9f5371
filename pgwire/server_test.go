package pgwire

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/session"
)

// scriptConfig serves script sessions: the role postgres has no password, alice has one, and of the
// databases only "nowhere" is missing.
func scriptConfig() Config {
	return Config{
		NewSession: func(_ context.Context, p session.StartupParams) (Session, error) {
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
	return serveOn(t, cfg, l), l.Addr().String()
}

// serveOn serves cfg on a listener until the test ends.
func serveOn(t testing.TB, cfg Config, l net.Listener) *Server {
	t.Helper()
	s := NewServer(cfg)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// pipes listens for connections within the process: unlike those of a port they can be in a bubble
// of testing/synctest.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- localConn{server}
	return client
}

// localConn is the server's side of a pipe, whose client is on this machine.
type localConn struct{ net.Conn }

func (localConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case nc := <-p.conns:
		return nc, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func traceServer(t *testing.T) string {
	_, addr := startServer(t, scriptConfig())
	return addr
}

// aliceVerifier is what PostgreSQL 15 keeps of the password "secret".
const aliceVerifier = "SCRAM-SHA-256$4096:pY5woOFkId0MrJnbUA8huw==$iecR/HgNQyEYIFaBUrkebvPn4IGBaQ22bQoj4UWz3H0=:9cckO43Zdt7Nf+NXdisxqLOfR4ZWjIiojmYlWYeEC2Q="
