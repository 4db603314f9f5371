package sql

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/stmt"
)

// nest returns how deep the session is in transactions: 0 outside of any, 1 in one, more in its
// savepoints.
func (s *Session) nest() int {
	if s.tx == nil {
		return 0
	}
	return 1 + s.tx.Depth()
}

// needBlock refuses a statement that makes sense only between BEGIN and COMMIT.
func (s *Session) needBlock(what string) error {
	if s.tx == nil || !s.tx.Explicit {
		return pgerr.New(pgerr.NoActiveSQLTransaction, "%s can only be used in transaction blocks", what)
	}
	return nil
}

// savepointStmt runs SAVEPOINT. A name may be used again: it hides the earlier savepoint.
func (s *Session) savepointStmt(name string, w stmt.ResultWriter) error {
	if err := s.needBlock("SAVEPOINT"); err != nil {
		return err
	}
	t := s.tx
	t.Savepoint(name)
	t.kept = append(t.kept, t.waiting())
	return w.Complete("SAVEPOINT")
}

// releaseStmt runs RELEASE: what was done since the savepoint becomes part of the surrounding
// level.
func (s *Session) releaseStmt(name string, w stmt.ResultWriter) error {
	if err := s.needBlock("RELEASE SAVEPOINT"); err != nil {
		return err
	}
	i, err := s.tx.FindSavepoint(name)
	if err != nil {
		return err
	}
	nest := i + 2 // the level of the first savepoint released
	for _, p := range s.portals {
		p.nest = min(p.nest, nest-1)
	}
	s.vars.End(true, nest)
	s.tx.ReleaseSavepoint(i)
	s.tx.kept = s.tx.kept[:i]
	return w.Complete("RELEASE")
}

// rollbackToStmt runs ROLLBACK TO: it undoes what was done since the savepoint, which stays, and
// ends the failed state.
func (s *Session) rollbackToStmt(name string, w stmt.ResultWriter) error {
	if err := s.needBlock("ROLLBACK TO SAVEPOINT"); err != nil {
		return err
	}
	i, err := s.tx.FindSavepoint(name)
	if err != nil {
		return err
	}
	s.undoTo(i)
	s.tx.ForgetAfter(i)
	s.tx.kept = s.tx.kept[:i+1]
	s.tx.failed = false
	if err := s.reportSettings(w); err != nil {
		return err
	}
	return w.Complete("ROLLBACK")
}

// undoTo undoes what was done since savepoint i: writes, locks, settings and cursors. A cursor that
// is older than the savepoint keeps its position, even if that is on rows read since.
func (s *Session) undoTo(i int) {
	t := s.tx
	s.closeSince(i + 2)
	s.settleSince(t.MarkOf(i))
	t.UndoTo(i)
	t.restore(t.kept[i])
	s.vars.End(false, i+2)
}

// closeSince closes the portals opened at a level of nesting or deeper.
func (s *Session) closeSince(nest int) {
	for name, p := range s.portals {
		if p.nest >= nest {
			s.ClosePortal(name)
		}
	}
}
