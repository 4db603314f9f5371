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
	quietTime = time.Minute // a warning of the library is not repeated for so long
	// A warning about another server is first logged when it has been repeated for so long: a
	// replica that is being opened, or a node that restarts, is no reason for one.
	firstTime = 3 * time.Second
)

// Quieten returns a handler that logs a warning of the Raft library about one server once a minute,
// with the number of warnings that it has skipped: while a node is down every group warns several
// times a second, and while a node starts it does so for a moment. All groups that log to the
// handler, or to one derived from it, count together. Other levels and other loggers pass.
func Quieten(h slog.Handler) slog.Handler {
	return &quiet{h, &repeats{warnings: map[string]*warning{}}}
}

// quiet is a handler that limits repeated warnings.
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

// repeats counts repeated warnings.
type repeats struct {
	mu       sync.Mutex
	warnings map[string]*warning // guarded by mu
}

type warning struct {
	at      time.Time // when it was last logged; if never, when it first came
	never   bool
	skipped int // since at
}

// maxWarnings bounds the warnings that are remembered; there are few messages, and few servers.
const maxWarnings = 1024

// pass reports whether to log a warning now, and how many were skipped since it was last logged. If
// trial is set the warning must be repeated for firstTime before it is logged.
func (r *repeats) pass(key string, trial bool, now time.Time) (skipped int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.warnings[key]
	if s == nil || s.never && now.Sub(s.at) >= quietTime { // a trial that began long ago was not repeated
		if len(r.warnings) >= maxWarnings {
			clear(r.warnings)
		}
		r.warnings[key] = &warning{at: now, never: trial}
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
	skipped, *s = s.skipped, warning{at: now}
	return skipped, true
}

// log logs a warning unless it was logged just before.
func (q *quiet) log(s *slog.Logger, msg string, args []any) {
	server := serverOf(args)
	skipped, ok := q.repeats.pass(msg+server, server != "", time.Now())
	if !ok {
		return
	}
	if skipped > 0 {
		args = append(args[:len(args):len(args)], "skipped", skipped)
	}
	s.Log(context.Background(), level(hclog.Error), msg, args...)
}

// serverOf returns the server that a message is about, or "".
func serverOf(args []any) string {
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "peer", "server-id", "to", "target":
			return " " + fmt.Sprint(args[i+1])
		}
	}
	return ""
}
