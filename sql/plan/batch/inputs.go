package batch

import "github.com/sherddb/sherd/sql/plan"

// replaceInputs replaces the inputs of a step that runs at the gateway.
func replaceInputs(n plan.Node, by func(plan.Node) plan.Node) {
	switch n := n.(type) {
	case *plan.Filter:
		n.Child = by(n.Child)
	case *plan.Project:
		n.Child = by(n.Child)
	case *plan.Aggregate:
		n.Child = by(n.Child)
	case *plan.Sort:
		n.Child = by(n.Child)
	case *plan.Limit:
		n.Child = by(n.Child)
	case *plan.Distinct:
		n.Child = by(n.Child)
	case *plan.Window:
		n.Child = by(n.Child)
	case *plan.LockRows:
		n.Child = by(n.Child)
	case *plan.Batch:
		n.Child = by(n.Child)
	case *plan.Modify:
		if n.Child != nil {
			n.Child = by(n.Child)
		}
	case *plan.Merge:
		n.Child = by(n.Child)
	case *plan.HashJoin:
		n.Left, n.Right = by(n.Left), by(n.Right)
	case *plan.LookupJoin:
		n.Join.Left, n.Join.Right = by(n.Join.Left), by(n.Join.Right)
	case *plan.NestLoop:
		n.Left, n.Right = by(n.Left), by(n.Right)
	case *plan.SetOperation:
		n.Left, n.Right = by(n.Left), by(n.Right)
	case *plan.Append:
		for i := range n.Inputs {
			n.Inputs[i] = by(n.Inputs[i])
		}
	case *plan.With:
		for i := range n.CTEs {
			c := &n.CTEs[i]
			if c.Plan = by(c.Plan); c.Step != nil {
				c.Step = by(c.Step)
			}
		}
		n.Child = by(n.Child)
	}
}
