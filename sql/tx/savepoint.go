package tx

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// savepoint is a place in an explicit transaction to which ROLLBACK TO returns, and the beginning
// of a subtransaction.
type savepoint struct {
	name     string
	mark     txn.Marks
	locks    int // taken before
	schema   *SchemaChange
	readOnly bool // the mode around: a subtransaction's own ends with it
}

// FindSavepoint returns the number of the innermost savepoint of a name.
func (t *Tx) FindSavepoint(name string) (int, error) {
	for i := len(t.savepoints) - 1; i >= 0; i-- {
		if t.savepoints[i].name == name {
			return i, nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidSavepoint, `savepoint "%s" does not exist`, name)
}

// Depth is how many savepoints there are: each is a subtransaction in the one before.
func (t *Tx) Depth() int { return len(t.savepoints) }

// Savepoint begins a subtransaction. A name may be given again: it hides the earlier one.
func (t *Tx) Savepoint(name string) {
	t.savepoints = append(t.savepoints, savepoint{
		name: name, mark: t.Parts.Mark(), locks: t.lockMark(), schema: t.Schema, readOnly: t.Modes.ReadOnly,
	})
}

// ReleaseSavepoint makes what happened since savepoint i part of what is around it. The savepoint
// is gone.
func (t *Tx) ReleaseSavepoint(i int) {
	t.Modes.ReadOnly = t.savepoints[i].readOnly
	t.savepoints = t.savepoints[:i]
}

// UndoTo undoes what was written, locked and changed of the schema since savepoint i, which stays,
// as do those after it.
func (t *Tx) UndoTo(i int) {
	p := &t.savepoints[i]
	t.Parts.RollbackTo(p.mark)
	t.Schema = p.schema
	t.unlockTo(p.locks)
	t.Modes.ReadOnly = p.readOnly
}

// ForgetAfter forgets the savepoints after savepoint i.
func (t *Tx) ForgetAfter(i int) { t.savepoints = t.savepoints[:i+1] }

// MarkOf returns where what was written since savepoint i begins.
func (t *Tx) MarkOf(i int) txn.Marks { return t.savepoints[i].mark }
