package trigger

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Level is a statement of a client or of a function, with the statements of the foreign keys that follow
// it. For each table and event of a level, triggers for statements fire once, and have one transition
// table of old rows and one of new ones.
type Level struct {
	mem    *memory.Account
	fired  map[Event]bool
	tables map[Event]*transition
}

// Event is an event of a table.
type Event struct {
	Table catalog.OID
	Kind  catalog.TriggerEvents
}

// NewLevel returns a level whose transition tables count as those of a query.
func NewLevel(mem *memory.Account) *Level { return &Level{mem: mem} }

// transition is the old and new rows of an event.
type transition struct{ old, next spool.List }

// Free releases the rows that are kept (TG3).
func (l *Level) Free() {
	for _, t := range l.tables {
		t.old.Free()
		t.next.Free()
	}
	l.tables = nil
}

// transition returns the transition tables of an event.
func (l *Level) transition(e Event) *transition {
	t := l.tables[e]
	if t == nil {
		t = &transition{}
		t.old.Begin(l.mem)
		t.next.Begin(l.mem)
		if l.tables == nil {
			l.tables = map[Event]*transition{}
		}
		l.tables[e] = t
	}
	return t
}

// note adds the rows of an event to the transition tables, if triggers read them.
func (l *Level) note(set *Set, e *exec.RowEvent) error {
	old, next := set.transitions(e.Kind)
	if !old && !next {
		return nil
	}
	t := l.transition(Event{e.Table.OID, e.Kind})
	if old {
		if err := t.old.Add(set.kept(e.Old)); err != nil {
			return err
		}
	}
	if next {
		return t.next.Add(set.kept(e.New))
	}
	return nil
}

// transitions reports whether a trigger after an event reads old rows, and new ones.
func (s *Set) transitions(kind catalog.TriggerEvents) (old, next bool) {
	for i := range s.list {
		if d := &s.list[i]; d.Is(kind) && d.Timing() == 0 {
			old, next = old || d.OldTable != "", next || d.NewTable != ""
		}
	}
	return old, next
}

// kept returns a row without the columns that are dropped.
func (s *Set) kept(row types.Row) types.Row {
	out := make(types.Row, 0, len(row))
	for i, c := range s.columns {
		if !c.Dropped {
			out = append(out, row[i])
		}
	}
	return out
}

// read returns the transition tables that a trigger names.
func (l *Level) read(set *Set, d *definition, kind catalog.TriggerEvents) (out []function.Transition) {
	if d.OldTable == "" && d.NewTable == "" {
		return nil
	}
	var columns []query.Column
	for _, c := range set.columns {
		if !c.Dropped {
			columns = append(columns, c)
		}
	}
	t := l.transition(Event{set.table.OID, kind})
	if d.OldTable != "" {
		out = append(out, function.Transition{Name: d.OldTable, Columns: columns, Each: each(&t.old)})
	}
	if d.NewTable != "" {
		out = append(out, function.Transition{Name: d.NewTable, Columns: columns, Each: each(&t.next)})
	}
	return out
}

// each returns a function that emits the rows of a list.
func each(list *spool.List) func(emit func(row []types.Datum) error) error {
	return func(emit func(row []types.Datum) error) error {
		r, err := list.From(0)
		if err != nil {
			return err
		}
		defer r.Close()
		for {
			row, ok, err := r.Next()
			if err != nil || !ok {
				return err
			}
			if err := emit(row); err != nil {
				return err
			}
		}
	}
}

// Statement is a statement that writes to a table, for the triggers for statements.
type Statement struct {
	set     *Set
	kind    catalog.TriggerEvents
	updated func(col int) bool
}

// Event returns the event of the statement.
func (s *Statement) Event() Event { return Event{s.set.table.OID, s.kind} }

// Truncation returns the TRUNCATE of the table of a set.
func Truncation(s *Set) Statement { return Statement{set: s, kind: catalog.TriggerTruncate} }

// StatementsOf returns what a query does to the tables of sets, in the order in which PostgreSQL fires
// the triggers before it.
func StatementsOf(q *query.Query, sets map[catalog.OID]*Set) []Statement {
	t := q.Rels[q.Result].Table
	if t == nil || sets[t.OID] == nil {
		return nil
	}
	set := sets[t.OID]
	update := func(assign []query.Assignment) Statement {
		return Statement{set, catalog.TriggerUpdate, set.updatedBy(q, assign)}
	}
	switch q.Command {
	case query.Insert:
		out := []Statement{{set: set, kind: catalog.TriggerInsert}}
		if oc := q.OnConflict; oc != nil && oc.Update {
			out = append(out, update(oc.Assign))
		}
		return out
	case query.Update:
		return []Statement{update(q.Assign)}
	case query.Merge:
		var out []Statement
		if q.Does(query.Insert) {
			out = append(out, Statement{set: set, kind: catalog.TriggerInsert})
		}
		if q.Does(query.Update) {
			out = append(out, update(q.Updates()))
		}
		if q.Does(query.Delete) {
			out = append(out, Statement{set: set, kind: catalog.TriggerDelete})
		}
		return out
	}
	return []Statement{{set: set, kind: catalog.TriggerDelete}}
}

// updatedBy returns what reports whether an UPDATE sets a column, or one that the column is generated
// from.
func (s *Set) updatedBy(q *query.Query, assign []query.Assignment) func(col int) bool {
	set := map[int]bool{}
	for _, a := range assign {
		set[a.Col] = true
	}
	all := s.Rows().Changes(catalog.TriggerUpdate) // a trigger may set what a column is generated from
	for _, k := range q.Checks {
		if k.Generated < 0 {
			continue
		}
		generated := all || query.Contains(k.Expr, func(e query.Expr) bool {
			v, ok := e.(*query.Var)
			return ok && v.Col >= 0 && set[v.Col] && s.columns[v.Col].Name == v.Name
		})
		if generated {
			set[k.Generated] = true
		}
	}
	return func(col int) bool { return set[col] }
}

// Before fires the triggers before a statement, unless they have fired on this level.
func (l *Level) Before(c *exec.Ctx, s *Statement) error {
	if l.fired[s.Event()] {
		return nil
	}
	if l.fired == nil {
		l.fired = map[Event]bool{}
	}
	l.fired[s.Event()] = true
	return l.fire(c, s, catalog.TriggerBefore)
}

// After fires the triggers after a statement.
func (l *Level) After(c *exec.Ctx, s *Statement) error { return l.fire(c, s, 0) }

func (l *Level) fire(c *exec.Ctx, s *Statement, timing catalog.TriggerEvents) error {
	e := &exec.RowEvent{Table: s.set.table, Kind: s.kind, Updated: s.updated}
	run := Run{level: l}
	for i := range s.set.list {
		d := &s.set.list[i]
		if !d.isFor(timing | s.kind) {
			continue
		}
		ok, err := run.applies(c, d, e)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if _, err := run.fire(c, s.set, d, e); err != nil {
			return err
		}
	}
	return nil
}
