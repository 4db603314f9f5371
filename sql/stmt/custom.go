package stmt

import (
	"sync/atomic"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// PlanCacheMode is the setting plan_cache_mode.
type PlanCacheMode string

// Modes.
const (
	AutoPlan         PlanCacheMode = "auto"
	ForceGenericPlan PlanCacheMode = "force_generic_plan"
	ForceCustomPlan  PlanCacheMode = "force_custom_plan"
)

const (
	firstCustom = 5 // executions with custom plans before costs are compared, as in PostgreSQL
	// planCost is what planning costs for each table, in units of a row that is read: about 0.2 ms.
	planCost = 400
)

// customPlans is what the custom plans of a program cost on average, planning included. Clients of a
// node share a program, and what is known of its custom plans.
type customPlans struct {
	made  atomic.Int64
	cost  atomic.Int64 // of all that were made
	alike *alikePlans  // nil: each custom plan may be another
}

// worth reports whether a custom plan may be cheaper than a generic one of a cost.
func (x *customPlans) worth(generic, planning float64) bool {
	made := x.made.Load()
	switch {
	case generic <= planning: // it cannot be
		return false
	case made < firstCustom:
		return true
	}
	return generic >= float64(x.cost.Load())/float64(made)
}

// Generic returns the program that serves for all arguments, if p is a form of it for some.
func (p *Program) Generic() *Program {
	if p.generic != nil {
		return p.generic
	}
	return p
}

// For returns the program that runs with arguments: one that is planned for them (a custom plan), or
// p, whose plan serves for all (the generic plan). Custom plans know what conditions select, and
// conditions that arguments decide are gone from them. See plancache.c of PostgreSQL. Unlike it, no
// custom plan is made where it would most likely have the steps of the generic plan.
func (c *Compiler) For(p *Program, args []types.Datum) (*Program, error) {
	if len(args) == 0 || p.custom == nil || c.PlanCache == ForceGenericPlan ||
		p.Version != c.View.DefinitionVersion() {
		return p, nil
	}
	planning := planCost * float64(1+len(p.Tables))
	if c.PlanCache != ForceCustomPlan && !p.custom.worth(p.Plan.Cost(), planning) {
		return p, nil
	}
	alike, key, seen := p.custom.alike, "", false
	if alike != nil && c.PlanCache != ForceCustomPlan && p.custom.made.Load() >= firstCustom {
		key = p.Plan.ArgumentsKey(c.statistics(), c.together, args)
		same := false
		if same, seen = alike.of(key); same {
			return p, nil
		}
	}
	out, err := c.custom(p, args)
	if err != nil {
		return nil, err
	}
	if key != "" && !seen {
		alike.note(key, out.Plan)
	}
	p.custom.cost.Add(int64(out.Plan.Cost() + planning))
	p.custom.made.Add(1)
	return out, nil
}

// custom plans a program for arguments. Its definitions are those that p was analyzed against.
func (c *Compiler) custom(p *Program, args []types.Datum) (*Program, error) {
	out := &Program{
		Statement: p.Statement, Query: withArguments(p.Query, args), Params: p.Params, Columns: p.Columns,
		Version: p.Version, Tables: p.Tables, Writes: p.Writes, Defines: p.Defines, Late: p.Late, generic: p,
		analysis: p.analysis, Role: p.Role,
	}
	env := environment(c.View)
	out.planned = &plannedFor{}
	env.Off, env.Statistics, env.Together = c.Off, out.planned.observed(c.statistics()), c.together
	out.Integrity, _ = c.integrity(out.Query, &env)
	env.LockLate = p.Late
	return out, c.plan(out, env)
}

// withArguments returns a query whose parameters are constants. Those behind the client's stay: they
// are the keys of rows that cursors are on.
func withArguments(q *query.Query, args []types.Datum) *query.Query {
	return query.RewriteAll(q, func(e query.Expr, _ int) (query.Expr, bool) {
		p, ok := e.(*query.Param)
		if !ok || p.N > len(args) {
			return nil, false
		}
		return &query.Const{T: p.T, Value: args[p.N-1]}, true
	})
}

// plan plans a program's query and compiles its plan.
func (c *Compiler) plan(p *Program, env plan.Env) (err error) {
	if p.Plan, err = makePlan(c.View, p.Query, env); err != nil {
		return err
	}
	if p.Exec, err = exec.Compile(p.Plan); err != nil {
		return err
	}
	if c.Hooks.Split != nil {
		p.Split, err = c.Hooks.Split(Replan{c.View, p, env})
	}
	return err
}
