package sql

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
)

// The former ids of documents are kept as foreign keys are, by what the executor notes of the keys that a statement has written (foreignkey.go):
//
//	a new key      is no other document's former id: 23505. Whoever gives a document another id holds the lock of the old key until it has committed,
//	               and so does whoever inserts that key; so the entry is there for the second of the two
//	a deleted key  takes its former ids with it. They are keys that go, for the foreign keys that refer to the collection: rows may refer by them
//	a changed key  is what its former ids lead to
//
// All three look at the newest state, whatever the transaction's snapshot.

// formerIDs is one side of that, for the keys of a collection.
type formerIDs struct {
	table   *catalog.Table
	entries string // the table of entries, by its quoted name
	goes    bool   // about keys that go or change, else about new ones
	upsert  bool   // of an INSERT ... ON CONFLICT
}

// formerIDsOf gives what keeps the former ids of a collection's documents. What goes comes before foreign keys, which must know.
func formerIDsOf(view *catalog.View, t *catalog.Table) (goes, comes []reference) {
	if t.Forwarding == 0 || forward.Key(t) < 0 {
		return nil, nil
	}
	entries := forward.EntriesOf(view, t)
	return []reference{{former: &formerIDs{table: t, entries: entries, goes: true}}}, []reference{{former: &formerIDs{table: t, entries: entries}}}
}

func (f *formerIDs) watch(t *catalog.Table, n int) (plan.KeyWatch, bool) {
	return plan.KeyWatch{N: n, Old: f.goes, Columns: []int{forward.Key(f.table)}}, f.table.OID == t.OID
}

var twoTexts = []types.OID{types.Text, types.Text}

// formerIDs does what is to be done about keys that a statement has written.
func (k *keeping) formerIDs(f *formerIDs, changes []exec.KeyChange) error {
	if !f.goes {
		return k.freeIDs(f, changes)
	}
	var deleted []exec.KeyChange
	for _, ch := range changes {
		if ch.New == nil {
			deleted = append(deleted, ch)
			continue
		}
		for _, text := range []string{
			"DELETE FROM " + f.entries + " WHERE new = $1 AND old = $2", // it is called so again
			"UPDATE " + f.entries + " SET new = $2 WHERE new = $1",
		} {
			st := refint.Statement{Text: text, Params: twoTexts, Shown: text}
			if err := k.run(st, []types.Datum{ch.Old[0], ch.New[0]}, true, nil); err != nil {
				return err
			}
		}
	}
	return k.deletedIDs(f, deleted)
}

// deletedIDs deletes the former ids of documents that are deleted, and lets the foreign keys that refer to the collection know.
func (k *keeping) deletedIDs(f *formerIDs, changes []exec.KeyChange) error {
	var gone []exec.KeyChange
	column := &f.table.Columns[forward.Key(f.table)]
	text := "DELETE FROM " + f.entries + " WHERE new = ANY ($1) RETURNING old"
	st := refint.Statement{Text: text, Params: []types.OID{types.ArrayTypeOf(types.Text)}, Shown: text}
	for batch := range slices.Chunk(changes, keyBatch) {
		ids := make([]types.Row, len(batch))
		for i, ch := range batch {
			ids[i] = ch.Old
		}
		err := k.run(st, []types.Datum{keyArray(column, ids, 0)}, true, func(row []types.Datum) error {
			old := types.Row{row[0].Clone()}
			gone = append(gone, exec.NewKeyChange(old, nil, exec.KeyID([]*catalog.Column{column}, old)))
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	for i := range k.of.list {
		x := &k.of.list[i]
		if x.incoming && x.key.Parent.OID == f.table.OID && len(x.key.Referenced) == 1 && x.key.Referenced[0].AttNum == column.AttNum {
			k.queue = append(k.queue, keyTask{k.of, x, gone})
		}
	}
	return nil
}

// freeIDs refuses new ids that are former ids of other documents.
func (k *keeping) freeIDs(f *formerIDs, changes []exec.KeyChange) error {
	column := &f.table.Columns[forward.Key(f.table)]
	text := "SELECT old, new FROM " + f.entries + " WHERE old = ANY ($1) LIMIT 1"
	st := refint.Statement{Text: text, Params: []types.OID{types.ArrayTypeOf(types.Text)}, Shown: text}
	for batch := range slices.Chunk(changes, keyBatch) {
		ids := make([]types.Row, len(batch))
		for i, ch := range batch {
			ids[i] = ch.New
		}
		var taken *pgerr.Error
		err := k.run(st, []types.Datum{keyArray(column, ids, 0)}, true, func(row []types.Datum) error {
			taken = f.taken(k.view, column.Name, row[0].S, row[1].S)
			return nil
		})
		if err != nil {
			return err
		}
		if taken == nil {
			continue
		}
		if f.upsert && k.t.tookFormer != taken.Detail { // it was not one when the statement began, perhaps: run again, it finds the document
			k.t.tookFormer = taken.Detail
			taken.Code, taken.Message, taken.Constraint = pgerr.SerializationFailure, "could not serialize access due to concurrent update", ""
		}
		return taken
	}
	return nil
}

// taken is the error of a new document that is to be called what another one was called.
func (f *formerIDs) taken(view *catalog.View, column, old, now string) *pgerr.Error {
	name := f.table.PrimaryKey().Name
	e := pgerr.New(pgerr.UniqueViolation, `duplicate key value violates unique constraint "%s"`, name).
		WithDetail("Key (%s)=(%s) already exists: it is a former id of %s.", column, old, now).
		WithHint("Former ids end with SELECT sherd.drop_forwarding(%s).", builtin.QuoteLiteral(builtin.QuoteIdent(f.table.Name)))
	e.Table, e.Constraint = f.table.Name, name
	if s := view.Schema(f.table.Schema); s != nil {
		e.Schema = s.Name
	}
	return e
}
