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
		two.Error("failed to write down", "error", "disk full")
		one.Info("entering follower state")
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "disk full") {
		t.Errorf("the disk once, and the server not yet:\n%s", got)
	}
	base.Warn("of others")
	base.Warn("of others")
	if got := strings.Count(out.String(), "of others"); got != 2 {
		t.Errorf("%d lines of others", got)
	}
	now := time.Now()
	type call struct {
		after   time.Duration
		skipped int
		ok      bool
	}
	for _, c := range []struct {
		what  string
		trial bool
		calls []call
	}{
		{"at once", false,
			[]call{
				{0, 0, true}, {time.Second, 0, false}, {2 * time.Second, 0, false}, {quietTime, 2, true},
				{quietTime + time.Second, 0, false},
			}},
		{"on trial", true,
			[]call{
				{0, 0, false}, {time.Second, 0, false}, {firstTime, 1, true}, {firstTime + time.Second, 0, false},
				{firstTime + quietTime, 1, true},
			}},
		{"once an hour", true,
			[]call{
				{0, 0, false}, {time.Hour, 0, false}, {2 * time.Hour, 0, false}, {2*time.Hour + firstTime, 0, true},
			}},
	} {
		r := &repeats{warnings: map[string]*warning{}}
		for i, want := range c.calls {
			if skipped, ok := r.pass("x", c.trial, now.Add(want.after)); skipped != want.skipped || ok != want.ok {
				t.Errorf("%s, %d: %d, %v", c.what, i, skipped, ok)
			}
		}
	}
}
