package integrity

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn/locks"
)

// keyUse is one way in which a table's rows change, for the locks that follow from it.
type keyUse struct {
	table   catalog.OID
	deleted bool
}

// usesOf lists the locks on tables that a query's foreign keys may need: ROW SHARE to look, ROW
// EXCLUSIVE to act.
func usesOf(view *catalog.View, q *query.Query) []tx.TableUse {
	u := &useFinder{view: view, seen: map[keyUse]bool{}}
	for _, q := range stmt.Writers(q) {
		if view.Table(q.Rels[q.Result].Table.OID) != nil {
			u.written(q)
		}
	}
	return u.out
}

// InsertUses lists the locks on other tables that an INSERT into t needs.
func InsertUses(view *catalog.View, t *catalog.Table) []tx.TableUse {
	u := &useFinder{view: view}
	u.outgoing(t, nil)
	return u.out
}

type useFinder struct {
	view *catalog.View
	seen map[keyUse]bool
	out  []tx.TableUse
}

// written adds what one write may need.
func (u *useFinder) written(q *query.Query) {
	t := q.Rels[q.Result].Table
	if q.Command == query.Insert || q.Command == query.Update || q.Does(query.Insert) || q.Does(query.Update) {
		u.outgoing(t, q)
	}
	if q.Command == query.Delete || q.Does(query.Delete) {
		u.incoming(t, nil, true)
	}
	if q.Command == query.Update || q.OnConflict != nil || q.Does(query.Update) {
		u.incoming(t, q, false)
	}
}

// sets reports whether q may change one of the columns; a nil q changes all.
func sets(q *query.Query, columns []*catalog.Column) bool {
	if q == nil {
		return true
	}
	t := q.Rels[q.Result].Table
	assigned := q.Assign
	if q.OnConflict != nil {
		assigned = q.OnConflict.Assign
	}
	if q.Command == query.Merge {
		assigned = q.Updates()
	}
	for _, c := range columns {
		assigns := func(a query.Assignment) bool { return t.Columns[a.Col].AttNum == c.AttNum }
		if c.Generated != "" || slices.ContainsFunc(assigned, assigns) {
			return true
		}
	}
	return false
}

// outgoing adds what new keys of t refer to.
func (u *useFinder) outgoing(t *catalog.Table, q *query.Query) {
	for _, k := range refint.From(u.view, t) {
		if q == nil || q.Command == query.Insert || q.Does(query.Insert) || sets(q, k.Columns) {
			u.out = append(u.out, tx.TableUse{Table: k.Parent.OID, Mode: locks.RowShare})
		}
	}
}

// incoming adds what refers to keys of t that are deleted or changed.
func (u *useFinder) incoming(t *catalog.Table, q *query.Query, deleted bool) {
	if use := (keyUse{t.OID, deleted}); !u.seen[use] {
		u.seen[use] = true
	} else {
		return
	}
	for _, k := range refint.To(u.view, t) {
		if !deleted && !sets(q, k.Referenced) {
			continue
		}
		switch k.Action(deleted) {
		case catalog.NoAction, catalog.Restrict:
			u.out = append(u.out, tx.TableUse{Table: k.Child.OID, Mode: locks.RowShare})
			continue
		case catalog.Cascade:
			u.out = append(u.out, tx.TableUse{Table: k.Child.OID, Mode: locks.RowExclusive})
			if deleted {
				u.incoming(k.Child, nil, true)
				continue
			}
		default:
			u.out = append(u.out, tx.TableUse{Table: k.Child.OID, Mode: locks.RowExclusive})
		}
		u.outgoing(k.Child, nil)
		u.incoming(k.Child, nil, false)
	}
}
