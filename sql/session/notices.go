package session

import (
	"fmt"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
)

// notice keeps a notice for the client until the statement's result is written.
func (r *request) notice(n *pgerr.Error) { r.notices = append(r.notices, n) }

// sayNow sends a notice at once, if the statement can; otherwise it keeps it with the others.
func (r *request) sayNow(n *pgerr.Error) error {
	if r.writer == nil {
		r.notice(n)
		return nil
	}
	if err := r.sendNotices(r.writer); err != nil {
		return err
	}
	if h, ok := r.writer.(*stmt.HoldingWriter); ok {
		return h.NoticeNow(n)
	}
	return r.writer.Notice(n)
}

// sendNotices sends the notices that notice kept.
func (r *request) sendNotices(w stmt.ResultWriter) error {
	list := r.notices
	r.notices = nil
	for _, n := range list {
		if err := w.Notice(n); err != nil {
			return err
		}
	}
	return nil
}

// noticing runs a statement in which deferred triggers may fire, and sends their notices before its tag,
// or its error.
func (r *request) noticing(w stmt.ResultWriter, run func(w stmt.ResultWriter) error) error {
	err := run(&noticingWriter{w, r})
	if nerr := r.sendNotices(w); err == nil {
		err = nerr
	}
	return err
}

type noticingWriter struct {
	stmt.ResultWriter
	r *request
}

// Complete implements stmt.ResultWriter.
func (w *noticingWriter) Complete(tag string) error {
	if err := w.r.sendNotices(w.ResultWriter); err != nil {
		return err
	}
	return w.ResultWriter.Complete(tag)
}

// warn keeps a warning for the client.
func (r *request) warn(code, format string, args ...any) {
	r.notice(&pgerr.Error{Severity: "WARNING", Code: code, Message: fmt.Sprintf(format, args...)})
}

// warnf is warn for a warning that has no code of its own.
func (r *request) warnf(format string, args ...any) { r.warn(pgerr.Warning, format, args...) }
