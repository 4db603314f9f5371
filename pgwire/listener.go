package pgwire

import (
	"errors"
	"net"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
)

// ErrServerClosed is returned by Serve after Shutdown or Close.
var ErrServerClosed = errors.New("pgwire: server closed")

const (
	keepAliveIdle     = time.Minute // a client whose machine vanished is found within about two minutes
	keepAliveInterval = 15 * time.Second
	keepAliveCount    = 4
	maxAcceptPause    = time.Second
	hopelessFactor    = 2 // connections above this multiple of the limit are refused before they say anything
)

// Serve accepts clients from l until the server is shut down, which closes l.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.draining {
		s.mu.Unlock()
		_ = l.Close()
		return ErrServerClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	var pause time.Duration
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.accept(nc)
		case errors.Is(err, net.ErrClosed):
			return s.closedReason(l, err)
		default:
			// For instance, no file descriptors are left: connections that end make room.
			pause = min(max(2*pause, 5*time.Millisecond), maxAcceptPause)
			s.cfg.Log.Warn("accepting a client failed", "error", err, "pause", pause)
			select {
			case <-time.After(pause):
			case <-s.stop:
				return ErrServerClosed
			}
		}
	}
}

// closedReason distinguishes a listener that Shutdown closed from one closed otherwise.
func (s *Server) closedReason(l net.Listener, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
	if s.draining {
		return ErrServerClosed
	}
	return err
}

func (s *Server) accept(nc net.Conn) {
	if tc, ok := nc.(*net.TCPConn); ok {
		// TCP_NODELAY is Go's default.
		_ = tc.SetKeepAliveConfig(
			net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount},
		)
	}
	c := newConn(s, nc)
	over, draining := s.register(c)
	if draining {
		_ = nc.Close()
		return
	}
	if over > 0 {
		c.refusal = pgerr.Fatal(pgerr.TooManyConnections, "sorry, too many clients already")
	}
	if over > (hopelessFactor-1)*s.cfg.MaxConnections {
		_ = nc.Close()
		s.unregister(c)
		s.wg.Done()
		return
	}
	go c.run()
}
