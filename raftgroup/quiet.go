package raftgroup

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	quietTime = time.Minute     // how long a warning of the library is not said again
	firstTime = 3 * time.Second // how long one about another server must go on to be said: a replica that is being opened, or a node that starts again, is none
)

// Quieten gives a handler under which the Raft library says the same of the same server once a minute, with how often it would have: with a node down
// every group warns several times a second, and with one that starts it does for a moment. All groups that log to it, or to one made of it, count together. What is no warning, and what others log, passes.
func Quieten(h slog.Handler) slog.Handler { return &quiet{h, &repeats{said: map[string]*said{}}} }

// quiet is a handler that knows what was said.
type quiet struct {
	slog.Handler
	repeats *repeats
}

// WithAttrs implements slog.Handler.
func (q *quiet) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &quiet{q.Handler.WithAttrs(attrs), q.repeats}
}

// WithGroup implements slog.Handler.
func (q *quiet) WithGroup(name string) slog.Handler {
	return &quiet{q.Handler.WithGroup(name), q.repeats}
}

// repeats counts what is said again and again.
type repeats struct {
	mu   sync.Mutex
	said map[string]*said // guarded by mu
}

type said struct {
	at      time.Time // when it was said last; where it never was, when it was to be said first
	never   bool
	skipped int // since then
}

// maxSaid bounds what is remembered; there are few messages, and few servers.
const maxSaid = 1024

// pass tells whether something is to be said now, and how often it was not since the last time. What is on trial must go on for a while first.
func (r *repeats) pass(key string, trial bool, now time.Time) (skipped int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.said[key]
	if s == nil || s.never && now.Sub(s.at) >= quietTime { // what was on trial long ago has not gone on
		if len(r.said) >= maxSaid {
			clear(r.said)
		}
		r.said[key] = &said{at: now, never: trial}
		return 0, !trial
	}
	wait := quietTime
	if s.never {
		wait = firstTime
	}
	if now.Sub(s.at) < wait {
		s.skipped++
		return 0, false
	}
	skipped, *s = s.skipped, said{at: now}
	return skipped, true
}

// log says a warning, if it was not said just before.
func (q *quiet) log(s *slog.Logger, msg string, args []any) {
	server := about(args)
	skipped, ok := q.repeats.pass(msg+server, server != "", time.Now())
	if !ok {
		return
	}
	if skipped > 0 {
		args = append(args[:len(args):len(args)], "skipped", skipped)
	}
	s.Log(context.Background(), level(hclog.Error), msg, args...)
}

// about gives which server a message is about, "" where it is about none.
func about(args []any) string {
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "peer", "server-id", "to", "target":
			return " " + fmt.Sprint(args[i+1])
		}
	}
	return ""
}
