package sql

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/stmt"
)

// hooks are what the session does for the executor.
func (s *Session) hooks() exec.Hooks {
	return exec.Hooks{
		System:     s.systemRows,
		CompleteID: s.completeID,
		Notice:     s.notice,
	}
}

// notice keeps a notice for the client until the statement's result is written.
func (s *Session) notice(n *pgerr.Error) { s.notices = append(s.notices, n) }

// sayNow sends a notice at once, where the statement is one that can; otherwise with the others.
func (s *Session) sayNow(n *pgerr.Error) error {
	if s.writer == nil {
		s.notice(n)
		return nil
	}
	if err := s.sendNotices(s.writer); err != nil {
		return err
	}
	if h, ok := s.writer.(*stmt.HoldingWriter); ok {
		return h.NoticeNow(n)
	}
	return s.writer.Notice(n)
}

// sendNotices sends what notice kept.
func (s *Session) sendNotices(w stmt.ResultWriter) error {
	list := s.notices
	s.notices = nil
	for _, n := range list {
		if err := w.Notice(n); err != nil {
			return err
		}
	}
	return nil
}
