package analyze

import "github.com/sherddb/sherd/sql/query"

// NotUpdatable returns why the rows of a view with this query cannot be changed, "" if they can
// (view_query_is_auto_updatable).
func NotUpdatable(q *query.Query) string {
	switch {
	case q.Distinct || len(q.DistinctOn) > 0:
		return "Views containing DISTINCT are not automatically updatable."
	case len(q.GroupBy) > 0 || q.GroupingSets != nil:
		return "Views containing GROUP BY are not automatically updatable."
	case q.Having != nil:
		return "Views containing HAVING are not automatically updatable."
	case q.SetOp != nil:
		return "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable."
	case len(q.CTEs) > 0:
		return "Views containing WITH are not automatically updatable."
	case q.Limit != nil || q.Offset != nil:
		return "Views containing LIMIT or OFFSET are not automatically updatable."
	case q.HasAggs:
		return "Views that return aggregate functions are not automatically updatable."
	case q.HasWindow:
		return "Views that return window functions are not automatically updatable."
	case q.HasSRFs:
		return "Views that return set-returning functions are not automatically updatable."
	case baseOf(q) == nil:
		return "Views that do not select from a single table or view are not automatically updatable."
	}
	for _, t := range visible(q) {
		if notUpdatableColumn(t.Expr) == "" {
			return ""
		}
	}
	return "Views that have no updatable columns are not automatically updatable."
}

// baseOf returns the only entry of FROM if it is a table or a view, nil otherwise.
func baseOf(q *query.Query) *query.Rel {
	if len(q.From) != 1 {
		return nil
	}
	f, ok := q.From[0].(*query.FromRel)
	if !ok {
		return nil
	}
	if r := q.Rels[f.Rel]; r.Kind == query.RelTable || r.View != nil {
		return r
	}
	return nil
}

// notUpdatableColumn returns why a column of a view cannot be assigned to, "" if it can.
func notUpdatableColumn(e query.Expr) string {
	v, ok := e.(*query.Var)
	switch {
	case !ok || v.Up != 0 || v.Rel < 0:
		return "View columns that are not columns of their base relation are not updatable."
	case v.Col == query.ColWholeRow:
		return "View columns that return whole-row references are not updatable."
	case v.Col < 0:
		return "View columns that refer to system columns are not updatable."
	}
	return ""
}
