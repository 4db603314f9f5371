package txblock

import (
	"github.com/sherddb/sherd/sql/stmt"
)

// savepointStmt runs SAVEPOINT. A name may be used again: it hides the earlier savepoint.
func (b *Block) savepointStmt(name string, w stmt.ResultWriter) error {
	if err := b.requireExplicit("SAVEPOINT"); err != nil {
		return err
	}
	t := b.Tx
	t.Savepoint(name)
	t.kept = append(t.kept, t.Waiting())
	return w.Complete("SAVEPOINT")
}

// releaseStmt runs RELEASE: what was done since the savepoint becomes part of the surrounding
// level.
func (b *Block) releaseStmt(name string, w stmt.ResultWriter) error {
	if err := b.requireExplicit("RELEASE SAVEPOINT"); err != nil {
		return err
	}
	i, err := b.Tx.FindSavepoint(name)
	if err != nil {
		return err
	}
	nest := i + 2 // the level of the first savepoint released
	b.env.Portals.Release(nest)
	b.env.Settings.End(true, nest)
	b.Tx.ReleaseSavepoint(i)
	b.Tx.kept = b.Tx.kept[:i]
	return w.Complete("RELEASE")
}

// rollbackToStmt runs ROLLBACK TO: it undoes what was done since the savepoint, which stays, and
// ends the failed state.
func (b *Block) rollbackToStmt(name string, w stmt.ResultWriter) error {
	if err := b.requireExplicit("ROLLBACK TO SAVEPOINT"); err != nil {
		return err
	}
	i, err := b.Tx.FindSavepoint(name)
	if err != nil {
		return err
	}
	b.undoTo(i)
	b.Tx.ForgetAfter(i)
	b.Tx.kept = b.Tx.kept[:i+1]
	b.Tx.failed = false
	return b.complete("ROLLBACK", w)
}

// BeginSub begins a subtransaction of a function. It returns its number for EndSub.
func (b *Block) BeginSub() int {
	t := b.Tx
	t.Savepoint("")
	t.kept = append(t.kept, t.Waiting())
	return t.Depth() - 1
}

// EndSub ends a subtransaction: what was done in it stays, or is undone.
func (b *Block) EndSub(i int, keep bool) {
	nest := i + 2
	if keep {
		b.env.Portals.Release(nest)
	} else {
		b.undoTo(i)
	}
	b.env.Settings.End(keep, nest)
	b.Tx.ReleaseSavepoint(i)
	b.Tx.kept = b.Tx.kept[:i]
}

// undoTo undoes what was done since savepoint i: writes, locks, settings and cursors. A cursor that
// is older than the savepoint keeps its position, even if that is on rows read since.
func (b *Block) undoTo(i int) {
	t, nest := b.Tx, i+2
	b.env.Portals.Undo(nest, t.MarkOf(i))
	t.UndoTo(i)
	t.Restore(t.kept[i])
	b.env.Settings.End(false, nest)
}
