package deparse

import (
	"maps"
	"slices"
	"strconv"

	"github.com/sherddb/sherd/sql/query"
)

// level has the names of the tables and columns of one query.
type level struct {
	q       *query.Query
	names   []string   // of its range table entries
	columns [][]string // of their columns; dropped ones have none
	listed  []bool     // the columns' names are written with the entry

	using    map[*query.JoinForm][]string // the names of merged columns
	around   map[int][]string             // those of the joins around an entry
	joined   map[*query.JoinForm]*joinedNames
	distinct bool           // no other column may have the names of merged columns
	taken    map[string]int // these names, if they are distinct
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
		for _, j := range l.joined {
			used[j.alias] = 0
		}
	}
	l := &level{q: q, names: make([]string, len(q.Rels)), columns: make([][]string, len(q.Rels)),
		listed: make([]bool, len(q.Rels)), using: map[*query.JoinForm][]string{},
		joined: map[*query.JoinForm]*joinedNames{}, around: map[int][]string{}, taken: map[string]int{}}
	for i, r := range q.Rels {
		l.names[i] = unique(d.alias(r), used)
	}
	for _, f := range q.From {
		l.aliasJoins(f, used)
	}
	merged := l.mergedNames()
	for i := range q.Rels {
		l.nameColumns(d, i, merged)
	}
	for _, f := range q.From {
		l.nameJoins(d, f)
	}
	d.queries = append(d.queries, l)
}

