package pgwire

import (
	"context"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// killTime is how long Shutdown waits for statements after it has cancelled them.
const killTime = 2 * farewellTime

// Shutdown stops accepting, ends idle connections with 57P01 and waits until the others have
// finished their transaction. When ctx is done it cancels what still runs and closes the rest; it
// returns ctx's error then.
func (s *Server) Shutdown(ctx context.Context) error {
	for _, c := range s.beginDrain() {
		c.drain()
	}
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, c := range s.connections() {
		c.kill(adminShutdown())
	}
	select {
	case <-done:
	case <-time.After(killTime):
		s.cfg.Log.Error("statements do not end though they were cancelled", "connections", s.Connections())
	}
	return ctx.Err()
}

// Close ends everything at once.
func (s *Server) Close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Shutdown(ctx)
}

// beginDrain closes the listeners and returns the connections there are.
func (s *Server) beginDrain() []*conn {
	s.stopOnce.Do(func() { close(s.stop) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for l := range s.listeners {
		_ = l.Close()
	}
	conns := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

func adminShutdown() *pgerr.Error {
	return pgerr.Fatal(pgerr.AdminShutdown, "terminating connection due to administrator command")
}
