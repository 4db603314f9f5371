package exec

import (
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/plan"
)

// compiler builds the operators of one instance; the embedded one compiles their expressions.
type compiler struct {
	expr.Compiler

	gathers []*gatherOp
	ctes    map[int]*cteStore
	globals []*indexRule
}

func newCompiler() *compiler {
	k := &compiler{}
	k.Other = k.subquery
	return k
}

// uses records an index whose entries are read or written.
func (k *compiler) uses(x *indexRule) *indexRule {
	if x.def.Global {
		k.globals = append(k.globals, x)
	}
	return x
}

// node compiles a plan node and its children.
func (k *compiler) node(n plan.Node) (Op, error) {
	op, err := k.operator(n)
	if err == nil {
		k.Own(op)
	}
	return op, err
}

// operator compiles the operator of a node.
func (k *compiler) operator(n plan.Node) (Op, error) {
	switch n := n.(type) {
	case *plan.Scan:
		return k.scan(n)
	case *plan.Source:
		return k.source(n)
	case *plan.SystemScan:
		return k.systemScan(n)
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
	}
	return k.combining(n)
}

// combining compiles nodes with several inputs and those that reach several fragments.
func (k *compiler) combining(n plan.Node) (Op, error) {
	switch n := n.(type) {
	case *plan.HashJoin:
		return k.hashJoin(n)
	case *plan.NestLoop:
		return k.nestLoop(n)
	case *plan.SetOperation:
		return k.setOperation(n)
	case *plan.Append:
		return k.appendRows(n)
	case *plan.With:
		return k.with(n)
	case *plan.CTEScan:
		return k.cteScan(n)
	case *plan.Window:
		return k.window(n)
	case *plan.Gather:
		return k.gather(n)
	case *plan.Modify:
		return k.modify(n)
	case *plan.LockRows:
		return k.lockRows(n)
	case plan.Stage:
		return k.stage(n)
	case plan.Find:
		return k.find(n)
	case *plan.Fill:
		return k.fill(n)
	case plan.LockKeys:
		return k.lockKeys(n)
	}
	return nil, internal("plan step %T cannot be run", n)
}
