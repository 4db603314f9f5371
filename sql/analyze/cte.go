package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// cteEntry is a WITH query that can be referred to.
type cteEntry struct {
	name string
	cte  *query.CTE
	open bool // being analyzed: only a recursive reference is allowed
	self bool // it refers to itself
	// notYet is the reason why a reference is not allowed at this point, "" if it is allowed.
	notYet string
	form   bool  // notYet is about the whole query
	loc    int32 // of the WITH query
	// searching are its SEARCH and CYCLE, nil if it has neither or its columns are not known yet.
	searching *searching
}

// with analyzes WITH. Each query can refer to the previous ones, and under RECURSIVE also to
// itself.
func (s *scope) with(w *pg_query.WithClause) error {
	if w == nil {
		return nil
	}
	for i, n := range w.Ctes {
		c := n.GetCommonTableExpr()
		for _, other := range w.Ctes[:i] {
			if other.GetCommonTableExpr().Ctename == c.Ctename {
				return s.errorf(c.Location, pgerr.DuplicateAlias, "WITH query name %q specified more than once",
					c.Ctename)
			}
		}
		s.future = w.Ctes[i:]
		if err := s.withQuery(c, w.Recursive); err != nil {
			return err
		}
	}
	s.future = nil
	return nil
}

func (s *scope) withQuery(c *pg_query.CommonTableExpr, recursive bool) error {
	cte := &query.CTE{Name: c.Ctename, Materialized: materialized(c.Ctematerialized), InRecursive: recursive,
		Aliases: len(c.Aliascolnames)}
	entry := &cteEntry{name: c.Ctename, cte: cte, open: true, loc: c.Location}
	inner := s.child()
	sel := c.Ctequery.GetSelectStmt()
	if c.Ctequery.GetMergeStmt() != nil {
		return s.unsupported(c.Location, "MERGE not supported in WITH query").
			WithHint("Write the MERGE as a statement of its own.")
	}
	if sel == nil && s.parent != nil {
		return s.errorf(c.Location, pgerr.FeatureNotSupported,
			"WITH clause containing a data-modifying statement must be at the top level")
	}
	if recursive {
		s.ctes = append(s.ctes, entry)
	}
	var err error
	switch {
	case sel == nil:
		entry.form, entry.notYet = true, "recursive query %q must not contain data-modifying statements"
		err = inner.statement(c.Ctequery)
	case recursive:
		err = inner.recursiveQuery(sel, c, entry)
	default:
		err = inner.selectStmt(sel, true)
	}
	if err != nil {
		return err
	}
	if c.SearchClause != nil || c.CycleClause != nil {
		if err := searchAndCycle(inner, c, entry); err != nil {
			return err
		}
	}
	cte.Query = inner.q
	columns := targetColumns(inner.q)
	if err := nameCTEColumns(columns, c); err != nil {
		err.Position = s.pos(c.Location)
		return err
	}
	cte.Columns, entry.open, cte.Recursive = columns, false, entry.self
	if !recursive {
		s.ctes = append(s.ctes, entry)
	}
	s.q.CTEs = append(s.q.CTEs, cte)
	return nil
}

func materialized(m pg_query.CTEMaterialize) byte {
	switch m {
	case pg_query.CTEMaterialize_CTEMaterializeAlways:
		return 'm'
	case pg_query.CTEMaterialize_CTEMaterializeNever:
		return 'n'
	}
	return 0
}

func nameCTEColumns(columns []query.Column, c *pg_query.CommonTableExpr) *pgerr.Error {
	names := nodeStrings(c.Aliascolnames)
	if len(names) > len(columns) {
		return pgerr.New(pgerr.InvalidColumnReference,
			"WITH query %q has %d columns available but %d columns specified", c.Ctename, len(columns), len(names))
	}
	for i, n := range names {
		columns[i].Name = n
	}
	return nil
}

