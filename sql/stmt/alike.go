package stmt

import (
	"fmt"
	"strings"
	"sync"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// alikePlans knows for which arguments a custom plan has the steps of the generic plan, which then
// serves as well: no plan is made for them. Arguments count as equal if the planner expects about as
// many rows for them (plan.ArgumentsKey).
type alikePlans struct {
	generic func() string // the steps of the generic plan

	mu    sync.RWMutex
	known map[string]bool // by key, whether the plans are alike; guarded by mu
}

// maxAlike is the number of keys that are remembered.
const maxAlike = 64

// newAlike returns nil if arguments may decide about the plan by more than the rows that they select.
func newAlike(p *Program) *alikePlans {
	if decides(p.Query) {
		return nil
	}
	return &alikePlans{generic: sync.OnceValue(func() string { return steps(p.Plan.Root) }), known: map[string]bool{}}
}

// of reports whether the plan for arguments with a key has the steps of the generic plan; known is
// false if no plan has been made for them.
func (x *alikePlans) of(key string) (alike, known bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	alike, known = x.known[key]
	return alike, known
}

// note compares a custom plan with the generic plan.
func (x *alikePlans) note(key string, custom *plan.Plan) {
	alike := steps(custom.Root) == x.generic()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.known) < maxAlike {
		x.known[key] = alike
	}
}

// decides reports whether an argument may change the plan of a query by more than the rows that it
// selects: if it is a limit or a condition by itself, or in an expression that may be evaluated while
// the query is planned.
func decides(q *query.Query) bool {
	isBound := func(b query.Bounds) bool { return isParam(b.Limit) || isParam(b.Offset) || isParam(b.WithTies) }
	found := isBound(q.Bounds)
	query.WalkQuery(q, func(e query.Expr, _ int) {
		if s, ok := e.(*query.SubLink); ok && s.Query != nil && isBound(s.Query.Bounds) {
			found = true
		}
		if p, ok := e.(*query.Param); ok && p.OID == types.Bool {
			found = true
		}
		params, others := false, false
		query.MapInputs(e, func(in query.Expr) query.Expr {
			if isParam(in) {
				params = true
			} else if readsRow(in) {
				others = true
			}
			return in
		})
		switch e.(type) {
		case *query.Call, *query.ArrayOp, *query.RowCompare:
			found = found || params && !others
		case *query.Array: // of values, for = ANY
		default:
			found = found || params
		}
	})
	for _, r := range q.Rels {
		found = found || r.Subquery != nil && decides(r.Subquery)
	}
	for _, c := range q.CTEs {
		found = found || c.Query != nil && decides(c.Query)
	}
	if q.SetOp != nil {
		found = found || decides(q.SetOp.Left) || decides(q.SetOp.Right)
	}
	return found
}

func isParam(e query.Expr) bool {
	_, is := e.(*query.Param)
	return is
}

// readsRow reports whether the value of an expression depends on a row.
func readsRow(e query.Expr) bool {
	return e != nil && query.Contains(e, func(e query.Expr) bool {
		switch e.(type) {
		case *query.Var, *query.Slot, *query.Outer, *query.SubLink, *query.SubColumn, *plan.SubPlan, *query.Agg,
			*query.WindowCall:
			return true
		}
		return false
	})
}

// steps describes the steps of a plan and what they read. Values that do not depend on rows are left
// out, so that a plan for arguments may equal one with parameters.
func steps(n plan.Node) string {
	var b strings.Builder
	appendSteps(&b, n)
	return b.String()
}

func appendSteps(b *strings.Builder, n plan.Node) {
	fmt.Fprintf(b, "%T", n)
	switch n := n.(type) {
	case *plan.Scan:
		fmt.Fprintf(b, " %d %d %v", n.Table.OID, n.Access, n.Desc)
		if x := n.ReadIndex(); x != nil {
			fmt.Fprintf(b, " %d", x.OID)
		}
		if n.Index != nil {
			fmt.Fprintf(b, " %d %v %d", len(n.Index.Equal), n.Index.Backward, len(n.Index.Arms))
		}
	case *plan.Gather:
		fmt.Fprintf(b, " %v", n.Merge)
	case *plan.Aggregate:
		fmt.Fprintf(b, " %d %v", n.Mode, n.Sorted)
	case *plan.Sort:
		fmt.Fprintf(b, " %v %d", n.Keys, n.Presorted)
	case *plan.Distinct:
		fmt.Fprintf(b, " %v", n.Sorted)
	case *plan.HashJoin:
		fmt.Fprintf(b, " %d", n.Kind)
	case *plan.NestLoop:
		fmt.Fprintf(b, " %d", n.Kind)
	}
	for _, e := range walk.Exprs(n) {
		b.WriteByte(',')
		if e != nil {
			appendShape(b, e)
		}
	}
	walk.SubPlans(n, func(sub plan.Node) { appendSteps(b, sub) })
	b.WriteByte('(')
	for _, c := range n.Children() {
		appendSteps(b, c)
		b.WriteByte(';')
	}
	b.WriteByte(')')
}

func appendShape(b *strings.Builder, e query.Expr) {
	query.Walk(e, func(e query.Expr) bool {
		if !readsRow(e) {
			b.WriteString(" value")
			return false
		}
		fmt.Fprintf(b, " %T", e)
		switch e := e.(type) {
		case *query.Slot:
			fmt.Fprint(b, e.N)
		case *query.Outer:
			fmt.Fprint(b, e.N)
		case *query.Call:
			fmt.Fprint(b, e.Proc.OID)
		}
		return true
	})
}
