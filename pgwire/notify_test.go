package pgwire

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/txblock"
)

// listeningSession has notifications as the test puts them there.
type listeningSession struct {
	*scriptSession
	params session.StartupParams
	limit  time.Duration

	mu   sync.Mutex
	list []notify.Notification
}

func (s *listeningSession) Notifications() []notify.Notification {
	if s.Status() != txblock.Idle {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

func (s *listeningSession) IdleLimit() (time.Duration, *pgerr.Error) {
	return s.limit, pgerr.Fatal("57P05", "too late")
}

// say is what another session does.
func (s *listeningSession) say(text string) {
	s.mu.Lock()
	s.list = append(s.list, notify.Notification{Channel: "x", Payload: text, PID: 7})
	s.mu.Unlock()
	s.params.Handle.Notify()
}

func listening(t *testing.T, limit time.Duration) (*listeningSession, *client) {
	cfg := scriptConfig()
	sessions := make(chan *listeningSession, 1)
	cfg.NewSession = func(_ context.Context, p session.StartupParams) (Session, error) {
		s := &listeningSession{scriptSession: newScriptSession(p), params: p, limit: limit}
		sessions <- s
		return s, nil
	}
	_, addr := startServer(t, cfg)
	c := connect(t, addr)
	return <-sessions, c
}

// hears reads a notification, and returns what it says.
func (c *client) hears() string {
	c.t.Helper()
	typ, body := c.read()
	if typ != 'A' {
		c.t.Fatalf("message %c: %q", typ, body)
	}
	return strings.ReplaceAll(string(body[4:]), "\x00", " ")
}

// TestNotificationWhileIdle: a client that waits is told at once, one at work before ReadyForQuery,
// one in a transaction after it.
func TestNotificationWhileIdle(t *testing.T) {
	for _, limit := range []time.Duration{0, time.Hour} {
		s, c := listening(t, limit)
		for _, text := range []string{"one", "two"} {
			s.say(text)
			if got := c.hears(); got != "x "+text+" " {
				t.Errorf("heard %q", got)
			}
		}
		c.query("begin")
		c.until('Z')
		s.say("three")
		c.query("select 1")
		c.until('Z')
		c.query("commit")
		c.until('C')
		if got := c.hears(); got != "x three " {
			t.Errorf("heard %q", got)
		}
		if typ, _ := c.read(); typ != 'Z' {
			t.Errorf("then %c", typ)
		}
		for range 100 { // what is said races with what the client says
			go s.say("four")
			c.query("select 1")
			c.until('Z')
		}
		s.say("five")
		for c.hears() != "x five " {
		}
	}
}

// TestNotificationAndIdleLimit: what is said to a client, and be it all the time, does not make it
// less idle.
func TestNotificationAndIdleLimit(t *testing.T) {
	s, c := listening(t, 300*time.Millisecond)
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			s.say("one")
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	if code := c.failure(); code != "57P05" {
		t.Errorf("SQLSTATE %s", code)
	}
}
