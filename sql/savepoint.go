package sql

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
)

// savepoint is a place in an explicit transaction to which ROLLBACK TO returns, and the beginning of a subtransaction.
type savepoint struct {
	name      string
	mark      exec.Mark
	locks     int // taken before
	draft     *draft
	deferrals deferrals
	said      said
	readOnly  bool // the mode around: a subtransaction's own ends with it
}

// nest is how deep the session is in transactions: 0 is outside of any, 1 in one, more in its savepoints.
func (s *Session) nest() int {
	if s.tx == nil {
		return 0
	}
	return 1 + len(s.tx.savepoints)
}

// needBlock refuses a statement that makes sense only between BEGIN and COMMIT.
func (s *Session) needBlock(what string) error {
	if s.tx == nil || !s.tx.explicit {
		return pgerr.New(pgerr.NoActiveSQLTransaction, "%s can only be used in transaction blocks", what)
	}
	return nil
}

// savepointStmt is SAVEPOINT. A name may be given again: it hides the earlier one.
func (s *Session) savepointStmt(name string, w ResultWriter) error {
	if err := s.needBlock("SAVEPOINT"); err != nil {
		return err
	}
	t := s.tx
	t.savepoints = append(t.savepoints, savepoint{name: name, mark: t.parts.Mark(), locks: t.lockMark(), draft: t.draft, deferrals: t.deferrals, said: t.said, readOnly: t.modes.readOnly})
	return w.Complete("SAVEPOINT")
}

// find gives the place of the innermost savepoint of a name.
func (t *transaction) find(name string) (int, error) {
	for i := len(t.savepoints) - 1; i >= 0; i-- {
		if t.savepoints[i].name == name {
			return i, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidSavepoint, `savepoint "%s" does not exist`, name)
}

// releaseStmt is RELEASE: what happened since the savepoint becomes part of what is around it.
func (s *Session) releaseStmt(name string, w ResultWriter) error {
	if err := s.needBlock("RELEASE SAVEPOINT"); err != nil {
		return err
	}
	i, err := s.tx.find(name)
	if err != nil {
		return err
	}
	nest := i + 2 // of what is released
	for _, p := range s.portals {
		p.nest = min(p.nest, nest-1)
	}
	if s.vars.end(true, nest) {
		s.stale, s.unreported = true, true
	}
	s.tx.modes.readOnly = s.tx.savepoints[i].readOnly
	s.tx.savepoints = s.tx.savepoints[:i]
	return w.Complete("RELEASE")
}

// rollbackToStmt is ROLLBACK TO: it undoes what happened since the savepoint, which stays, and ends the failed state.
func (s *Session) rollbackToStmt(name string, w ResultWriter) error {
	if err := s.needBlock("ROLLBACK TO SAVEPOINT"); err != nil {
		return err
	}
	i, err := s.tx.find(name)
	if err != nil {
		return err
	}
	s.undoTo(i)
	s.tx.savepoints = s.tx.savepoints[:i+1]
	s.tx.failed = false
	if err := s.settingsChanged(w); err != nil {
		return err
	}
	return w.Complete("ROLLBACK")
}

// undoTo undoes what happened since savepoint i: writes and the locks taken since, settings, cursors. A cursor of the time before goes on where
// it stands, which may be on rows that were read since.
func (s *Session) undoTo(i int) {
	t, p := s.tx, &s.tx.savepoints[i]
	s.closeSince(i + 2)
	s.settleSince(p.mark)
	t.parts.RollbackTo(p.mark)
	t.draft, t.deferrals, t.said = p.draft, p.deferrals, p.said
	t.unlockTo(p.locks)
	t.modes.readOnly = p.readOnly
	if s.vars.end(false, i+2) {
		s.stale, s.unreported = true, true
	}
}

// closeSince closes the portals opened at a level of nesting or deeper.
func (s *Session) closeSince(nest int) {
	for name, p := range s.portals {
		if p.nest >= nest {
			s.ClosePortal(name)
		}
	}
}
