package raftgroup

import (
	"context"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// logger passes the Raft library's messages to slog, two levels lower: an election is no news to an
// operator. It implements hclog.Logger.
type logger struct {
	s    *slog.Logger
	name string
	args []any
}

func newLogger(s *slog.Logger, group string) hclog.Logger {
	return &logger{s: s.With("group", group), name: group}
}

func level(l hclog.Level) slog.Level {
	switch {
	case l >= hclog.Error:
		return slog.LevelWarn
	case l >= hclog.Info:
		return slog.LevelDebug
	}
	return slog.LevelDebug - 4
}

// Log implements hclog.Logger.
func (l *logger) Log(lv hclog.Level, msg string, args ...any) {
	if q, ok := l.s.Handler().(*quiet); ok && level(lv) >= slog.LevelWarn {
		q.log(l.s, msg, args)
		return
	}
	l.s.Log(context.Background(), level(lv), msg, args...)
}

// Trace implements hclog.Logger.
func (l *logger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }

// Debug implements hclog.Logger.
func (l *logger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }

// Info implements hclog.Logger.
func (l *logger) Info(msg string, args ...any) { l.Log(hclog.Info, msg, args...) }

// Warn implements hclog.Logger.
func (l *logger) Warn(msg string, args ...any) { l.Log(hclog.Warn, msg, args...) }

// Error implements hclog.Logger.
func (l *logger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l *logger) enabled(lv hclog.Level) bool {
	return l.s.Enabled(context.Background(), level(lv))
}

// IsTrace implements hclog.Logger.
func (l *logger) IsTrace() bool { return l.enabled(hclog.Trace) }

// IsDebug implements hclog.Logger.
func (l *logger) IsDebug() bool { return l.enabled(hclog.Debug) }

// IsInfo implements hclog.Logger.
func (l *logger) IsInfo() bool { return l.enabled(hclog.Info) }

// IsWarn implements hclog.Logger.
func (l *logger) IsWarn() bool { return l.enabled(hclog.Warn) }

// IsError implements hclog.Logger.
func (l *logger) IsError() bool { return l.enabled(hclog.Error) }

// ImpliedArgs implements hclog.Logger.
func (l *logger) ImpliedArgs() []any { return l.args }

// With implements hclog.Logger.
func (l *logger) With(args ...any) hclog.Logger {
	return &logger{s: l.s.With(args...), name: l.name, args: append(l.args[:len(l.args):len(l.args)], args...)}
}

// Name implements hclog.Logger.
func (l *logger) Name() string { return l.name }

// Named implements hclog.Logger.
func (l *logger) Named(name string) hclog.Logger { return l.ResetNamed(l.name + "." + name) }

// ResetNamed implements hclog.Logger.
func (l *logger) ResetNamed(name string) hclog.Logger {
	return &logger{s: l.s, name: name, args: l.args}
}

// SetLevel implements hclog.Logger; slog's handler decides.
func (l *logger) SetLevel(hclog.Level) {}

// GetLevel implements hclog.Logger.
func (l *logger) GetLevel() hclog.Level {
	if l.IsDebug() {
		return hclog.Debug
	}
	return hclog.Warn
}

// StandardLogger implements hclog.Logger.
func (l *logger) StandardLogger(o *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.StandardWriter(o), "", 0)
}

// StandardWriter implements hclog.Logger.
func (l *logger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer {
	return writer{l}
}

type writer struct{ l *logger }

func (w writer) Write(p []byte) (int, error) {
	w.l.Debug(string(p))
	return len(p), nil
}
