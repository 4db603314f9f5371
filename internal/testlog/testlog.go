// Package testlog makes a panic that a server recovers from fail the test that started the server.
//
// A server answers such a panic with XX000 and continues. A test that expects any error, or whose
// own connections do not fail, would stay green. All places that recover log the panic as the
// attribute "panic" and its stack as "stack" (archtest checks that); New, Failing and Panics look
// for it:
//
//	node.Config{Logger: testlog.New(t)}         // servers within the test
//	if p := testlog.Panics(process.Log()); …    // servers in processes of their own
package testlog

import (
	"context"
	"log/slog"
	"regexp"
	"sync"
	"testing"
)

// Key is the attribute under which a recovered panic is logged.
const Key = "panic"

// New returns a logger that discards everything but recovered panics, which fail the test.
func New(t testing.TB) *slog.Logger { return slog.New(Failing(t, slog.DiscardHandler)) }

// Failing returns a handler that passes records on to h and fails the test when one reports a
// recovered panic.
func Failing(t testing.TB, h slog.Handler) slog.Handler {
	r := &reporter{t: t}
	t.Cleanup(r.end)
	return &handler{next: h, report: r}
}

// reporter fails a test as long as it runs: a server may log after that.
type reporter struct {
	t testing.TB

	mu    sync.Mutex
	ended bool // guarded by mu
}

func (r *reporter) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

func (r *reporter) fail(rec slog.Record, value, stack string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.t.Errorf("%s: %s\n%s", rec.Message, value, stack)
	}
}

type handler struct {
	next   slog.Handler
	report *reporter
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError || h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, rec slog.Record) error {
	value, stack := "", ""
	rec.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case Key:
			value = a.Value.String()
		case "stack":
			stack = a.Value.String()
		}
		return true
	})
	if value != "" {
		h.report.fail(rec, value, stack)
	}
	if !h.next.Enabled(ctx, rec.Level) {
		return nil
	}
	return h.next.Handle(ctx, rec)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.next.WithAttrs(attrs), h.report}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.next.WithGroup(name), h.report}
}

var panicLine = regexp.MustCompile(`(?m)^.*(?:level=ERROR|"level":"ERROR").*(?: panic=|"panic":).*$`)

// Panics returns the lines of a process's log that report recovered panics.
func Panics(log string) []string { return panicLine.FindAllString(log, -1) }
