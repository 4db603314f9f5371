package analyze

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
)

// join analyzes a JOIN. Its columns are expressions over its inputs, so it needs no range table
// entry.
func (s *scope) join(j *pg_query.JoinExpr) (query.From, []*nameItem, error) {
	kind, ok := map[pg_query.JoinType]query.JoinKind{
		pg_query.JoinType_JOIN_INNER: query.Inner, pg_query.JoinType_JOIN_LEFT: query.Left,
		pg_query.JoinType_JOIN_RIGHT: query.Right, pg_query.JoinType_JOIN_FULL: query.Full,
	}[j.Jointype]
	if !ok {
		return nil, nil, s.errorf(-1, pgerr.SyntaxError, "unrecognized join type")
	}
	left, leftItems, err := s.fromItem(j.Larg)
	if err != nil {
		return nil, nil, err
	}
	// The right side sees the left one through LATERAL, which RIGHT and FULL joins forbid.
	before := s.names
	setLateral(leftItems, true, kind == query.Inner || kind == query.Left)
	s.names = append(slices.Clip(before), leftItems...)
	right, rightItems, err := s.fromItem(j.Rarg)
	s.names = before
	if err != nil {
		return nil, nil, err
	}
	if err := s.checkNames(leftItems, rightItems); err != nil {
		return nil, nil, err
	}
	all := append(slices.Clip(leftItems), rightItems...)
	from := &query.FromJoin{Kind: kind, Left: left, Right: right, Rel: -1}
	using := nodeStrings(j.UsingClause)
	l, r := mergeColumns(leftItems), mergeColumns(rightItems)
	if j.IsNatural {
		using = commonNames(l, r)
	}
	var merged []nameColumn
	if s.ctx.Form {
		from.Form = joinForm(j, using, l, r)
	}
	if len(using) > 0 {
		if from.On, merged, err = s.using(using, l, r, kind); err != nil {
			return nil, nil, err
		}
		markMerged(from.Form, merged)
	} else if j.Quals != nil {
		if from.On, err = s.joinOn(j.Quals, all); err != nil {
			return nil, nil, err
		}
	}
	items, err := s.joinItems(j, all, [][]nameColumn{l, r, merged}, using, from.Form)
	return from, items, err
}

// mergeColumns returns the columns of the items that are visible without a table's name.
func mergeColumns(items []*nameItem) []nameColumn {
	var out []nameColumn
	for _, it := range items {
		if it.colsVisible {
			out = append(out, it.columns...)
		}
	}
	return out
}

func commonNames(l, r []nameColumn) []string {
	var out []string
	for _, c := range l {
		if c.name != "" && slices.ContainsFunc(r, func(o nameColumn) bool { return o.name == c.name }) {
			out = append(out, c.name)
		}
	}
	return out
}

// joinOn analyzes ON, in which only the two sides of the join, and outer levels, are visible.
func (s *scope) joinOn(n *pg_query.Node, items []*nameItem) (query.Expr, error) {
	before := s.names
	setLateral(items, false, true)
	s.names = items
	defer func() { s.names = before }()
	var on query.Expr
	err := s.at(inJoinOn, func() error {
		e, err := s.expr(n)
		if err != nil {
			return err
		}
		on, err = s.coerceBool(e, "JOIN/ON", location(n))
		return err
	})
	return on, err
}

// using returns the condition of USING and NATURAL, and the merged columns.
func (s *scope) using(names []string, l, r []nameColumn, kind query.JoinKind) (query.Expr, []nameColumn, error) {
	var tests []query.Expr
	var merged []nameColumn
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, nil, pgerr.New(pgerr.DuplicateColumn, "column name %q appears more than once in USING clause",
				name)
		}
		lc, err := sideColumn(l, name, "left")
		if err != nil {
			return nil, nil, err
		}
		rc, err := sideColumn(r, name, "right")
		if err != nil {
			return nil, nil, err
		}
		eq, err := s.equality(lc.expr, rc.expr, "JOIN/USING", -1)
		if err != nil {
			return nil, nil, err
		}
		tests = append(tests, eq)
		m, err := s.mergedColumn(name, lc, rc, kind)
		if err != nil {
			return nil, nil, err
		}
		merged = append(merged, m)
	}
	if len(tests) == 1 {
		return tests[0], merged, nil
	}
	return &query.And{Args: tests}, merged, nil
}