// recursiveQuery analyzes a query that may refer to itself: non-recursive-term UNION [ALL]
// recursive-term.
func (s *scope) recursiveQuery(sel *pg_query.SelectStmt, c *pg_query.CommonTableExpr, entry *cteEntry) error {
	if sel.Op != pg_query.SetOperation_SETOP_UNION {
		entry.form, entry.notYet = true,
			"recursive query %q does not have the form non-recursive-term UNION [ALL] recursive-term"
		return s.selectStmt(sel, true)
	}
	if err := s.with(sel.WithClause); err != nil {
		return err
	}
	entry.notYet = "recursive reference to query %q must not appear within its non-recursive term"
	err := s.setOperands(sel, func(left *query.Query) error {
		inner := s.child()
		inner.q = left
		if err := inner.resolveUnknowns(); err != nil {
			return err
		}
		entry.notYet = ""
		entry.cte.Columns = targetColumns(left)
		if err := nameCTEColumns(entry.cte.Columns, c); err != nil {
			return err
		}
		if c.SearchClause != nil || c.CycleClause != nil {
			entry.searching = &searching{scope: s, entry: entry, columns: entry.cte.Columns, search: c.SearchClause,
				cycle: c.CycleClause}
			return entry.searching.addColumns()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if entry.self {
		if err := wholeRecursion(s, sel); err != nil {
			return err
		}
		if err := s.checkRecursion(entry); err != nil {
			return err
		}
		for i, t := range s.q.Targets {
			if have := entry.cte.Columns[i].Type; have != t.Expr.Type() {
				return s.recursiveType(entry.cte, i, have, t.Expr.Type(), sel)
			}
		}
		return nil
	}
	for _, n := range sel.SortClause {
		if err := s.setOrder(n.GetSortBy()); err != nil {
			return err
		}
	}
	return s.limits(sel)
}

// wholeRecursion refuses clauses that would apply to all rows of a recursive query.
func wholeRecursion(s *scope, sel *pg_query.SelectStmt) error {
	switch {
	case len(sel.SortClause) > 0:
		return s.unsupported(location(sel.SortClause[0]), "ORDER BY in a recursive query is not implemented")
	case sel.LimitOffset != nil:
		return s.unsupported(location(sel.LimitOffset), "OFFSET in a recursive query is not implemented")
	case sel.LimitCount != nil:
		return s.unsupported(location(sel.LimitCount), "LIMIT in a recursive query is not implemented")
	case len(sel.LockingClause) > 0:
		return s.unsupported(-1, "FOR UPDATE/SHARE in a recursive query is not implemented")
	}
	return nil
}

func (s *scope) recursiveType(c *query.CTE, i int, have, want types.OID, sel *pg_query.SelectStmt) error {
	return s.errorf(targetLocation(sel.Larg, i), pgerr.DatatypeMismatch,
		"recursive query %q column %d has type %s in non-recursive term but type %s overall", c.Name, i+1,
		s.ctx.name(have), s.ctx.name(want)).
		WithHint("Cast the output of the non-recursive term to the correct type.")
}

// checkRecursion refuses recursive terms that cannot be evaluated step by step.
func (s *scope) checkRecursion(entry *cteEntry) error {
	step := s.q.SetOp.Right
	fail := func(format string) error {
		return pgerr.New(pgerr.InvalidRecursion, format, entry.name)
	}
	switch {
	case step.HasAggs && refersTo(step, entry.cte):
		return pgerr.New(pgerr.InvalidRecursion,
			"aggregate functions are not allowed in a recursive query's recursive term").At(firstAggregate(step))
	case countRefs(step, entry.cte) > 1:
		return fail("recursive reference to query %q must not appear more than once")
	case step.SetOp != nil && refersTo(step.SetOp.Right, entry.cte) && step.SetOp.Kind == query.Except:
		return fail("recursive reference to query %q must not appear within EXCEPT")
	case len(step.OrderBy) > 0 || step.Limit != nil || step.Offset != nil:
		return s.unsupported(-1, "ORDER BY and LIMIT in a recursive query are not implemented")
	}
	if outer := outerReference(step, entry.cte); outer {
		return fail("recursive reference to query %q must not appear within an outer join")
	}
	return nil
}

// firstAggregate returns the location of the first aggregate of q's own level.
func firstAggregate(q *query.Query) int {
	pos := 0
	query.WalkQuery(q, func(e query.Expr, depth int) {
		if a, ok := e.(*query.Agg); ok && pos == 0 && a.Up == depth {
			pos = a.Pos
		}
	})
	return pos
}

func refersTo(q *query.Query, c *query.CTE) bool { return countRefs(q, c) > 0 }

// countRefs returns the number of references to a WITH query in q and its subqueries.
func countRefs(q *query.Query, c *query.CTE) int {
	if q == nil {
		return 0
	}
	n := 0
	for _, r := range q.Rels {
		if r.CTE == c {
			n++
		}
		n += countRefs(r.Subquery, c)
	}
	for _, inner := range q.CTEs {
		n += countRefs(inner.Query, c)
	}
	if q.SetOp != nil {
		n += countRefs(q.SetOp.Left, c) + countRefs(q.SetOp.Right, c)
	}
	query.WalkQuery(q, func(e query.Expr, depth int) {
		if sub, ok := e.(*query.SubLink); ok && depth == 0 {
			n += countRefs(sub.Query, c)
		}
	})
	return n
}

// outerReference reports whether the WITH query is on the nullable side of an outer join.
func outerReference(q *query.Query, c *query.CTE) bool {
	var visit func(f query.From, nullable bool) bool
	visit = func(f query.From, nullable bool) bool {
		switch v := f.(type) {
		case *query.FromRel:
			return nullable && q.Rels[v.Rel].CTE == c
		case *query.FromJoin:
			return visit(v.Left, nullable || v.Kind == query.Right || v.Kind == query.Full) ||
				visit(v.Right, nullable || v.Kind == query.Left || v.Kind == query.Full)
		}
		return false
	}
	for _, f := range q.From {
		if visit(f, false) {
			return true
		}
	}
	return false
}

// lookupCTE finds a WITH query by name, the innermost first.
func (s *scope) lookupCTE(name string) (*cteEntry, int) {
	up := 0
	for level := s; level != nil; level, up = level.parent, up+1 {
		for i := len(level.ctes) - 1; i >= 0; i-- {
			if level.ctes[i].name == name {
				return level.ctes[i], up
			}
		}
	}
	return nil, 0
}

// isFutureCTE reports whether a name is that of a later WITH query, which cannot be referred to
// yet.
func (s *scope) isFutureCTE(name string) bool {
	for level := s; level != nil; level = level.parent {
		for _, n := range level.future {
			if n.GetCommonTableExpr().GetCtename() == name {
				return true
			}
		}
	}
	return false
}

// cteItem is a reference to a WITH query in FROM.
func (s *scope) cteItem(c *cteEntry, up int, rv *pg_query.RangeVar) (*nameItem, error) {
	if c.open {
		if c.notYet != "" {
			loc := rv.Location
			if c.form {
				loc = c.loc
			}
			return nil, s.errorf(loc, pgerr.InvalidRecursion, c.notYet, c.name)
		}
		c.self, c.cte.Recursive = true, true
	}
	if q := c.cte.Query; q != nil && q.Command != query.Select && !q.Returning {
		return nil, s.errorf(rv.Location, pgerr.FeatureNotSupported, "WITH query %q does not have a RETURNING clause",
			c.name)
	}
	c.cte.Refs++
	rel := &query.Rel{Kind: query.RelCTE, CTE: c.cte, CTELevels: up,
		Columns: append([]query.Column(nil), c.cte.Columns...)}
	if _, err := s.applyAlias(rel, rv.Alias, rv.Relname); err != nil {
		return nil, err
	}
	if !c.open || c.searching == nil {
		return s.itemOf(s.addRel(rel)), nil
	}
	for _, a := range c.searching.added {
		rel.Columns = append(rel.Columns, a.Column)
	}
	it := s.itemOf(s.addRel(rel))
	for i := range c.searching.added {
		it.columns[len(it.columns)-1-i].unexpanded = true
	}
	return it, nil
}
