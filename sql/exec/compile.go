package exec

import (
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// compiler compiles a plan to the operators of one instance. The embedded one compiles those that
// know only rows, and all expressions.
type compiler struct {
	operator.Compiler

	gathers []*gatherOp
	globals []*table.Index
}

func newCompiler() *compiler {
	k := &compiler{}
	k.Init(k)
	return k
}

// indexRules compiles the rules of indexes whose entries are read or written.
func (k *compiler) indexRules(t *table.Table, list []query.Index) ([]*table.Index, error) {
	out, err := table.NewIndexes(&k.Compiler.Compiler, t, list)
	k.use(out)
	return out, err
}

// tableRule compiles the rule of a Modify's table.
func (k *compiler) tableRule(n *plan.Modify) (*table.Rule, error) {
	r, err := table.NewRule(&k.Compiler.Compiler, n)
	if err == nil {
		k.use(r.Indexes)
	}
	return r, err
}

// use records the global ones of indexes.
func (k *compiler) use(list []*table.Index) {
	for _, x := range list {
		if x.Def.Global {
			k.globals = append(k.globals, x)
		}
	}
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
	case *plan.Each:
		return k.each(n)
	case *plan.Modify:
		if n.Instead {
			return k.instead(n)
		}
		return k.modify(n)
	case *plan.Merge:
		return k.merge(n)
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

// ProjectedScan implements operator.Sources.
func (k *compiler) ProjectedScan(n *plan.Scan, columns []query.Expr) (operator.Op, error) {
	o, err := k.scan(n)
	if err != nil {
		return nil, err
	}
	if o.columns, err = k.Exprs(columns); err != nil {
		return nil, err
	}
	o.projected = make(types.Row, len(columns))
	return o, nil
}
