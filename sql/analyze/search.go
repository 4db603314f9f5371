package analyze

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// searching adds the columns of SEARCH and CYCLE to a recursive query (rewriteSearchAndCycle). Each
// term becomes the source of a query that computes them; the recursive term takes their former
// values from the rows that it starts with.
type searching struct {
	*scope  // of the UNION
	entry   *cteEntry
	columns []query.Column // of the query without them
	added   []addedColumn
	search  *pg_query.CTESearchClause // or nil
	cycle   *pg_query.CTECycleClause  // or nil
	mark    markValues
}

// addedColumn is a column that SEARCH or CYCLE adds, with its values in a row of the first term and
// in one of the recursive term, which next computes from the former value.
type addedColumn struct {
	query.Column
	first query.Expr
	next  func(former query.Expr) (query.Expr, error)
}

// markValues are those of the column that CYCLE … SET adds.
type markValues struct {
	of            types.OID
	cycle, normal query.Expr // the row closes a cycle, or does not
}

// searchAndCycle checks that a WITH query has the form that SEARCH and CYCLE ask for, and computes
// their columns. The scope is the query's.
func searchAndCycle(s *scope, c *pg_query.CommonTableExpr, entry *cteEntry) error {
	if !entry.self {
		return s.errorf(c.Location, pgerr.SyntaxError, "WITH query is not recursive")
	}
	left, right := s.q.SetOp.Left, s.q.SetOp.Right
	for _, side := range []struct {
		q    *query.Query
		name string
	}{{left, "left"}, {right, "right"}} {
		if side.q.SetOp != nil {
			return s.unsupported(-1, "with a SEARCH or CYCLE clause, the %s side of the UNION must be a SELECT",
				side.name)
		}
	}
	at := slices.IndexFunc(right.Rels, func(r *query.Rel) bool { return r.CTE == entry.cte })
	if at < 0 {
		return s.unsupported(-1, "with a SEARCH or CYCLE clause, the recursive reference to WITH query %q must be at "+
			"the top level of its right-hand SELECT", entry.name)
	}
	if right.GroupBy != nil || right.DistinctOn != nil {
		return s.unsupported(-1, "GROUP BY and DISTINCT ON in a recursive term with SEARCH or CYCLE are not supported")
	}
	return entry.searching.rewrite(left, right, at)
}

// addColumns finds out which columns the clauses add.
func (x *searching) addColumns() error {
	if err := x.check(); err != nil {
		return err
	}
	if x.search != nil {
		x.added = append(x.added, x.sequence())
	}
	if x.cycle != nil {
		if err := x.marks(); err != nil {
			return err
		}
		x.added = append(x.added, x.marked(), x.path())
	}
	return nil
}

// check checks the names that the clauses have.
func (x *searching) check() error {
	names := map[string]string{} // of columns that are added: what they are
	fresh := func(name, what string, loc int32) error {
		if x.column(name) >= 0 {
			return x.errorf(loc, pgerr.SyntaxError, "%s name %q already used in WITH query column list", what, name)
		}
		if other, ok := names[name]; ok {
			return x.errorf(loc, pgerr.SyntaxError, "%s name and %s name are the same", other, what)
		}
		names[name] = what
		return nil
	}
	if c := x.search; c != nil {
		if err := x.checkList(nodeStrings(c.SearchColList), "search", c.Location); err != nil {
			return err
		}
		if err := fresh(c.SearchSeqColumn, "search sequence column", c.Location); err != nil {
			return err
		}
	}
	if c := x.cycle; c != nil {
		if err := x.checkList(nodeStrings(c.CycleColList), "cycle", c.Location); err != nil {
			return err
		}
		if err := fresh(c.CycleMarkColumn, "cycle mark column", c.Location); err != nil {
			return err
		}
		if err := fresh(c.CyclePathColumn, "cycle path column", c.Location); err != nil {
			return err
		}
	}
	return nil
}

func (x *searching) checkList(names []string, clause string, loc int32) error {
	for i, n := range names {
		if x.column(n) < 0 {
			return x.errorf(loc, pgerr.SyntaxError, "%s column %q not in WITH query column list", clause, n)
		}
		if slices.Contains(names[:i], n) {
			return x.errorf(loc, pgerr.DuplicateColumn, "%s column %q specified more than once", clause, n)
		}
	}
	return nil
}

// column returns the position of a column of the query, -1 if there is none of that name.
func (x *searching) column(name string) int {
	return slices.IndexFunc(x.columns, func(c query.Column) bool { return c.Name == name })
}

// of is column i of the term that a query of rewrite reads.
func (x *searching) of(i int) query.Expr {
	c := x.columns[i]
	return &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Col: i, Name: c.Name}
}

// row is ROW(…) of columns, behind other fields.
func (x *searching) row(names []string, before ...query.Expr) query.Expr {
	row := &query.Row{T: query.Of(types.Record), Fields: before}
	for _, n := range names {
		row.Fields = append(row.Fields, x.of(x.column(n)))
	}
	for i := range row.Fields {
		row.Names = append(row.Names, "f"+itoa(i+1))
	}
	return row
}

// appended is an array of records with a row behind it.
func (x *searching) appended(array, row query.Expr) (query.Expr, error) {
	return x.opCall([]string{"||"}, array, records(row), -1)
}

