package stmt

import (
	"slices"

	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn/locks"
)

// Writers lists the queries of a statement that write, the statement itself last. Only WITH at its top has others.
func Writers(q *query.Query) []*query.Query {
	var out []*query.Query
	for _, c := range q.CTEs {
		if c.Query.Command != query.Select {
			out = append(out, c.Query)
		}
	}
	if q.Command != query.Select {
		out = append(out, q)
	}
	return out
}

// eachQuery calls f for q and every query in it.
func eachQuery(q *query.Query, f func(*query.Query)) {
	if q == nil {
		return
	}
	f(q)
	nested := func(e query.Expr, _ int) {
		if s, ok := e.(*query.SubLink); ok {
			f(s.Query)
		}
	}
	query.WalkQuery(q, nested)
	eachNested(q, f)
}

func eachNested(q *query.Query, f func(*query.Query)) {
	for _, c := range q.CTEs {
		eachQuery(c.Query, f)
	}
	for _, r := range q.Rels {
		eachQuery(r.Subquery, f)
	}
	if q.SetOp != nil {
		eachQuery(q.SetOp.Left, f)
		eachQuery(q.SetOp.Right, f)
	}
	eachQuery(q.Source, f)
}

// tablesOf lists the locks that a query and its subqueries take.
func tablesOf(q *query.Query) []tx.TableUse {
	var out []tx.TableUse
	eachQuery(q, func(q *query.Query) {
		for i, r := range q.Rels {
			if r.Table != nil {
				out = append(out, tx.TableUse{Table: r.Table.OID, Mode: modeOf(q, i)})
			}
			for _, v := range r.Through {
				out = append(out, tx.TableUse{Table: v.OID, Mode: modeOf(q, i)})
			}
			if r.View != nil {
				out = append(out, tx.TableUse{Table: r.View.OID, Mode: modeOf(q, i)})
			}
		}
	})
	return out
}

// modeOf returns the lock that one range table entry needs.
func modeOf(q *query.Query, rel int) locks.Mode {
	if q.Command != query.Select && rel == q.Result {
		return locks.RowExclusive
	}
	for _, l := range q.Locking {
		if slices.Contains(l.Rels, rel) {
			return locks.RowShare
		}
	}
	return locks.AccessShare
}

// DefiningFunctions are the functions that change definitions, with tables for themselves, and take effect with the
// commit of their statement.
var DefiningFunctions = map[string]bool{
	"sherd_set_prefix": true, "sherd_drop_prefix": true, "sherd_set_policy": true, "sherd_hot_split": true,
	"sherd_hot_split_of": true, "sherd_hot_split_named": true, "sherd_hot_join": true, "sherd_hot_join_of": true,
}

// definesAlone reports whether a query calls a function that changes definitions, and does nothing else. Its commit
// may meet a change of the database's map, or a node that has come back, and it does nothing before the commit that
// could not be done again.
func definesAlone(q *query.Query) bool {
	if q.Command != query.Select || len(q.Targets) != 1 || len(q.Rels) > 0 || len(q.CTEs) > 0 || q.Where != nil {
		return false
	}
	call, ok := q.Targets[0].Expr.(*query.Call)
	if !ok || call.Proc == nil || !DefiningFunctions[call.Proc.Src] {
		return false
	}
	return !slices.ContainsFunc(call.Args, func(e query.Expr) bool {
		switch x := e.(type) {
		case *query.Const, *query.Param:
			return false
		case *query.Call:
			return x.Cast == 0 || len(x.Args) != 1 || query.Contains(x.Args[0], func(e query.Expr) bool {
				switch e.(type) {
				case *query.Const, *query.Param:
					return false
				}
				return true
			})
		}
		return true
	})
}