// aliasJoins chooses the aliases of joins that have one, of inner joins first.
func (l *level) aliasJoins(f query.From, used map[string]int) {
	j, ok := f.(*query.FromJoin)
	if !ok {
		return
	}
	l.aliasJoins(j.Left, used)
	l.aliasJoins(j.Right, used)
	if j.Form != nil && j.Form.Alias != "" {
		l.joined[j.Form] = &joinedNames{alias: unique(j.Form.Alias, used), listed: j.Form.Listed}
	}
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

// mergedNames chooses the names of the columns that USING merges, and returns those of the columns
// that must have the same names (set_using_names).
func (l *level) mergedNames() map[column]string {
	m := merging{l: l, columns: map[column]string{}}
	for _, f := range l.q.From {
		l.distinct = l.distinct || dangerous(f)
	}
	for _, f := range l.q.From {
		m.visit(f, nil)
	}
	return m.columns
}

// dangerous reports whether a join without alias has merged a column that is no column of its sides:
// its name stands alone, and no other column may have it.
func dangerous(f query.From) bool {
	j, ok := f.(*query.FromJoin)
	if !ok {
		return false
	}
	if j.Form != nil && j.Form.Alias == "" && j.Form.Merged {
		return true
	}
	return dangerous(j.Left) || dangerous(j.Right)
}

// merging chooses names of merged columns, of outer joins first.
type merging struct {
	l       *level
	columns map[column]string
}

// visit chooses the names of a join. around are the names that joins around it have merged: no other
// column of its sides may have them.
func (m merging) visit(f query.From, around []string) {
	j, ok := f.(*query.FromJoin)
	if !ok {
		m.l.around[f.(*query.FromRel).Rel] = around
		return
	}
	if j.Form != nil {
		for i := range j.Form.Using {
			m.assign(j.Form, i, m.choose(j.Form, i))
		}
		around = append(slices.Clip(around), m.l.using[j.Form]...)
	}
	m.visit(j.Left, around)
	m.visit(j.Right, around)
}

// choose returns the name of a merged column: that which a join around it has chosen, or its own.
func (m merging) choose(f *query.JoinForm, i int) string {
	if names := m.l.using[f]; names != nil && names[i] != "" {
		return names[i]
	}
	for _, e := range f.Sides[i] {
		if v, ok := e.(*query.Var); ok && v.Up == 0 && m.columns[column{v.Rel, v.Col}] != "" {
			return m.columns[column{v.Rel, v.Col}]
		}
	}
	if !m.l.distinct {
		return f.Using[i]
	}
	return unique(f.Using[i], m.l.taken)
}

// assign sets the name of a merged column, and of the columns that it merges.
func (m merging) assign(f *query.JoinForm, i int, name string) {
	if m.l.using[f] == nil {
		m.l.using[f] = make([]string, len(f.Using))
	}
	m.l.using[f][i] = name
	for _, e := range f.Sides[i] {
		switch x := e.(type) {
		case *query.Var:
			if x.Up == 0 && x.Rel >= 0 && x.Col >= 0 {
				m.columns[column{x.Rel, x.Col}] = name
			}
		case *query.Written:
			if x.Join != nil && (m.l.using[x.Join] == nil || m.l.using[x.Join][x.Column] == "") {
				m.assign(x.Join, x.Column, name)
			}
		}
	}
}

// joinColumn returns the name of a column of a join.
func (d *deparser) joinColumn(w *query.Written) string {
	if w.Table == "" {
		return d.usingNames(w.Join)[w.Column]
	}
	return d.joinOf(w.Join).names[w.Column]
}

// joinOf returns the names of a join with an alias.
func (d *deparser) joinOf(f *query.JoinForm) *joinedNames {
	for _, l := range d.queries {
		if j := l.joined[f]; j != nil {
			return j
		}
	}
	return nil
}

// joinedNames are the names of the columns of a join with an alias. Dropped columns have none.
type joinedNames struct {
	alias  string
	names  []string
	listed bool // they are written with the alias
}

// nameJoins chooses the names of the columns of joins with aliases, of inner joins first.
func (l *level) nameJoins(d *deparser, f query.From) {
	j, ok := f.(*query.FromJoin)
	if !ok {
		return
	}
	l.nameJoins(d, j.Left)
	l.nameJoins(d, j.Right)
	if j.Form == nil || j.Form.Alias == "" {
		return
	}
	out := l.joined[j.Form]
	out.names = make([]string, len(j.Form.Columns))
	used := map[string]int{}
	for _, added := range []bool{false, true} { // columns that are new have the names that are left
		for i, c := range j.Form.Columns {
			name := l.sideName(c.Expr)
			if i < len(j.Form.Using) && l.using[j.Form] != nil {
				name = l.using[j.Form][i]
			}
			if name == "" || added != (c.Name == "") || added && d.stored {
				continue
			}
			own := name
			if !added && (j.Form.Listed || d.stored) {
				own = c.Name
			}
			out.names[i] = unique(own, used)
			out.listed = out.listed || out.names[i] != name
		}
	}
}

// sideName returns the name of a column of a side of a join, "" if it was dropped.
func (l *level) sideName(e query.Expr) string {
	switch x := e.(type) {
	case *query.Var:
		if x.Rel >= 0 && x.Col >= 0 {
			return l.columns[x.Rel][x.Col]
		}
	case *query.Written:
		switch {
		case x.Table == "" && l.using[x.Join] != nil:
			return l.using[x.Join][x.Column]
		case l.joined[x.Join] != nil:
			return l.joined[x.Join].names[x.Column]
		}
		return x.Name
	}
	return ""
}

// joinNames returns the names of the columns of a join, and reports whether they are written.
func joinNames(d *deparser, f *query.JoinForm) (names []string, listed bool) {
	j := d.joinOf(f)
	for _, name := range j.names {
		if name != "" {
			names = append(names, name)
		}
	}
	return names, j.listed
}

// usingNames returns the names of the columns that a join merges.
func (d *deparser) usingNames(f *query.JoinForm) []string {
	for _, l := range d.queries {
		if names := l.using[f]; names != nil {
			return names
		}
	}
	return f.Using
}

// nameColumns chooses the names of an entry's columns (set_relation_column_names).
func (l *level) nameColumns(d *deparser, n int, merged map[column]string) {
	r := l.q.Rels[n]
	used, changed := maps.Clone(l.taken), false
	for _, name := range l.around[n] {
		used[name] = 0
	}
	names := make([]string, len(r.Columns))
	for i := range r.Columns {
		if name, ok := merged[column{n, i}]; ok {
			names[i], used[name] = name, 0
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
