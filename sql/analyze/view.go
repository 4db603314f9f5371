package analyze

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// storedSchema is the schema of relations in the stored form of queries (package deparse).
const storedSchema = "#"

// storedName reports whether a name is that of a relation in the stored form.
func storedName(rv *pg_query.RangeVar) bool { return strings.HasPrefix(rv.Schemaname, storedSchema) }

// storedTable returns the relation whose OID is the name.
func storedTable(s *scope, name string) *catalog.Table {
	oid, err := strconv.ParseUint(name, 10, 32)
	if err != nil || s.ctx.Catalog == nil {
		return nil
	}
	return s.ctx.Catalog.Table(catalog.OID(oid))
}

// storedRelation is relation for the stored form.
func storedRelation(s *scope, rv *pg_query.RangeVar) (*query.Rel, string, error) {
	t := storedTable(s, rv.Relname)
	if t == nil {
		return nil, "", pgerr.New(pgerr.UndefinedTable, "relation with OID %s does not exist", rv.Relname)
	}
	schema := ""
	if d := s.ctx.Catalog.Schema(t.Schema); d != nil {
		schema = d.Name
	}
	rel, err := relOf(s, t, schema)
	return rel, schema, err
}

// storedItem adds the entry of a relation in the stored form. The query reads its columns by the
// names that they had when it was stored, and does not see those that were added later.
func storedItem(s *scope, rel *query.Rel, rv *pg_query.RangeVar) *nameItem {
	flags, aliased := strings.CutPrefix(rv.Schemaname[len(storedSchema):], "a")
	aliases, _ := strconv.Atoi(flags)
	names := nodeStrings(rv.Alias.GetColnames())
	rel.Alias, rel.Aliased, rel.Aliases = rv.Alias.GetAliasname(), aliased, aliases
	for i := range rel.Columns {
		if i < len(names) && (i < aliases || s.ctx.Form) {
			rel.Columns[i].Name = names[i]
		}
	}
	it := s.itemOf(s.addRel(rel))
	for i := range it.columns {
		switch c := &it.columns[i]; {
		case i >= len(names):
			c.name = ""
		case c.name != "":
			c.name = names[i]
		}
	}
	return it
}

// viewRel is a view in FROM: a subquery.
func viewRel(s *scope, t *catalog.Table, schema string) (*query.Rel, error) {
	rel := &query.Rel{Kind: query.RelSubquery, View: t, SchemaName: schema, Columns: columnsOfTable(t)}
	if s.ctx.Form {
		return rel, nil
	}
	var err error
	if rel.Subquery, err = viewQuery(s, t); err == nil && t.SecurityBarrier() {
		fence(rel.Subquery)
	}
	return rel, err
}

// fence keeps conditions on a query from being evaluated for rows that it does not return: it is not
// merged with the query around it.
func fence(q *query.Query) {
	if q.Limit == nil && q.Offset == nil {
		q.Offset = &query.Const{T: query.Of(types.Int8), Value: types.NewInt(0)}
	}
}

// viewQuery analyzes the query of a view.
func viewQuery(s *scope, t *catalog.Table) (*query.Query, error) {
	if slices.Contains(s.views, t.OID) {
		return nil, pgerr.New(pgerr.InvalidObjectDefinition,
			"infinite recursion detected in rules for relation %q", t.Name)
	}
	ctx := storedContext(s.ctx)
	q, st, err := analyzeView(ctx, t, append(slices.Clip(s.views), t.OID), s.depth)
	if err != nil {
		return nil, err
	}
	s.depth = max(s.depth, st.depth)
	return q, nil
}

// storedContext returns the context of the stored form.
func storedContext(ctx *Context) *Context {
	return &Context{
		Catalog: ctx.Catalog, Database: ctx.Database, Tables: ctx.Tables, Stored: true, lenient: ctx.lenient,
		Bodies: ctx.Bodies,
	}
}

