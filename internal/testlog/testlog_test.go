package testlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// recorder is a test that only notes that it failed.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Cleanup(func())            {}
func (r *recorder) Errorf(f string, a ...any) { r.failed += f }

func TestRecoveredPanicFails(t *testing.T) {
	r := &recorder{TB: t}
	log := New(r).With("on", 1).WithGroup("g")
	log.Error("a fault", "error", "x")
	if r.failed != "" {
		t.Fatal("an error that is no panic has failed the test")
	}
	log.Error("panic in a session", "panic", "index out of range", "stack", "goroutine 1")
	if r.failed == "" {
		t.Fatal("a recovered panic has not failed the test")
	}
}

func TestPanicsOfAProcess(t *testing.T) {
	for _, handler := range []func(*bytes.Buffer) slog.Handler{
		func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b bytes.Buffer
		log := slog.New(handler(&b))
		log.Error("a fault", "error", "do not panic")
		log.Error("panic in a session", "pid", 7, "panic", "index out of range", "stack", "a\nb")
		if got := Panics(b.String()); len(got) != 1 || !strings.Contains(got[0], "index out of range") {
			t.Errorf("found %q in:\n%s", got, &b)
		}
	}
}
