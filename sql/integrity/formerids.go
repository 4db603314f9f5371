package integrity

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/keychange"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
)

// Former ids of documents are maintained as foreign keys are, with the keys that the executor
// notes:
//
//   - A new key must not be another document's former id: 23505. A transaction that changes the id
//     of a document holds the lock of the old key until it commits, and so does one that inserts
//     that key. So the second of the two finds the entry.
//   - A deleted key takes its former ids with it. For the foreign keys that refer to the collection
//     they are deleted keys too, because rows may refer to documents by former ids.
//   - A changed key is what its former ids lead to.
//
// All three read the newest state, whatever the transaction's snapshot.

// formerIDs is one side of that, for the keys of a collection.
type formerIDs struct {
	table   *catalog.Table
	entries string // the table of entries, by its quoted name
	goes    bool   // about keys that are deleted or changed, else about new ones
	upsert  bool   // of an INSERT ... ON CONFLICT, or a MERGE that inserts
}

// formerIDsOf returns the two triggers of a collection's former ids. That of deleted keys has to
// fire before those of foreign keys.
func formerIDsOf(view *catalog.View, t *catalog.Table) (goes, comes []trigger) {
	if t.Forwarding == 0 || forward.Key(t) < 0 {
		return nil, nil
	}
	entries := forward.EntriesOf(view, t)
	goes = []trigger{{former: &formerIDs{table: t, entries: entries, goes: true}}}
	return goes, []trigger{{former: &formerIDs{table: t, entries: entries}}}
}

func (f *formerIDs) watch(t *catalog.Table, n int) (plan.KeyWatch, bool) {
	return plan.KeyWatch{N: n, Old: f.goes, Columns: []int{forward.Key(f.table)}}, f.table.OID == t.OID
}

var twoTexts = []types.OID{types.Text, types.Text}

// formerIDs maintains the former ids for keys that a statement has written.
func (k *queue) formerIDs(f *formerIDs, changes []keychange.Change) error {
	if !f.goes {
		return k.freeIDs(f, changes)
	}
	var deleted []keychange.Change
	for _, ch := range changes {
		if ch.New == nil {
			deleted = append(deleted, ch)
			continue
		}
		for _, text := range []string{
			"DELETE FROM " + f.entries + " WHERE new = $1 AND old = $2", // it has that id again
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

// deletedIDs deletes the former ids of deleted documents, and queues them for the foreign keys that
// refer to the collection.
func (k *queue) deletedIDs(f *formerIDs, changes []keychange.Change) error {
	var gone []keychange.Change
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
			gone = append(gone, keychange.New(old, nil, keychange.ID([]*catalog.Column{column}, old)))
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
		if x.incoming && x.key.Parent.OID == f.table.OID &&
			len(x.key.Referenced) == 1 && x.key.Referenced[0].AttNum == column.AttNum {
			k.events = append(k.events, event{of: k.of, trigger: x, changes: gone})
		}
	}
	return nil
}

// freeIDs refuses new ids that are former ids of other documents.
func (k *queue) freeIDs(f *formerIDs, changes []keychange.Change) error {
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
		if f.upsert && k.t.tookFormer != taken.Detail {
			// Perhaps it was no former id when the statement began. Run again, the statement finds
			// the document.
			k.t.tookFormer = taken.Detail
			taken.Code, taken.Constraint = pgerr.SerializationFailure, ""
			taken.Message = "could not serialize access due to concurrent update"
		}
		return taken
	}
	return nil
}

// taken is the error of a new document whose id is a former id of another one.
func (f *formerIDs) taken(view *catalog.View, column, old, now string) *pgerr.Error {
	name := f.table.PrimaryKey().Name
	e := pgerr.New(pgerr.UniqueViolation, `duplicate key value violates unique constraint "%s"`, name).
		WithDetail("Key (%s)=(%s) already exists: it is a former id of %s.", column, old, now).
		WithHint("Former ids end with SELECT sherd.drop_forwarding(%s).",
			builtin.QuoteLiteral(builtin.QuoteIdent(f.table.Name)))
	e.Table, e.Constraint = f.table.Name, name
	if s := view.Schema(f.table.Schema); s != nil {
		e.Schema = s.Name
	}
	return e
}
