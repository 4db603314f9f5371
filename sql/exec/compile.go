package exec

import (
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
)

// compiler compiles a plan to the operators of one instance. The embedded one compiles those that
// know only rows, and all expressions.
type compiler struct {
	operator.Compiler

	gathers []*gatherOp
	globals []*indexRule
}

func newCompiler() *compiler {
	k := &compiler{}
	k.Init(k)
	return k
}

// uses records an index whose entries are read or written.
func (k *compiler) uses(x *indexRule) *indexRule {
	if x.def.Global {
		k.globals = append(k.globals, x)
	}
	return x
}

// Source implements operator.Sources.
func (k *compiler) Source(n plan.Node) (operator.Op, error) {
	switch n := n.(type) {
	case *plan.Scan:
		return k.scan(n)
	case *plan.Source:
		return sourceOp{}, nil
	case *plan.SystemScan:
		return k.systemScan(n)
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
