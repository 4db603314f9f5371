package counters

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// fieldName returns a column, or a path into the document, as the options of a table name it.
func fieldName(t *catalog.Table, f catalog.Counter) string {
	path := f.Path
	if len(path) == 0 {
		path = []string{t.ColumnByNum(f.Column).Name}
	}
	return shardmap.Field{Path: path}.PathString()
}

// namedFields lists the columns outside of the key, and the paths into the document, that a
// statement reads or writes.
func namedFields(q *query.Query, t *catalog.Table) []catalog.Counter {
	var out []catalog.Counter
	add := func(base query.Expr, path []string) {
		if f, ok := fieldAt(q, t, base, path); ok && !slices.ContainsFunc(out, f.Equal) {
			out = append(out, f)
		}
	}
	said := *q
	said.Checks, said.Indexes = nil, nil // the statement does not name these
	query.WalkQuery(&said, func(e query.Expr, depth int) {
		if depth > 0 {
			return
		}
		switch n := e.(type) {
		case *query.Var:
			add(n, nil)
		case *query.Subscript:
			if n.Assign != nil && !n.Slice {
				add(n.Base, constants(n.Upper))
			}
		case *query.Call:
			if n.Proc.Name == "jsonb_set" && len(n.Args) > 2 {
				add(n.Args[0], constantPath(n.Args[1]))
			}
		}
		if path, _, base := plan.DocumentPath(e); base != nil {
			add(base, path)
		}
	})
	for _, a := range q.Assign {
		if q.Command == query.Update {
			add(&query.Var{Rel: q.Result, Col: a.Col}, nil)
		}
	}
	for _, a := range q.Updates() {
		add(&query.Var{Rel: q.Result, Col: a.Col}, nil)
	}
	all := slices.Clone(out)
	return slices.DeleteFunc(out, func(f catalog.Counter) bool { // doc->'a'->>'b' is one field
		return slices.ContainsFunc(all, func(o catalog.Counter) bool {
			return f.Column == o.Column && len(f.Path) < len(o.Path) && slices.Equal(f.Path, o.Path[:len(f.Path)])
		})
	})
}

// fieldAt returns the field of a table at a path of a column. ok is false for keys, whole
// documents, and columns of other relations.
func fieldAt(q *query.Query, t *catalog.Table, base query.Expr, path []string) (f catalog.Counter, ok bool) {
	v, isVar := base.(*query.Var)
	if !isVar || v.Up != 0 || v.Col < 0 || v.Rel < 0 || v.Rel >= len(q.Rels) || v.Col >= len(t.Columns) {
		return f, false
	}
	of, c := q.Rels[v.Rel].Table, &t.Columns[v.Col]
	if of == nil || of.OID != t.OID || c.Dropped || (c.AttNum == t.Document) != (len(path) > 0) {
		return f, false
	}
	if pk := t.PrimaryKey(); pk != nil && slices.Contains(pk.Columns, c.AttNum) {
		return f, false
	}
	return catalog.Counter{Column: c.AttNum, Path: path}, true
}

// addedFields lists the counters to which an UPDATE only adds.
func addedFields(q *query.Query, t *catalog.Table) (out []catalog.Counter) {
	if q.Command != query.Update || q.Rels[q.Result].Table == nil || q.Rels[q.Result].Table.OID != t.OID {
		return nil
	}
	def := t.Clone()
	def.Hot = &catalog.Hot{Counters: namedFields(q, t)}
	m := matcher{def: def, rel: q.Result}
	for _, a := range m.assignments(q.Assign) {
		out = append(out, def.Hot.Counters[a.counter])
	}
	return out
}