func int8Const(n int64) query.Expr {
	return &query.Const{T: query.Of(types.Int8), Value: types.NewInt(n)}
}

func records(row query.Expr) query.Expr {
	return &query.Array{T: query.Of(types.RecordArray), Elem: types.Record, Elems: []query.Expr{row}}
}

// sequence is the column of SEARCH. Ordered by it, rows come depth first: it is the path to the
// row; or breadth first: it begins with the depth.
func (x *searching) sequence() addedColumn {
	names := nodeStrings(x.search.SearchColList)
	c := addedColumn{Column: query.Column{Name: x.search.SearchSeqColumn, Typmod: -1}}
	if !x.search.SearchBreadthFirst {
		c.Type, c.first = types.RecordArray, records(x.row(names))
		c.next = func(former query.Expr) (query.Expr, error) { return x.appended(former, x.row(names)) }
		return c
	}
	c.Type, c.first = types.Record, x.row(names, int8Const(0))
	c.next = func(former query.Expr) (query.Expr, error) {
		depth := &query.Field{T: query.Of(types.Int8), Arg: former, N: 0, Name: "f1"}
		deeper, err := x.opCall([]string{"+"}, depth, int8Const(1), -1)
		if err != nil {
			return nil, err
		}
		return x.row(names, deeper), nil
	}
	return c
}

// marks analyzes the values of CYCLE … SET mark TO value DEFAULT value.
func (x *searching) marks() error {
	var items []item
	for _, n := range []*pg_query.Node{x.cycle.CycleMarkValue, x.cycle.CycleMarkDefault} {
		e, err := x.expr(n)
		if err != nil {
			return err
		}
		items = append(items, item{e, location(n)})
	}
	t, err := x.commonType(items, "CYCLE")
	if err != nil {
		return err
	}
	values, err := x.coerceAll(items, t, "CYCLE/SET/TO")
	if err != nil {
		return err
	}
	if err := x.sortable(t, -1, "equality"); err != nil {
		return err
	}
	x.mark = markValues{t, values[0], values[1]}
	return nil
}

// marked is the column of CYCLE that says whether the row closes a cycle.
func (x *searching) marked() addedColumn {
	return addedColumn{Column: query.Column{Name: x.cycle.CycleMarkColumn, Type: x.mark.of, Typmod: -1},
		first: x.mark.normal,
		next: func(query.Expr) (query.Expr, error) {
			row, path := x.row(nodeStrings(x.cycle.CycleColList)), x.former(len(x.added)-1)
			seen, err := x.arrayOp([]string{"="}, false, row, path, -1)
			if err != nil {
				return nil, err
			}
			return &query.Case{T: query.Of(x.mark.of), Whens: []query.When{{Cond: seen, Result: x.mark.cycle}},
				Else: x.mark.normal}, nil
		}}
}

// path is the column of CYCLE with the rows that lead to a row.
func (x *searching) path() addedColumn {
	names := nodeStrings(x.cycle.CycleColList)
	return addedColumn{Column: query.Column{Name: x.cycle.CyclePathColumn, Type: types.RecordArray, Typmod: -1},
		first: records(x.row(names)),
		next:  func(former query.Expr) (query.Expr, error) { return x.appended(former, x.row(names)) }}
}

// former is the value that added column i has in the row from which the recursive term made one.
func (x *searching) former(i int) query.Expr {
	c := x.added[i]
	return &query.Var{T: query.Of(c.Type), Col: len(x.columns) + i, Name: c.Name}
}

// rewrite puts both terms into queries that compute the columns. The recursive term reads the WITH
// query as range table entry at.
func (x *searching) rewrite(left, right *query.Query, at int) error {
	n := len(x.columns)
	for i, c := range x.added {
		right.Targets = append(right.Targets, query.Target{Name: c.Name,
			Expr: &query.Var{T: query.Of(c.Type), Rel: at, Col: n + i, Name: c.Name}})
	}
	first, next := x.around(left, "*TLOCRN*"), x.around(right, "*TROCRN*")
	for i, c := range x.added {
		e, err := c.next(x.former(i))
		if err != nil {
			return err
		}
		first.Targets = append(first.Targets, query.Target{Name: c.Name, Expr: c.first})
		next.Targets = append(next.Targets, query.Target{Name: c.Name, Expr: e})
		x.q.Targets = append(x.q.Targets, query.Target{Name: c.Name,
			Expr: &query.Var{T: query.Of(c.Type), Rel: -1, Col: n + i, Name: c.Name}})
	}
	if x.cycle != nil { // nothing follows a row that closes a cycle
		goesOn, err := x.opCall([]string{"<>"}, x.former(len(x.added)-2), x.mark.cycle, -1)
		if err != nil {
			return err
		}
		next.Where = goesOn
	}
	x.q.SetOp.Left, x.q.SetOp.Right = first, next
	return nil
}

// around returns a query of the columns of a term, which becomes its subquery.
func (x *searching) around(term *query.Query, alias string) *query.Query {
	query.RaiseQuery(term, 1)
	rel := &query.Rel{Kind: query.RelSubquery, Subquery: term, Alias: alias, Columns: targetColumns(term)}
	out := &query.Query{Rels: []*query.Rel{rel}, From: []query.From{&query.FromRel{}}}
	for i := range x.columns {
		out.Targets = append(out.Targets, query.Target{Name: x.columns[i].Name, Expr: x.of(i)})
	}
	return out
}
