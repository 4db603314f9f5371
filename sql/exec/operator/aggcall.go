package operator

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// aggState is the state of one aggregate in one group: the function's state, and the rows that have
// to be sorted or deduplicated first.
type aggState struct {
	fn   builtin.AggState
	kept *keptRows // nil: rows are stepped as they arrive
}

// aggCall is one aggregate of a plan.
type aggCall struct {
	impl     *builtin.Agg
	mode     plan.AggMode
	partial  int // slot of the partial state, AggFinal
	args     []expr.Eval
	own      int // number of args that the function gets; the rest is only for ORDER BY
	types    []types.OID
	vals     types.Row // direct arguments, then args
	direct   []expr.Eval
	filter   expr.Eval
	distinct bool
	order    Ordering
	site     *builtin.Ctx
	strict   bool
	collects bool  // the state keeps the arguments of all rows
	added    int64 // bytes that steps have added to a state that keeps arguments
}

func slotsOf(n plan.Node, count int) []query.Expr {
	out := make([]query.Expr, count)
	for i, c := range n.Output()[:count] {
		out[i] = &query.Slot{T: query.T{OID: c.Type, Mod: c.Typmod}, N: i, Name: c.Name}
	}
	return out
}

func (k *Compiler) aggCall(a *query.Agg, mode plan.AggMode, slot int) (*aggCall, error) {
	impl, ok := builtin.For(a.Proc)
	if !ok || impl.Agg == nil {
		return nil, expr.NotImplemented(a.Proc)
	}
	call := &aggCall{
		impl:     impl.Agg,
		mode:     mode,
		partial:  slot,
		types:    query.TypesOf(a.Args),
		distinct: a.Distinct,
		strict:   impl.Agg.Strict,
		collects: impl.Agg.Ordered || impl.Agg.Direct > 0,
	}
	call.own = len(a.Args)
	if a.Proc.Variadic == 0 {
		call.own = min(call.own, len(a.Proc.ArgTypes)-len(a.Direct))
	}
	call.site = k.Site(
		&builtin.Ctx{RetType: a.Type(), ArgTypes: append(query.TypesOf(a.Direct), call.types[:call.own]...)},
	)
	if mode == plan.AggFinal {
		return call, nil
	}
	if mode == plan.AggPartial && (a.Distinct || len(a.Order) > 0 || len(a.Direct) > 0) {
		return nil, pgerr.New(pgerr.InternalError, "aggregate %s cannot be split", a.Proc.Name)
	}
	var err error
	if call.direct, err = k.Exprs(a.Direct); err != nil {
		return nil, err
	}
	if call.args, err = k.Exprs(a.Args); err != nil {
		return nil, err
	}
	if call.filter, err = k.Optional(a.Filter); err != nil {
		return nil, err
	}
	call.vals = make(types.Row, len(call.direct)+len(call.args))
	call.order = call.ordering(a)
	k.Own(call)
	return call, nil
}

// ordering returns the order in which kept rows are stepped: ORDER BY, then the arguments for
// DISTINCT, as PostgreSQL sorts.
func (a *aggCall) ordering(n *query.Agg) Ordering {
	var keys []plan.SortKey
	for _, o := range n.Order {
		keys = append(
			keys,
			plan.SortKey{Slot: len(a.direct) + o.Arg, Type: a.types[o.Arg], Desc: o.Desc, NullsFirst: o.NullsFirst},
		)
	}
	if n.Distinct && a.impl.Ordered {
		for i, t := range a.types[:a.own] {
			keys = append(keys, plan.SortKey{Slot: len(a.direct) + i, Type: t})
		}
	}
	return NewOrdering(keys)
}

func (a *aggCall) newState(mem *memory.Account) aggState {
	s := aggState{fn: a.impl.New(a.site.ArgTypes, a.site.RetType)}
	if a.keepsRows() {
		s.kept = &keptRows{store: memory.Arena{Mem: mem}, seen: memory.KeySet{Mem: mem}}
	}
	return s
}

// keepsRows reports whether rows are sorted or deduplicated before they are stepped.
func (a *aggCall) keepsRows() bool {
	return a.mode == plan.AggComplete && (a.distinct || len(a.order) > 0)
}

// step adds a row to a state.
func (a *aggCall) step(c *Execution, s aggState, row types.Row) error {
	if a.mode == plan.AggFinal {
		if d := row[a.partial]; d.K != types.KindNull {
			if a.collects {
				a.added += int64(len(d.S))
			}
			c.Enter(a.site)
			return s.fn.Combine(a.site, d)
		}
		return nil
	}
	if a.filter != nil {
		if ok, err := a.filter.IsTrue(&c.Ctx, row); err != nil || !ok {
			return err
		}
	}
	if err := expr.EvalInto(&c.Ctx, a.vals, a.direct, row); err != nil {
		return err
	}
	args := a.vals[len(a.direct):]
	for i, f := range a.args {
		d, err := f(&c.Ctx, row)
		if err != nil {
			return err
		}
		if a.strict && i < a.own && d.K == types.KindNull {
			return nil
		}
		args[i] = d
	}
	if s.kept != nil {
		return a.keep(s.kept)
	}
	return a.stepRow(c, s, a.vals)
}

// stepRow steps evaluated arguments.
func (a *aggCall) stepRow(c *Execution, s aggState, vals types.Row) error {
	vals = vals[:len(a.direct)+a.own]
	if a.collects {
		a.added += int64(len(vals)) * memory.DatumSize
		for i := range vals {
			a.added += int64(len(vals[i].S))
		}
	}
	c.Enter(a.site)
	return s.fn.Step(a.site, vals)
}

// result returns the value of a group, or its partial state.
func (a *aggCall) result(c *Execution, s aggState) (types.Datum, error) {
	if s.kept != nil {
		if err := a.replay(c, s); err != nil {
			return types.Null, err
		}
	}
	c.Enter(a.site)
	if a.mode == plan.AggPartial {
		return s.fn.Partial(a.site)
	}
	return s.fn.Final(a.site)
}
