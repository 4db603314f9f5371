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

// warn keeps a warning for the client.
func (r *request) warn(code, format string, args ...any) {
	r.notice(&pgerr.Error{Severity: "WARNING", Code: code, Message: fmt.Sprintf(format, args...)})
}

// warnf is warn for a warning that has no code of its own.
func (r *request) warnf(format string, args ...any) { r.warn(pgerr.Warning, format, args...) }
