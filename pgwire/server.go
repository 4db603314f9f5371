package pgwire

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/session"
)

// Config says what a Server serves. Only NewSession and Authenticate are required.
type Config struct {
	// NewSession opens a session for an authenticated client.
	NewSession func(ctx context.Context, p session.StartupParams) (Session, error)
	// Authenticate returns the SCRAM verifier of a role, "" if it has no password; ok is false if
	// there is no such role.
	Authenticate func(user string) (verifier string, ok bool)

	// CancelElsewhere forwards a request to cancel to the node of another process number, without
	// waiting for it. nil: there are no other nodes.
	CancelElsewhere func(pid, secret uint32)

	FirstPID       uint32        // the first process number is one above it (monitor.FirstPID)
	TLS            *tls.Config   // nil: SSLRequest is answered 'N'
	MaxConnections int           // 0: 10,000
	MaxMessage     int           // bytes of a message's body; 0: 256 MiB
	StartupTimeout time.Duration // for start-up and authentication; 0: one minute, as authentication_timeout
	CheckInterval  time.Duration // how long a statement runs before its client is checked; 0: one second
	Log            *slog.Logger  // nil: slog.Default()
}

func (c *Config) setDefaults() {
	if c.MaxConnections == 0 {
		c.MaxConnections = 10_000
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = 256 << 20
	}
	c.MaxMessage = min(c.MaxMessage, largeMessage)
	if c.StartupTimeout == 0 {
		c.StartupTimeout = time.Minute
	}
	if c.CheckInterval == 0 {
		c.CheckInterval = time.Second
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
}

// Server accepts clients on any number of listeners.
type Server struct {
	cfg       Config
	pool      chunks
	mockNonce [32]byte // makes the salts of roles that do not exist
	stop      chan struct{}
	stopOnce  sync.Once

	mu        sync.Mutex
	listeners map[net.Listener]struct{} // guarded by mu
	conns     map[uint32]*conn          // by pid; guarded by mu
	lastPID   uint32                    // guarded by mu
	draining  bool                      // guarded by mu
	wg        sync.WaitGroup            // one for each connection
}

// NewServer makes a server; Serve starts it.
func NewServer(cfg Config) *Server {
	cfg.setDefaults()
	s := &Server{
		cfg:       cfg,
		stop:      make(chan struct{}),
		listeners: map[net.Listener]struct{}{},
		conns:     map[uint32]*conn{},
	}
	randomBytes(s.mockNonce[:])
	go s.watchClients()
	return s
}

// register assigns a pid and a secret to c. over is by how many connections the server then exceeds
// its limit.
func (s *Server) register(c *conn) (over int, draining bool) {
	var secret [4]byte
	randomBytes(secret[:])
	c.secret = binary.BigEndian.Uint32(secret[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return 0, true
	}
	for {
		s.lastPID = (s.lastPID + 1) % monitor.PIDsOfNode
		c.pid = s.cfg.FirstPID + s.lastPID
		if _, taken := s.conns[c.pid]; !taken && s.lastPID != 0 {
			break
		}
	}
	s.conns[c.pid] = c
	s.wg.Add(1)
	return len(s.conns) - s.cfg.MaxConnections, false
}

func (s *Server) unregister(c *conn) {
	s.mu.Lock()
	delete(s.conns, c.pid)
	s.mu.Unlock()
}

// Connections returns how many clients are connected.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// randomBytes fills b; crypto/rand does not fail on the systems that Go supports.
func randomBytes(b []byte) { _, _ = rand.Read(b) }
