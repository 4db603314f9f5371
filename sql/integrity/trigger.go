package integrity

import (
	"slices"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/stmt"
	rows "github.com/sherddb/sherd/sql/trigger"
	"github.com/sherddb/sherd/sql/tx"
)

// triggers are what may follow from the rows that a program writes, in the order in which it is
// done. For each table that the program writes, the keys that refer to it come before its own, the
// oldest first.
type triggers struct {
	list   []trigger
	sets   map[catalog.OID]*rows.Set // the triggers that users have made, by table
	before bool                      // some of them fire before statements

	mu       sync.Mutex
	programs map[string]*stmt.Program // by text; guarded by mu
}

// trigger is one of them. It has a foreign key, seen from one of its two tables, or a deferrable
// unique constraint, or the former ids of a collection.
type trigger struct {
	key      *refint.Key
	incoming bool // the key refers to a table of the program
	unique   *uniqueKey
	former   *formerIDs
	own      *rows.Constraint // a constraint trigger
	con      *catalog.Constraint
}

// constraint returns the constraint as the catalog has it.
func (x *trigger) constraint() *catalog.Constraint {
	switch {
	case x.unique != nil:
		return x.unique.con
	case x.own != nil:
		return x.con
	}
	return x.key.Con
}

// triggersOf returns those of tables that a program writes; nil: there are none.
func triggersOf(view *catalog.View, tables ...*catalog.Table) *triggers {
	r := &triggers{}
	for _, t := range tables {
		if len(t.Triggers) > 0 {
			r.define(view, t)
		}
		goes, comes := formerIDsOf(view, t)
		r.list = append(append(r.list, goes...), comes...)
		if t.KeyTriggers != 'D' {
			for _, k := range refint.To(view, t) {
				r.list = append(r.list, trigger{key: k, incoming: true})
			}
			for _, k := range refint.From(view, t) {
				r.list = append(r.list, trigger{key: k})
			}
		}
		for _, u := range deferrableOf(t) {
			r.list = append(r.list, trigger{unique: u})
		}
	}
	if len(r.list) == 0 && r.sets == nil {
		return nil
	}
	r.programs = map[string]*stmt.Program{}
	return r
}

// define adds the triggers that users have made for a table.
func (r *triggers) define(view *catalog.View, t *catalog.Table) {
	set := rows.Of(view, t)
	if set == nil {
		return
	}
	if r.sets == nil {
		r.sets = map[catalog.OID]*rows.Set{}
	}
	r.sets[t.OID], r.before = set, r.before || set.BeforeStatements()
}

// rowTriggers returns for which events of a table's rows there are triggers.
func (r *triggers) rowTriggers(t *catalog.Table) plan.RowTriggers {
	if set := r.sets[t.OID]; set != nil {
		return set.Rows()
	}
	return plan.RowTriggers{}
}

// watch returns the keys of a table that the executor has to note.
func (r *triggers) watch(t *catalog.Table) []plan.KeyWatch {
	var out []plan.KeyWatch
	for i, x := range r.list {
		if x.unique != nil {
			continue
		}
		if x.former != nil {
			if w, ok := x.former.watch(t, i); ok {
				out = append(out, w)
			}
			continue
		}
		columns, of := x.key.Columns, x.key.Child
		if x.incoming {
			columns, of = x.key.Referenced, x.key.Parent
		}
		if of.OID != t.OID {
			continue
		}
		w := plan.KeyWatch{
			N: i, Old: x.incoming, Nulls: !x.incoming && x.key.Con.Reference.Match == catalog.MatchFull,
		}
		for _, c := range columns {
			at := slices.IndexFunc(t.Columns, func(o catalog.Column) bool { return o.AttNum == c.AttNum })
			w.Columns = append(w.Columns, at)
		}
		out = append(out, w)
	}
	return out
}

// triggersIn returns those of a program; nil: there are none.
func triggersIn(p *stmt.Program) *triggers {
	r, _ := p.Integrity.(*triggers)
	return r
}

// Attach is stmt.Hooks.Integrity: it adds to env the keys that have to be noted while a query
// writes.
func Attach(view *catalog.View, q *query.Query, env *plan.Env) (any, []tx.TableUse) {
	var tables []*catalog.Table
	for _, q := range stmt.Writers(q) {
		t := q.Rels[q.Result].Table
		if !slices.ContainsFunc(tables, func(o *catalog.Table) bool { return o.OID == t.OID }) {
			tables = append(tables, t)
		}
	}
	r, uses := triggersOf(view, tables...), usesOf(view, q)
	if r == nil {
		return nil, uses
	}
	for i := range r.list {
		if f := r.list[i].former; f != nil {
			f.upsert = q.OnConflict != nil || q.Does(query.Insert)
		}
	}
	env.Watch = r.watch
	if r.sets != nil {
		env.Triggers = r.rowTriggers
	}
	return r, uses
}
