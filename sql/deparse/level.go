package deparse

import (
	"strconv"

	"github.com/sherddb/sherd/sql/query"
)

// level has the names of the tables and columns of one query.
type level struct {
	q       *query.Query
	names   []string   // of its range table entries
	columns [][]string // of their columns; dropped ones have none
	listed  []bool     // the columns' names are written with the entry
}

// maxName is NAMEDATALEN - 1.
const maxName = 63

// push makes q the innermost query. Its tables get names that no query around it uses
// (set_rtable_names).
func (d *deparser) push(q *query.Query) {
	used := map[string]int{"old": 0, "new": 0} // rules of views have these entries
	for _, l := range d.queries {
		for _, name := range l.names {
			used[name] = 0
		}
	}
	l := &level{q: q, names: make([]string, len(q.Rels)), columns: make([][]string, len(q.Rels)),
		listed: make([]bool, len(q.Rels))}
	for i, r := range q.Rels {
		l.names[i] = unique(d.alias(r), used)
	}
	merged := l.mergedNames()
	for i := range q.Rels {
		l.nameColumns(d, i, merged)
	}
	d.queries = append(d.queries, l)
}

func (d *deparser) pop() { d.queries = d.queries[:len(d.queries)-1] }

// alias returns the name of an entry: the alias, or the present name of its relation.
func (d *deparser) alias(r *query.Rel) string {
	switch {
	case r.Aliased || d.stored:
		return r.Alias
	case r.View != nil:
		return r.View.Name
	case r.Table != nil:
		return r.Table.Name
	case r.Kind == query.RelSubquery:
		return "unnamed_subquery"
	}
	return r.Alias
}

// unique returns a name that is not used yet, with a number behind it if it is, and notes it.
func unique(name string, used map[string]int) string {
	if _, taken := used[name]; !taken {
		used[name] = 0
		return name
	}
	for {
		used[name]++
		suffix := "_" + strconv.Itoa(used[name])
		other := clip(name, maxName-len(suffix)) + suffix
		if _, taken := used[other]; !taken {
			used[other] = 0
			return other
		}
	}
}

// clip cuts a name to n bytes, at a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// column identifies a column of a query.
type column struct{ rel, col int }

// mergedNames returns the columns that must have the names which USING has for them.
func (l *level) mergedNames() map[column]string {
	out := map[column]string{}
	var visit func(f query.From)
	visit = func(f query.From) {
		j, ok := f.(*query.FromJoin)
		if !ok {
			return
		}
		visit(j.Left)
		visit(j.Right)
		if j.Form == nil {
			return
		}
		for i, sides := range j.Form.Sides {
			for _, e := range sides {
				if v, ok := e.(*query.Var); ok && v.Up == 0 && v.Rel >= 0 && v.Col >= 0 {
					out[column{v.Rel, v.Col}] = j.Form.Using[i]
				}
			}
		}
	}
	for _, f := range l.q.From {
		visit(f)
	}
	return out
}

// nameColumns chooses the names of an entry's columns (set_relation_column_names).
func (l *level) nameColumns(d *deparser, n int, merged map[column]string) {
	r := l.q.Rels[n]
	used, changed := map[string]int{}, false
	names := make([]string, len(r.Columns))
	for i := range r.Columns {
		if name, ok := merged[column{n, i}]; ok {
			names[i] = unique(name, used)
		}
	}
	for i, c := range r.Columns {
		own := d.ownName(r, i)
		if own == "" {
			continue
		}
		if names[i] == "" {
			name := own
			if i < r.Aliases {
				name = c.Name
			}
			names[i] = unique(name, used)
		}
		changed = changed || names[i] != own
	}
	l.columns[n] = names
	switch {
	case r.Kind == query.RelFunction:
		l.listed[n] = true
	case r.Kind == query.RelTable || r.View != nil:
		l.listed[n] = changed || d.stored
	case r.Kind == query.RelSystem && r.Table != nil && d.stored:
		l.listed[n] = true
	case r.Kind == query.RelSystem:
		l.listed[n] = changed
	default:
		l.listed[n] = changed || r.Aliases > 0
	}
}

// ownName returns the name of a column in its relation, "" if it was dropped.
func (d *deparser) ownName(r *query.Rel, col int) string {
	switch t := tableOf(r); {
	case r.Columns[col].Dropped:
		return ""
	case t != nil && !d.stored:
		return t.Columns[col].Name
	}
	return r.Columns[col].Name
}
