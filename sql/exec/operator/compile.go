package operator

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// Compiler compiles the operators of one instance of a plan; the embedded one compiles their
// expressions.
type Compiler struct {
	expr.Compiler
	Measure Measure // of the steps; Execution.Work gets it

	sources Sources
	ctes    map[int]*cteStore
	aheads  map[int]*Ahead
}

// Sources compiles the nodes that this package does not know: those that rows come from or go to.
type Sources interface {
	Source(n plan.Node) (Op, error)
	// ProjectedScan compiles a scan that passes on expressions of its rows.
	ProjectedScan(n *plan.Scan, columns []query.Expr) (Op, error)
}

// Init prepares the zero Compiler.
func (k *Compiler) Init(sources Sources) { k.sources, k.Subqueries = sources, k }

// Node compiles a plan node and its children.
func (k *Compiler) Node(n plan.Node) (Op, error) {
	op, err := k.operator(n)
	if err != nil {
		return nil, err
	}
	k.Own(op)
	if k.Measure != Unmeasured {
		op = &measuredOp{node: n, op: op, timed: k.Measure == Timed}
	}
	return op, nil
}

// operator compiles the operator of a node.
func (k *Compiler) operator(n plan.Node) (Op, error) {
	switch n := n.(type) {
	case *plan.FunctionScan:
		return k.functionScan(n)
	case *plan.Values:
		return k.values(n)
	case *plan.Filter:
		return k.filter(n)
	case *plan.Project:
		return k.project(n)
	case *plan.Aggregate:
		return k.aggregate(n)
	case *plan.Sort:
		return k.sort(n)
	case *plan.Limit:
		return k.limit(n)
	case *plan.Distinct:
		return k.distinctRows(n)
	case *plan.Window:
		return k.window(n)
	}
	return k.combining(n)
}

// combining compiles nodes with several inputs.
func (k *Compiler) combining(n plan.Node) (Op, error) {
	switch n := n.(type) {
	case *plan.HashJoin:
		return k.hashJoin(n)
	case *plan.LookupJoin:
		return k.lookupJoin(n)
	case *plan.NestLoop:
		return k.nestLoop(n)
	case *plan.Batch:
		return k.batch(n)
	case *plan.SetOperation:
		return k.setOperation(n)
	case *plan.Append:
		return k.appendRows(n)
	case *plan.With:
		return k.with(n)
	case *plan.CTEScan:
		return k.cteScan(n)
	}
	return k.sources.Source(n)
}

// Subquery implements expr.Subqueries.
func (k *Compiler) Subquery(e query.Expr) (expr.Eval, error) {
	if n, ok := e.(*plan.SubPlan); ok {
		return k.subPlan(n)
	}
	return nil, pgerr.New(pgerr.InternalError, "expression %T cannot be run here", e)
}
