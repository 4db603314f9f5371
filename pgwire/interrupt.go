package pgwire

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// interrupts are the ways in which other goroutines reach a connection: they cancel its statement,
// or wake it from waiting for the client.
type interrupts struct {
	// turn counts starts and ends of statements: it is odd while one runs. The watcher compares it
	// to detect that the same statement still runs, so that no statement has to read the clock.
	turn     atomic.Uint64
	lastTurn uint64 // the watcher's own

	mu       sync.Mutex
	ctx      context.Context         // of statements, replaced after it was cancelled; guarded by mu
	cancel   context.CancelCauseFunc // guarded by mu
	waiting  bool                    // for the client's next message, outside a transaction; guarded by mu
	draining bool                    // end when waiting; guarded by mu
	killed   *pgerr.Error            // end now; guarded by mu
	notified bool                    // look for notifications when waiting; guarded by mu
}

// begin starts a statement and returns its context. One context serves all statements until it is
// cancelled.
func (i *interrupts) begin() context.Context {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ctx == nil {
		i.ctx, i.cancel = context.WithCancelCause(context.Background())
		if i.killed != nil {
			i.cancel(i.killed)
		}
	}
	i.turn.Add(1)
	return i.ctx
}

// end ends the statement. A cancel that comes later finds nothing to cancel (W5).
func (i *interrupts) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.turn.Add(1)
	if i.ctx.Err() != nil {
		i.ctx, i.cancel = nil, nil
	}
}

// interrupt cancels the running statement, if there is one.
func (i *interrupts) interrupt(cause *pgerr.Error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.turn.Load()%2 == 1 {
		i.cancel(cause)
	}
}

// drain ends the connection as soon as it waits for its client outside a transaction.
func (c *conn) drain() {
	c.intr.mu.Lock()
	defer c.intr.mu.Unlock()
	c.intr.draining = true
	if c.intr.waiting {
		_ = c.raw.SetReadDeadline(time.Unix(1, 0))
	}
}

// kill ends the connection: the statement is cancelled, reading and writing stop.
func (c *conn) kill(cause *pgerr.Error) {
	c.intr.mu.Lock()
	defer c.intr.mu.Unlock()
	c.intr.killed = cause
	if c.intr.turn.Load()%2 == 1 {
		c.intr.cancel(cause)
	}
	_ = c.raw.SetReadDeadline(time.Unix(1, 0))
	_ = c.raw.SetWriteDeadline(time.Now().Add(farewellTime))
}

// farewellTime is how long a client may take to receive the last error.
const farewellTime = 2 * time.Second

// watchClients cancels statements whose client has disconnected. One goroutine serves all
// connections.
func (s *Server) watchClients() {
	tick := time.NewTicker(s.cfg.CheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		for _, c := range s.running() {
			if clientGone(c.raw) {
				c.intr.interrupt(pgerr.Fatal(pgerr.ConnectionFailure, "connection to client lost"))
			}
		}
	}
}

// running returns the connections that run the same statement as at the last call.
func (s *Server) running() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	var long []*conn
	for _, c := range s.conns {
		turn := c.intr.turn.Load()
		if turn%2 == 1 && turn == c.intr.lastTurn {
			long = append(long, c)
		}
		c.intr.lastTurn = turn
	}
	return long
}
