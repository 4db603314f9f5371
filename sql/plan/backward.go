package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/query"
)

// Backward reports whether PostgreSQL's plan of a query can be scanned backward
// (ExecSupportsBackwardScan), so that a cursor that says neither SCROLL nor NO SCROLL may go back:
// scans, sorts, and limits and UNION ALL over them can; joins, aggregates, DISTINCT, window
// functions and other set operations cannot, unless a sort is above them. If PostgreSQL's choice
// depends on costs, the answer is true.
func Backward(q *query.Query) bool {
	switch {
	case len(q.Locking) > 0, q.DistinctOn != nil:
		return false
	case len(q.OrderBy) > 0:
		return sortsLast(q)
	case q.HasSRFs, q.Distinct, q.HasWindow, q.HasAggs, q.GroupBy != nil, q.GroupingSets != nil, q.Having != nil:
		return false
	case q.SetOp != nil:
		return q.SetOp.Kind == query.Union && q.SetOp.All && Backward(q.SetOp.Left) && Backward(q.SetOp.Right)
	case q.Values != nil:
		return len(q.Values) > 1
	case len(q.From) != 1 || slices.ContainsFunc(Conjuncts(q.Where), joinsOrNever):
		return false
	}
	return backwardFrom(q, q.From[0])
}

// sortsLast reports whether ORDER BY is a sort at the top: functions that return sets come after it
// if it does not need them, and the rows of a window function may be in its order already.
func sortsLast(q *query.Query) bool {
	sets := q.HasSRFs
	for _, k := range q.OrderBy {
		if query.Contains(q.Targets[k.Target].Expr, returnsSet) {
			sets = false
		}
	}
	return !sets && !(q.HasWindow && len(q.Windows) == 1 && inOrderOf(q, &q.Windows[0]))
}

func returnsSet(e query.Expr) bool {
	c, ok := e.(*query.Call)
	return ok && c.Proc.RetSet
}

// inOrderOf reports whether rows sorted for a window are in the order of the query.
func inOrderOf(q *query.Query, w *query.Window) bool {
	if len(q.OrderBy) > len(w.Partition)+len(w.Order) {
		return false
	}
	for i, k := range q.OrderBy {
		key := query.WindowOrder{}
		if i < len(w.Partition) {
			key.Expr = w.Partition[i]
		} else {
			key = w.Order[i-len(w.Partition)]
		}
		if k.Desc != key.Desc || k.NullsFirst != key.NullsFirst || !query.Equal(q.Targets[k.Target].Expr, key.Expr) {
			return false
		}
	}
	return true
}

// joinsOrNever reports whether a condition becomes a join (EXISTS, IN), or is known to be false.
func joinsOrNever(c query.Expr) bool {
	if k, ok := c.(*query.Const); ok {
		return k.Value.IsNull() || !k.Value.Bool()
	}
	not, negated := c.(*query.Not)
	if negated {
		c = not.Arg
	}
	s, ok := c.(*query.SubLink)
	switch {
	case !ok || volatileQuery(s.Query):
		return false
	case s.Kind == query.SubExists:
		return simple(s.Query, true) && correlated(s.Query)
	}
	return s.Kind == query.SubAny && !negated && !correlated(s.Query) && query.Contains(s.Test, ownColumn)
}

func ownColumn(e query.Expr) bool {
	v, ok := e.(*query.Var)
	return ok && v.Up == 0
}

func backwardFrom(q *query.Query, item query.From) bool {
	if j, ok := item.(*query.FromJoin); ok {
		right, leaf := j.Right.(*query.FromRel)
		// PostgreSQL may remove this join.
		return leaf && j.Kind == query.Left && !readsRel(q, right.Rel) && backwardFrom(q, j.Left)
	}
	leaf, ok := item.(*query.FromRel)
	if !ok {
		return false
	}
	switch r := q.Rels[leaf.Rel]; r.Kind {
	case query.RelSubquery:
		return backwardSource(r.Subquery)
	case query.RelCTE:
		c := r.CTE
		inlined := !c.Recursive && c.Materialized != 'm' &&
			(c.Refs == 1 || c.Materialized == 'n') && !volatileQuery(c.Query)
		return !inlined || backwardSource(c.Query)
	}
	return true
}

// backwardSource is Backward for a subquery in FROM.
func backwardSource(q *query.Query) bool { return q.Command == query.Select && Backward(q) }

// readsRel reports whether a clause other than those of joins reads a range table entry.
func readsRel(q *query.Query, rel int) bool {
	for _, r := range q.Rels {
		if r.Kind == query.RelJoin && slices.ContainsFunc(r.JoinVars, func(e query.Expr) bool {
			return readsIn(e, rel)
		}) {
			return true
		}
	}
	if readsIn(q.Where, rel) {
		return true
	}
	return slices.ContainsFunc(q.Targets, func(t query.Target) bool { return readsIn(t.Expr, rel) })
}

func readsIn(e query.Expr, rel int) bool {
	return e != nil && query.Contains(e, func(x query.Expr) bool {
		v, ok := x.(*query.Var)
		return ok && v.Up == 0 && v.Rel == rel
	})
}
