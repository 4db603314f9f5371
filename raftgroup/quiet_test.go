package raftgroup

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestQuieten(t *testing.T) {
	var out bytes.Buffer
	base := slog.New(Quieten(slog.NewTextHandler(&out, nil)))
	one, two := newLogger(base, "one"), newLogger(base.With("on", 1), "two")
	for range 3 {
		one.Error("failed to heartbeat to", "peer", "n2", "error", "refused")
		two.Error("failed to heartbeat to", "peer", "n2", "error", "timeout")
		two.Error("failed to heartbeat to", "peer", "n3")
		one.Info("entering follower state")
	}
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("%d lines:\n%s", got, &out)
	}
	base.Warn("of others")
	base.Warn("of others")
	if got := strings.Count(out.String(), "of others"); got != 2 {
		t.Errorf("%d lines of others", got)
	}
	r := &repeats{said: map[string]*said{}}
	now := time.Now()
	for i, want := range []struct {
		after   time.Duration
		skipped int
		ok      bool
	}{{0, 0, true}, {time.Second, 0, false}, {2 * time.Second, 0, false}, {quietTime, 2, true}, {quietTime + time.Second, 0, false}} {
		if skipped, ok := r.pass("x", now.Add(want.after)); skipped != want.skipped || ok != want.ok {
			t.Errorf("%d: %d, %v", i, skipped, ok)
		}
	}
}