func analyzeView(ctx *Context, t *catalog.Table, views []catalog.OID, depth int) (*query.Query, *state, error) {
	if t.View == nil {
		return nil, nil, pgerr.New(pgerr.InternalError, "view %q has no query", t.Name)
	}
	node, err := viewTree(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	st := &state{ctx: ctx, noParams: true, locs: locations{}, views: views, depth: depth}
	inner := &scope{state: st, q: &query.Query{}}
	if err := inner.selectNode(node, true); err != nil {
		return nil, nil, err
	}
	for i := range visible(inner.q) {
		if !ctx.Form { // which keeps the names that the query itself has
			inner.q.Targets[i].Name = t.Columns[i].Name
		}
	}
	return inner.q, st, nil
}

// viewTree returns the parse tree of a view's query.
func viewTree(ctx *Context, t *catalog.Table) (*pg_query.Node, error) {
	cached := ctx.Tables != nil && t.IsView() // what is kept of other relations are their constraints
	if cached {
		if e := ctx.Tables.get(t); e != nil {
			return e.view, nil
		}
	}
	stmts, err := parse.Parse(t.View.Query)
	if err != nil {
		return nil, err
	}
	if cached {
		ctx.Tables.put(t, &tableExprs{view: stmts[0].Node})
	}
	return stmts[0].Node, nil
}

// ViewForm analyzes the query of a view so that it can be deparsed.
func ViewForm(ctx *Context, t *catalog.Table) (*query.Query, error) {
	stored := storedContext(ctx)
	stored.Form, stored.Bodies = true, nil
	q, _, err := analyzeView(stored, t, nil, 0)
	return q, err
}

// Filling returns the statement that inserts the rows of a materialized view's query into it.
func Filling(ctx *Context, t *catalog.Table) (*query.Query, error) {
	rows, st, err := analyzeView(storedContext(ctx), t, nil, 0)
	if err != nil {
		return nil, err
	}
	own := storedContext(ctx)
	own.Stored = false
	s := &scope{state: &state{ctx: own, locs: st.locs}, q: &query.Query{Command: query.Insert}}
	rel, err := relOf(s, t, "")
	if err != nil {
		return nil, err
	}
	if schema := ctx.Catalog.Schema(t.Schema); schema != nil {
		rel.SchemaName = schema.Name
	}
	rel.Alias = t.Name
	exprs, err := s.tableExprs(t)
	if err != nil {
		return nil, err
	}
	s.q.Result = s.addRel(rel)
	columns := make([]int, len(t.Columns))
	for i := range columns {
		columns[i] = i
	}
	rel.Named.Given = columns
	s.source(rows, columns, nil)
	s.checks(exprs)
	s.indexes(exprs)
	return s.q, nil
}

// Emptying returns the statement that deletes the rows of a materialized view.
func Emptying(ctx *Context, t *catalog.Table) (*query.Query, error) {
	q, err := Filling(ctx, t)
	if err != nil {
		return nil, err
	}
	return &query.Query{Command: query.Delete, Rels: q.Rels[:1], Indexes: q.Indexes}, nil
}

// ViewDefinition is a query that becomes the query of a view.
type ViewDefinition struct {
	Form    *query.Query
	Columns []query.Column
	Stored  string
	Uses    []catalog.Use
}

// DefineView analyzes the query of a view, which may have no parameters.
func DefineView(ctx *Context, node *pg_query.Node) (*ViewDefinition, error) {
	own := *ctx
	own.NoParams, own.Form, own.Bodies = true, true, nil
	st := &state{ctx: &own, text: parse.Positions{Text: ctx.Source}, locs: locations{}, noParams: ctx.Names == nil}
	s := &scope{state: st, q: &query.Query{}}
	if err := s.selectNode(node, true); err != nil {
		return nil, err
	}
	out := &ViewDefinition{Form: s.q, Columns: targetColumns(s.q), Stored: deparse.Stored(s.q)}
	out.Uses = usesOf(s.q, st.keys)
	return out, out.check(ctx)
}

// check reads the stored form, which must be the same query.
func (v *ViewDefinition) check(ctx *Context) error {
	stmts, err := parse.Parse(v.Stored)
	if err == nil {
		stored := storedContext(ctx)
		stored.Form, stored.Bodies, stored.Names = true, nil, ctx.Names
		st := &state{ctx: stored, noParams: ctx.Names == nil, locs: locations{}}
		again := &scope{state: st, q: &query.Query{}}
		err = again.selectNode(stmts[0].Node, true)
		if err == nil && deparse.Stored(again.q) == v.Stored &&
			slices.EqualFunc(targetColumns(again.q), v.Columns, sameType) {
			return nil
		}
	}
	reason := v.Stored
	if err != nil {
		reason = err.Error() + ": " + reason
	}
	return pgerr.Unsupported("this query cannot be stored as a view").WithDetail("%s", reason).
		WithHint("Write the expressions of the query in another way.")
}

// DefineRowCondition analyzes USING or WITH CHECK of a row policy of a table: the only column of a query
// of the table.
func DefineRowCondition(ctx *Context, table *pg_query.RangeVar, node *pg_query.Node) (*ViewDefinition, error) {
	own := *ctx
	own.NoParams, own.Form, own.Bodies = true, true, nil
	st := &state{ctx: &own, text: parse.Positions{Text: ctx.Source}, locs: locations{}, noParams: true}
	s := &scope{state: st, q: &query.Query{}}
	err := s.fromClause([]*pg_query.Node{{Node: &pg_query.Node_RangeVar{RangeVar: table}}})
	if err != nil {
		return nil, err
	}
	err = s.at(inRowPolicy, func() error {
		e, err := s.expr(node)
		if err != nil {
			return err
		}
		if e, err = s.coerceBool(e, "POLICY", location(node)); err != nil {
			return err
		}
		s.q.Targets = []query.Target{{Expr: e, Name: "condition"}}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &ViewDefinition{Form: s.q, Columns: targetColumns(s.q), Stored: deparse.Stored(s.q)}
	out.Uses = usesOf(s.q, st.keys)
	return out, out.check(ctx)
}

// RowCondition analyzes a stored condition of a row policy: over the columns of its table, which are
// Var{Rel: 0}.
func RowCondition(ctx *Context, stored string) (query.Expr, error) {
	s, err := rowCondition(storedContext(ctx), stored)
	if err != nil {
		return nil, err
	}
	return s.q.Targets[0].Expr, nil
}

// RowConditionUses returns what a stored condition of a row policy depends on.
func RowConditionUses(ctx *Context, stored string) ([]catalog.Use, error) {
	own := storedContext(ctx)
	own.Form, own.Bodies = true, nil
	s, err := rowCondition(own, stored)
	if err != nil {
		return nil, err
	}
	return usesOf(s.q, s.keys), nil
}

// RowConditionForm analyzes a stored condition of a row policy so that it can be deparsed.
func RowConditionForm(ctx *Context, stored string) (*query.Query, error) {
	own := storedContext(ctx)
	own.Form, own.Bodies = true, nil
	s, err := rowCondition(own, stored)
	if err != nil {
		return nil, err
	}
	return s.q, nil
}

func rowCondition(ctx *Context, stored string) (*scope, error) {
	stmts, err := parse.Parse(stored)
	if err != nil {
		return nil, err
	}
	s := &scope{state: &state{ctx: ctx, noParams: true, locs: locations{}}, q: &query.Query{}}
	return s, s.selectNode(stmts[0].Node, true)
}

func sameType(a, b query.Column) bool { return a.Type == b.Type && a.Typmod == b.Typmod }

// usesOf lists what a query depends on: columns, relations without columns that it reads, and
// primary keys.
func usesOf(q *query.Query, keys []catalog.OID) []catalog.Use {
	found := map[catalog.OID]map[int16]bool{}
	use := func(oid catalog.OID, att int16) {
		if found[oid] == nil {
			found[oid] = map[int16]bool{}
		}
		if att != 0 {
			found[oid][att] = true
		}
	}
	eachLevel(q, func(q *query.Query) {
		for _, r := range q.Rels {
			if t := relationOf(r); t != nil {
				use(t.OID, 0)
			}
		}
		query.WalkQuery(q, func(e query.Expr, depth int) {
			switch x := e.(type) {
			case *query.Var:
				if x.Up == depth && x.Rel >= 0 && x.Col >= 0 {
					if t := relationOf(q.Rels[x.Rel]); t != nil {
						use(t.OID, t.Columns[x.Col].AttNum)
					}
				}
			case *query.Written:
				if x.Row != 0 {
					use(x.Row, 0)
				}
			case *query.Const:
				if x.OID == types.RegClass && !x.Value.IsNull() {
					use(x.Value.Oid(), 0)
				}
			}
		})
	})
	var out []catalog.Use
	for oid, columns := range found {
		if oid < catalog.FirstOID {
			continue
		}
		u := catalog.Use{Relation: oid}
		for att := range columns {
			u.Columns = append(u.Columns, att)
		}
		slices.Sort(u.Columns)
		out = append(out, u)
	}
	for _, k := range keys {
		out = append(out, catalog.Use{Constraint: k})
	}
	slices.SortFunc(out, func(a, b catalog.Use) int {
		return cmp.Or(cmp.Compare(a.Relation, b.Relation), cmp.Compare(a.Constraint, b.Constraint))
	})
	return out
}

// relationOf returns the relation of an entry that has a definition in the catalog.
func relationOf(r *query.Rel) *catalog.Table {
	if r.View != nil {
		return r.View
	}
	return r.Table
}

// eachLevel calls f for q and every query in it.
func eachLevel(q *query.Query, f func(*query.Query)) {
	if q == nil {
		return
	}
	f(q)
	query.WalkQuery(q, func(e query.Expr, depth int) {
		if s, ok := e.(*query.SubLink); ok && depth == 0 {
			eachLevel(s.Query, f)
		}
	})
	for _, c := range q.CTEs {
		eachLevel(c.Query, f)
	}
	for _, r := range q.Rels {
		eachLevel(r.Subquery, f)
	}
	if q.SetOp != nil {
		eachLevel(q.SetOp.Left, f)
		eachLevel(q.SetOp.Right, f)
	}
}

// joinForm returns how a join is written.
func joinForm(j *pg_query.JoinExpr, using []string, l, r []nameColumn) *query.JoinForm {
	f := &query.JoinForm{Using: using, UsingAlias: j.JoinUsingAlias.GetAliasname()}
	for _, name := range using {
		var sides [2]query.Expr
		for i, side := range [][]nameColumn{l, r} {
			if at := slices.IndexFunc(side, func(c nameColumn) bool { return c.name == name }); at >= 0 {
				sides[i] = side[at].expr
			}
		}
		f.Sides = append(f.Sides, sides)
	}
	return f
}

// markMerged makes merged columns that are no column of a side keep that they are the join's.
func markMerged(f *query.JoinForm, merged []nameColumn) {
	if f == nil {
		return
	}
	for i := range merged {
		switch merged[i].expr.(type) {
		case *query.Var, *query.Written:
		default:
			f.Merged = true
			merged[i].expr = &query.Written{Arg: merged[i].expr, Kind: query.WrittenJoin, Name: merged[i].name, Join: f,
				Column: i}
		}
	}
}

// writtenJoin makes the columns of a join with an alias keep that they are the join's, under names
// that differ.
func writtenJoin(it *nameItem, f *query.JoinForm, listed bool) {
	f.Alias, f.Listed = it.alias, listed
	it.columns = slices.Clone(it.columns)
	for i := range it.columns {
		c := &it.columns[i]
		name := c.name
		for n := 1; name != "" && slices.ContainsFunc(f.Columns,
			func(o query.JoinColumn) bool { return o.Name == name }); n++ {
			name, f.Listed = c.name+"_"+itoa(n), true
		}
		f.Columns = append(f.Columns, query.JoinColumn{Name: name, Expr: c.expr})
		if c.name != "" {
			c.expr = &query.Written{Arg: query.Unwritten(c.expr), Kind: query.WrittenJoin, Table: it.alias, Name: name,
				Join: f, Column: i}
		}
	}
}

// writtenCall keeps the arguments of a call as the text has them, if it names them or leaves some out.
func writtenCall(call *query.Call, f *found, given callArgs) query.Expr {
	if len(given.names) == 0 && f.defaults == 0 || f.variadic > 0 || call.Variadic {
		return call
	}
	w := &query.Written{Arg: call, Kind: query.WrittenCall}
	positional := len(given.items) - len(given.names)
	for i := range given.items {
		g := query.Given{Arg: i}
		if f.positions != nil {
			g.Arg = f.positions[i]
		}
		if i >= positional {
			g.Name = given.names[i-positional]
		}
		w.Given = append(w.Given, g)
	}
	return w
}

// collationName returns the name of a collation, quoted.
func collationName(name []string) string { return builtin.QuoteIdent(name[len(name)-1]) }
