package analyze

import (
	"cmp"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// merge analyzes MERGE (transformMergeStmt). The target and the source are joined by FROM; a source
// row without a target row stays in the join only if an action inserts.
func merge(s *scope, m *pg_query.MergeStmt) error {
	s.q.Command = query.Merge
	if m.WithClause.GetRecursive() {
		return pgerr.New(pgerr.SyntaxError, "WITH RECURSIVE is not supported for MERGE statement")
	}
	if err := mergeClauses(m); err != nil {
		return err
	}
	if err := s.with(m.WithClause); err != nil {
		return err
	}
	target, exprs, err := mergeTarget(s, m.Relation)
	if err != nil {
		return err
	}
	s.names = nil // the source does not see the target
	source, items, err := s.fromItem(m.SourceRelation)
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.relVisible && it.alias == target.alias {
			return pgerr.New(pgerr.DuplicateAlias, "name %q specified more than once", it.alias).
				WithDetail("The name is used both as MERGE target table and data source.")
		}
	}
	both := append([]*nameItem{target}, items...)
	on, err := s.joinOn(m.JoinCondition, both)
	if err != nil {
		return err
	}
	setLateral(both, false, true)
	for _, n := range m.MergeWhenClauses {
		s.names = both
		if n.GetMergeWhenClause().MatchKind != pg_query.MergeMatchKind_MERGE_WHEN_MATCHED {
			s.names = items
		}
		a, err := mergeAction(s, n.GetMergeWhenClause(), exprs)
		if err != nil {
			return err
		}
		s.q.Merge = append(s.q.Merge, a)
	}
	join := &query.FromJoin{Kind: query.Inner, Left: source, Right: &query.FromRel{Rel: s.q.Result}, On: on, Rel: -1}
	if s.q.Does(query.Insert) {
		join.Kind = query.Left
	}
	s.q.From = []query.From{join}
	s.checks(exprs)
	s.indexes(exprs)
	return s.noAggregates()
}

// mergeClauses refuses clauses of later versions of PostgreSQL, and those that no row can reach.
func mergeClauses(m *pg_query.MergeStmt) error {
	if len(m.ReturningList) > 0 {
		return pgerr.Unsupported("RETURNING of MERGE is not supported").
			WithHint("Read the rows in a query of its own.")
	}
	last := map[pg_query.MergeMatchKind]bool{}
	for _, n := range m.MergeWhenClauses {
		w := n.GetMergeWhenClause()
		if w.MatchKind == pg_query.MergeMatchKind_MERGE_WHEN_NOT_MATCHED_BY_SOURCE {
			return pgerr.Unsupported("WHEN NOT MATCHED BY SOURCE of MERGE is not supported").
				WithHint("Use UPDATE or DELETE with NOT EXISTS.")
		}
		if last[w.MatchKind] {
			return pgerr.New(pgerr.SyntaxError, "unreachable WHEN clause specified after unconditional WHEN clause")
		}
		last[w.MatchKind] = w.Condition == nil
	}
	return nil
}

// mergeTarget is targetTable for MERGE, which writes to tables only.
func mergeTarget(s *scope, rv *pg_query.RangeVar) (*nameItem, *tableExprs, error) {
	rel, _, err := s.relation(rv)
	if err != nil {
		return nil, nil, err
	}
	kinds := ""
	switch {
	case rel.Table != nil && rel.Table.IsMaterialized():
		kinds = "materialized views"
	case rel.View != nil:
		kinds = "views"
	case rel.Kind == query.RelSystem && rel.Table != nil:
		kinds = "sequences"
	default:
		return s.targetTable(rv)
	}
	return nil, nil, pgerr.Unsupported("cannot execute MERGE on relation %q", rv.Relname).
		WithDetail("This operation is not supported for %s.", kinds)
}

// mergeAction analyzes a WHEN clause.
func mergeAction(s *scope, w *pg_query.MergeWhenClause, exprs *tableExprs) (query.MergeAction, error) {
	a := query.MergeAction{Matched: w.MatchKind == pg_query.MergeMatchKind_MERGE_WHEN_MATCHED}
	var err error
	if w.Condition != nil {
		err = s.at(inMergeWhen, func() error {
			e, err := s.expr(w.Condition)
			if err != nil {
				return err
			}
			a.Cond, err = s.coerceBool(e, "WHEN", location(w.Condition))
			return err
		})
	}
	if err != nil {
		return a, err
	}
	switch w.CommandType {
	case pg_query.CmdType_CMD_UPDATE:
		a.Command = query.Update
		a.Assign, err = s.assignments(w.TargetList, exprs)
	case pg_query.CmdType_CMD_DELETE:
		a.Command = query.Delete
	case pg_query.CmdType_CMD_INSERT:
		a.Command = query.Insert
		a.Assign, a.Given, err = mergeInsert(s, w, exprs)
	default:
		a.Nothing = true
	}
	return a, err
}

// mergeInsert analyzes INSERT of a WHEN clause. It returns the expressions of the columns of the new
// row, and the columns for which the text has values.
func mergeInsert(s *scope, w *pg_query.MergeWhenClause, exprs *tableExprs) ([]query.Assignment, []int, error) {
	s.q.Overriding = overriding(w.Override)
	defer func() { s.q.Overriding, s.q.Assign = 0, nil }()
	columns, locs, err := s.insertColumns(w.TargetList)
	if err != nil {
		return nil, nil, err
	}
	if len(w.Values) == 0 { // DEFAULT VALUES
		err = s.insertDefaults(nil, exprs)
		return s.q.Assign, nil, err
	}
	var failed error
	list := &pg_query.Node{Node: &pg_query.Node_List{List: &pg_query.List{Items: w.Values}}}
	rows, err := s.valuesRows([]*pg_query.Node{list}, func(i int) query.Expr {
		if i >= len(columns) {
			return &query.Default{T: query.Of(types.Unknown)}
		}
		if p, ok := s.parts[i]; ok && failed == nil {
			failed = partDefault(s, p.path, p.loc)
		}
		e, _ := s.defaultOf(columns[i], exprs)
		return &defaultValue{Expr: e}
	})
	if err := cmp.Or(err, failed); err != nil {
		return nil, nil, err
	}
	row, extra := rows[0], int32(-1)
	if len(row) > len(columns) {
		extra = row[len(columns)].loc
	}
	if columns, err = s.fit(columns, locs, len(row), len(w.TargetList) > 0, extra); err != nil {
		return nil, nil, err
	}
	for i, v := range row {
		if returnsSet(v.expr) {
			return nil, nil, s.unsupported(v.loc, "set-valued function called in context that cannot accept a set")
		}
		e, err := insertedValue(s, i, columns[i], v, exprs)
		if err != nil {
			return nil, nil, err
		}
		if p, ok := s.parts[i]; !ok {
			s.q.Assign = append(s.q.Assign, query.Assignment{Col: columns[i], Expr: e})
		} else if err := storeGiven(s, columns[i], p, e); err != nil {
			return nil, nil, err
		}
	}
	err = s.insertDefaults(columns, exprs)
	return s.q.Assign, columns, err
}
