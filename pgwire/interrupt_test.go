package pgwire

import (
	"context"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/stmt"
)

// signalConfig is scriptConfig with sessions that tell when a statement starts to sleep and when
// they are closed.
func signalConfig() (cfg Config, started, closed chan struct{}) {
	cfg = scriptConfig()
	started, closed = make(chan struct{}, 10), make(chan struct{}, 10)
	cfg.NewSession = func(_ context.Context, p session.StartupParams) (Session, error) {
		s := &signalSession{scriptSession: newScriptSession(p), started: started}
		s.closed = func() { closed <- struct{}{} }
		return s, nil
	}
	return cfg, started, closed
}

type signalSession struct {
	*scriptSession
	started chan struct{}
}

func (s *signalSession) Simple(ctx context.Context, text string, w stmt.ResultWriter) error {
	s.started <- struct{}{}
	return s.scriptSession.Simple(ctx, text, w)
}

func TestCancel(t *testing.T) {
	cfg, started, _ := signalConfig()
	_, addr := startServer(t, cfg)
	c := connect(t, addr)
	cancelRequest(t, addr, c.pid, c.secret) // nothing runs: nothing happens
	c.query("select 1")
	<-started
	c.until('Z')

	c.query("select pg_sleep(60)")
	<-started
	cancelRequest(t, addr, c.pid, c.secret+1) // W5
	cancelRequest(t, addr, c.pid+1, c.secret)
	cancelRequest(t, addr, c.pid, c.secret)
	if code := c.failure(); code != "57014" {
		t.Errorf("SQLSTATE %s", code)
	}
	c.until('Z')
	c.query("select 1") // the next statement is not cancelled
	c.until('Z')
}

func TestLostClientEndsItsStatement(t *testing.T) {
	cfg, started, closed := signalConfig()
	cfg.CheckInterval = 5 * time.Millisecond
	_, addr := startServer(t, cfg)
	c := connect(t, addr)
	c.query("select pg_sleep(60)")
	<-started
	c.query("select 1") // unread data does not hide the end
	_ = c.nc.Close()
	select {
	case <-closed:
	case <-time.After(testTimeout):
		t.Fatal("the statement still runs")
	}
}

func TestShutdownEndsIdleConnections(t *testing.T) {
	cfg, started, closed := signalConfig()
	s, addr := startServer(t, cfg)
	idle, busy, transaction := connect(t, addr), connect(t, addr), connect(t, addr)
	transaction.query("begin")
	<-started
	transaction.until('Z')
	busy.query("select pg_sleep(0.2)")
	<-started

	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	if code := idle.failure(); code != "57P01" {
		t.Errorf("idle connection: SQLSTATE %s", code)
	}
	<-closed
	busy.until('Z') // the statement ends in peace
	if code := busy.failure(); code != "57P01" {
		t.Errorf("busy connection: SQLSTATE %s", code)
	}
	transaction.query("select 1")
	transaction.until('Z')
	transaction.query("commit")
	transaction.until('Z')
	if code := transaction.failure(); code != "57P01" {
		t.Errorf("connection in a transaction: SQLSTATE %s", code)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestShutdownCancelsWhatDoesNotEnd(t *testing.T) {
	cfg, started, _ := signalConfig()
	s, addr := startServer(t, cfg)
	c, inTransaction := connect(t, addr), connect(t, addr)
	inTransaction.query("begin")
	<-started
	inTransaction.until('Z')
	c.query("select pg_sleep(60)")
	<-started
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); err != context.Canceled {
		t.Errorf("Shutdown: %v", err)
	}
	for name, c := range map[string]*client{"sleeping": c, "in a transaction": inTransaction} {
		if code := c.failure(); code != "57P01" {
			t.Errorf("connection %s: SQLSTATE %s", name, code)
		}
	}
}

// A session that others end says goodbye whatever it is doing, and is closed.
func TestTerminate(t *testing.T) {
	for _, doing := range []string{"nothing", "a transaction", "a statement"} {
		t.Run(doing, func(t *testing.T) {
			cfg, started, closed := signalConfig()
			handles := make(chan session.Handle, 1)
			open := cfg.NewSession
			cfg.NewSession = func(ctx context.Context, p session.StartupParams) (Session, error) {
				handles <- p.Handle
				return open(ctx, p)
			}
			_, addr := startServer(t, cfg)
			c := connect(t, addr)
			h := <-handles
			switch doing {
			case "a transaction":
				c.query("begin")
				<-started
				c.until('Z')
			case "a statement":
				c.query("select pg_sleep(60)")
				<-started
			}
			h.Terminate(adminShutdown())
			if code := c.failure(); code != "57P01" {
				t.Errorf("SQLSTATE %s", code)
			}
			<-closed
			h.Terminate(adminShutdown()) // too late: nothing happens
			h.Interrupt(userCancel())
		})
	}
}

// idleSession lets its client be silent for as long as it takes before the first statement, and
// then for a moment.
type idleSession struct {
	*signalSession
	limit time.Duration
	ran   bool
}

func (s *idleSession) Simple(ctx context.Context, text string, w stmt.ResultWriter) error {
	s.ran = true
	return s.signalSession.Simple(ctx, text, w)
}

func (s *idleSession) IdleLimit() (time.Duration, *pgerr.Error) {
	if !s.ran {
		return time.Hour, pgerr.Fatal("57P05", "after an hour")
	}
	return s.limit, pgerr.Fatal("25P03", "too late")
}

// A client that says nothing is ended after the session's limit. Time in a statement does not
// count.
func TestIdleLimit(t *testing.T) {
	cfg, started, closed := signalConfig()
	open, limits := cfg.NewSession, make(chan time.Duration, 1)
	cfg.NewSession = func(ctx context.Context, p session.StartupParams) (Session, error) {
		s, err := open(ctx, p)
		return &idleSession{signalSession: s.(*signalSession), limit: <-limits}, err
	}
	_, addr := startServer(t, cfg)
	limits <- 20 * time.Millisecond
	c := connect(t, addr)
	c.query("select pg_sleep(0.1)")
	<-started
	c.until('Z')
	if code := c.failure(); code != "25P03" {
		t.Errorf("SQLSTATE %s", code)
	}
	<-closed
	limits <- 0
	client := connect(t, addr)
	for range 2 { // the deadline of a wait is not that of the next
		client.query("select 1")
		<-started
		client.until('Z')
	}
}
