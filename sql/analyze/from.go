package analyze

import (
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

func (s *scope) addRel(r *query.Rel) int {
	s.q.Rels = append(s.q.Rels, r)
	return len(s.q.Rels) - 1
}

// fromClause analyzes FROM (transformFromClause).
func (s *scope) fromClause(nodes []*pg_query.Node) error {
	for _, n := range nodes {
		from, items, err := s.fromItem(n)
		if err != nil {
			return err
		}
		if err := s.checkNames(s.names, items); err != nil {
			return err
		}
		setLateral(items, true, true)
		s.names = append(s.names, items...)
		s.q.From = append(s.q.From, from)
	}
	setLateral(s.names, false, true)
	return nil
}

func setLateral(items []*nameItem, only, ok bool) {
	for _, it := range items {
		it.lateralOnly, it.lateralOK = only, ok
	}
}

// checkNames refuses two entries with the same name (checkNameSpaceConflicts).
func (s *scope) checkNames(have, added []*nameItem) error {
	for _, a := range have {
		if !a.relVisible || a.alias == "" {
			continue
		}
		for _, b := range added {
			if b.relVisible && a.alias == b.alias && (a.schema == b.schema || a.schema == "" || b.schema == "") {
				return pgerr.New(pgerr.DuplicateAlias, "table name %q specified more than once", a.alias)
			}
		}
	}
	return nil
}

// fromItem analyzes one item and returns the names that it adds.
func (s *scope) fromItem(n *pg_query.Node) (query.From, []*nameItem, error) {
	if err := s.enter(); err != nil {
		return nil, nil, err
	}
	defer s.leave()
	switch v := n.GetNode().(type) {
	case *pg_query.Node_RangeVar:
		return s.one(s.rangeVar(v.RangeVar))
	case *pg_query.Node_RangeSubselect:
		return s.one(s.rangeSubselect(v.RangeSubselect))
	case *pg_query.Node_RangeFunction:
		return s.one(s.rangeFunction(v.RangeFunction))
	case *pg_query.Node_JoinExpr:
		return s.join(v.JoinExpr)
	case *pg_query.Node_RangeTableSample:
		return nil, nil, s.unsupported(v.RangeTableSample.Location, "TABLESAMPLE is not supported yet").
			WithHint("%s", nodeHint("RangeTableSample"))
	}
	kind := strings.TrimPrefix(typeOfNode(n), "*pg_query.Node_")
	return nil, nil, s.unsupported(location(n), "%s in FROM is not supported yet", nodeLabel(kind)).
		WithHint("%s", nodeHint(kind))
}

func (s *scope) one(it *nameItem, err error) (query.From, []*nameItem, error) {
	if err != nil {
		return nil, nil, err
	}
	return &query.FromRel{Rel: it.rel}, []*nameItem{it}, nil
}

// rangeVar is a table, a system view or a WITH query in FROM.
func (s *scope) rangeVar(rv *pg_query.RangeVar) (*nameItem, error) {
	if rv.Schemaname == "" {
		if c, up := s.lookupCTE(rv.Relname); c != nil {
			return s.cteItem(c, up, rv)
		}
	}
	rel, schema, err := s.relation(rv)
	if err != nil {
		return nil, err
	}
	if s.ctx.Stored && storedName(rv) {
		return storedItem(s, rel, rv), nil
	}
	aliased, err := s.applyAlias(rel, rv.Alias, rv.Relname)
	if err != nil {
		return nil, err
	}
	it := s.itemOf(s.addRel(rel))
	if !aliased {
		it.schema = schema
	}
	return it, nil
}

// applyAlias sets the names of a range table entry and its columns, and reports whether there is an
// alias.
func (s *scope) applyAlias(rel *query.Rel, alias *pg_query.Alias, name string) (bool, error) {
	rel.Alias = name
	if alias == nil {
		return false, nil
	}
	rel.Alias, rel.Aliased, rel.Aliases = alias.Aliasname, true, len(alias.GetColnames())
	return true, s.aliasColumns(rel.Columns, alias)
}

func (s *scope) aliasColumns(columns []query.Column, alias *pg_query.Alias) error {
	names := nodeStrings(alias.GetColnames())
	at := 0
	for i := range columns {
		if columns[i].Dropped {
			continue
		}
		if at < len(names) {
			columns[i].Name = names[at]
		}
		at++
	}
	if len(names) > at {
		return pgerr.New(pgerr.InvalidColumnReference, "table %q has %d columns available but %d columns specified",
			alias.Aliasname, at, len(names))
	}
	return nil
}

// relation finds the table or system view of a name.
func (s *scope) relation(rv *pg_query.RangeVar) (*query.Rel, string, error) {
	if rv.Catalogname != "" && rv.Catalogname != s.databaseName() {
		return nil, "", s.errorf(rv.Location, pgerr.FeatureNotSupported,
			"cross-database references are not implemented: %q",
			rv.Catalogname+"."+rv.Schemaname+"."+rv.Relname)
	}
	if s.ctx.Stored && storedName(rv) {
		return storedRelation(s, rv)
	}
	if columns := s.ctx.Transitions[rv.Relname]; columns != nil && rv.Schemaname == "" {
		return &query.Rel{
			Kind: query.RelSystem, System: TransitionPrefix + rv.Relname, Columns: slices.Clone(columns),
		}, "", nil
	}
	schemas := s.searchPath()
	shown := rv.Relname
	if rv.Schemaname != "" {
		schemas, shown = []string{rv.Schemaname}, rv.Schemaname+"."+rv.Relname
	}
	if rv.Schemaname != "" {
		if err := s.ctx.usesSchema(rv.Schemaname); err != nil {
			return nil, "", pgerr.From(err).At(s.pos(rv.Location))
		}
	}
	for _, schema := range schemas {
		t, r := s.relationIn(schema, rv.Relname)
		if t != nil && t.Kind == catalog.KindParts && !s.ctx.Storage {
			t = nil
		}
		switch {
		case t != nil && t.Kind == catalog.KindIndex:
			return nil, "", s.errorf(rv.Location, pgerr.WrongObjectType, "cannot open relation %q", rv.Relname).
				WithDetail("This operation is not supported for indexes.")
		case t != nil:
			rel, err := relOf(s, t, schema)
			return rel, schema, err
		case r != nil:
			return &query.Rel{Kind: query.RelSystem, System: schema + "." + r.Name, SchemaName: schema,
				Columns: columnsOfSystem(r)}, schema, nil
		case types.IsComposite(userTypeIn(s.ctx, schema, rv.Relname)):
			return nil, "", s.errorf(rv.Location, pgerr.WrongObjectType, "cannot open relation %q", rv.Relname).
				WithDetail("This operation is not supported for composite types.")
		}
	}
	e := s.errorf(rv.Location, pgerr.UndefinedTable, "relation %q does not exist", shown)
	if rv.Schemaname == "" && s.isFutureCTE(rv.Relname) {
		e = e.WithDetail("There is a WITH item named %q, but it cannot be referenced from this part of the query.",
			rv.Relname).
			WithHint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.")
	}
	return nil, "", e
}

// usesSchema returns an error unless the current role may find objects in a schema.
func (ctx *Context) usesSchema(name string) error {
	if ctx.User == 0 || ctx.Catalog == nil {
		return nil
	}
	return privilege.Of(ctx.Catalog, ctx.Database, ctx.User).UsesSchema(name)
}

// relOf returns the range table entry of a relation of the catalog.
func relOf(s *scope, t *catalog.Table, schema string) (*query.Rel, error) {
	switch {
	case t.Kind == catalog.KindView:
		return viewRel(s, t, schema)
	case t.Kind == catalog.KindSequence && !s.ctx.Storage:
		return sequenceRel(t, schema), nil
	}
	rel := &query.Rel{Kind: query.RelTable, Table: t, SchemaName: schema, Columns: columnsOfTable(t)}
	var err error
	rel.Indexes, err = s.indexesOf(t)
	return rel, err
}

// TransitionPrefix is the prefix of the name of a transition table's row source; its name follows.
const TransitionPrefix = "transition "

// SequencePrefix is the prefix of the name of a sequence's row source; the OID follows.
const SequencePrefix = "sequence "

// sequenceRel is a sequence in FROM. The gateway returns its row, because it knows which of the
// reserved values nextval has returned.
func sequenceRel(t *catalog.Table, schema string) *query.Rel {
	return &query.Rel{
		Kind: query.RelSystem, System: SequencePrefix + strconv.FormatUint(uint64(t.OID), 10), Table: t,
		SchemaName: schema, Columns: columnsOfTable(t)[:catalog.SequenceShown],
	}
}

// searchPath returns the effective path: pg_catalog is first unless it is listed.
func (s *scope) searchPath() []string {
	for _, p := range s.ctx.SearchPath {
		if p == "pg_catalog" {
			return s.ctx.SearchPath
		}
	}
	return append([]string{"pg_catalog"}, s.ctx.SearchPath...)
}

func (s *scope) relationIn(schema, name string) (*catalog.Table, *pgcatalog.Relation) {
	if r := pgcatalog.RelationByName(schema, name); r != nil {
		return nil, r
	}
	if s.ctx.Catalog == nil {
		return nil, nil
	}
	return s.ctx.Catalog.FindTable(s.ctx.Database, schema, name), nil
}

// rangeSubselect is a subquery in FROM.
func (s *scope) rangeSubselect(rs *pg_query.RangeSubselect) (*nameItem, error) {
	inner := s.child()
	old, oldPlace := s.lateral, s.place
	s.lateral, s.place = rs.Lateral, inFromSubselect
	err := inner.selectNode(rs.Subquery, true)
	s.lateral, s.place = old, oldPlace
	if err != nil {
		return nil, err
	}
	rel := &query.Rel{Kind: query.RelSubquery, Subquery: inner.q, Columns: targetColumns(inner.q)}
	rel.Lateral = rs.Lateral && usesLevel(inner.q, 1)
	if _, err := s.applyAlias(rel, rs.Alias, ""); err != nil {
		return nil, err
	}
	it := s.itemOf(s.addRel(rel))
	if rs.Alias == nil {
		it.relVisible = false
	}
	return it, nil
}

// targetColumns returns the output columns of a query.
func targetColumns(q *query.Query) []query.Column {
	var out []query.Column
	for _, t := range visible(q) {
		out = append(out, query.Column{Name: t.Name, Type: t.Expr.Type(), Typmod: t.Expr.Typmod()})
	}
	return out
}

// usesLevel reports whether a query refers to the query level that is up levels further out.
func usesLevel(q *query.Query, up int) bool {
	found := false
	query.WalkQuery(q, func(x query.Expr, depth int) {
		if v, ok := x.(*query.Var); ok && v.Up == depth+up {
			found = true
		}
	})
	return found
}