func sideColumn(columns []nameColumn, name, side string) (*nameColumn, error) {
	var found *nameColumn
	for i := range columns {
		if columns[i].name != name {
			continue
		}
		if found != nil {
			return nil, pgerr.New(pgerr.AmbiguousColumn, "common column name %q appears more than once in %s table",
				name, side)
		}
		found = &columns[i]
	}
	if found == nil {
		return nil, pgerr.New(pgerr.UndefinedColumn, "column %q specified in USING clause does not exist in %s table",
			name, side)
	}
	return found, nil
}

// mergedColumn is buildMergedJoinVar.
func (s *scope) mergedColumn(name string, l, r *nameColumn, kind query.JoinKind) (nameColumn, error) {
	t, err := s.commonType([]item{{l.expr, -1}, {r.expr, -1}}, "JOIN/USING")
	if err != nil {
		return nameColumn{}, err
	}
	mod := int32(-1)
	if l.expr.Type() == r.expr.Type() && l.expr.Typmod() == r.expr.Typmod() {
		mod = l.expr.Typmod()
	}
	side := func(c *nameColumn) (query.Expr, error) {
		if c.expr.Type() == t {
			return c.expr, nil
		}
		return s.coerce(c.expr, t, mod, implicit, -1)
	}
	le, err := side(l)
	if err != nil {
		return nameColumn{}, err
	}
	re, err := side(r)
	if err != nil {
		return nameColumn{}, err
	}
	out := nameColumn{name: name}
	switch kind {
	case query.Full:
		out.expr = &query.Coalesce{T: query.T{OID: t, Mod: mod}, Args: []query.Expr{le, re}}
	case query.Right:
		out.expr, out.table, out.att = re, r.table, r.att
	default:
		out.expr, out.table, out.att = le, l.table, l.att
		if _, plain := le.(*query.Var); !plain && kind == query.Inner {
			if _, plain := re.(*query.Var); plain {
				out.expr, out.table, out.att = re, r.table, r.att
			}
		}
	}
	return out, nil
}

// joinItems returns the names that a join adds: the names of its sides, which are visible only with
// the table's name if columns were merged, and the join's own.
// columns are those of the left side, of the right side, and merged ones.
func (s *scope) joinItems(j *pg_query.JoinExpr, all []*nameItem, columns [][]nameColumn,
	using []string, form *query.JoinForm) ([]*nameItem, error) {
	merged := columns[2]
	own := &nameItem{rel: -1, columns: merged, colsVisible: true}
	for _, side := range columns[:2] {
		for _, c := range side {
			if !slices.Contains(using, c.name) || c.name == "" {
				own.columns = append(own.columns, c)
			}
		}
	}
	if j.Alias != nil {
		own.alias, own.relVisible = j.Alias.Aliasname, true
		columns := make([]query.Column, len(own.columns))
		for i, c := range own.columns {
			columns[i] = query.Column{Name: c.name, Dropped: c.name == ""}
		}
		if err := s.aliasColumns(columns, j.Alias); err != nil {
			return nil, err
		}
		own.columns = slices.Clone(own.columns)
		for i := range columns {
			own.columns[i].name = columns[i].Name
		}
		if form != nil {
			writtenJoin(own, form, len(j.Alias.Colnames) > 0)
		}
		return []*nameItem{own}, nil
	}
	out := []*nameItem{}
	for _, it := range all {
		c := *it
		c.colsVisible = false
		if c.relVisible {
			out = append(out, &c)
		}
	}
	if j.JoinUsingAlias != nil {
		named := &nameItem{alias: j.JoinUsingAlias.Aliasname, rel: -1, columns: merged, relVisible: true}
		if err := s.checkNames(out, []*nameItem{named}); err != nil {
			return nil, err
		}
		out = append(out, named)
	}
	return append(out, own), nil
}
