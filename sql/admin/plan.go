package admin

import (
	"math"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

const planColumns = "plan int8, step int4, ranges text, from_fragment text, to_fragment text, bytes int8, " +
	"documents int8, seconds float8, reason text"

// planning has the functions that make and apply plans of rebalancing.
var planning = []Function{
	{
		OID: 8080, Signature: "plan_rebalance() RETURNS TABLE (" + planColumns + ")",
		Rows: planRebalance,
	},
	{
		OID: 8081, Signature: "plan_rebalance(text) RETURNS TABLE (" + planColumns + ")",
		Rows: planRebalance,
	},
	{
		OID: 8082, Signature: "apply_plan(int8) RETURNS void",
		Call: controlPlan("apply_plan", (*catalog.Change).ApplyPlan),
	},
	{
		OID: 8083, Signature: "pause_plan(int8) RETURNS void",
		Call: controlPlan("pause_plan", (*catalog.Change).PausePlan),
	},
	{
		OID: 8084, Signature: "resume_plan(int8) RETURNS void",
		Call: controlPlan("resume_plan", (*catalog.Change).ResumePlan),
	},
	{
		OID: 8085, Signature: "cancel_plan(int8) RETURNS void",
		Call: controlPlan("cancel_plan", (*catalog.Change).CancelPlan),
	},
}

// planRebalance proposes moves in a database, without an argument in the session's, and emits them.
func planRebalance(e *Environment, a []types.Datum, emit func([]types.Datum) error) error {
	if err := e.reshape("plan_rebalance"); err != nil {
		return err
	}
	d := e.View().Database(e.Names.Database.OID)
	if len(a) > 0 && a[0].S != "" {
		if d = e.View().DatabaseByName(a[0].S); d == nil {
			return noDatabase(a[0].S)
		}
	}
	if d == nil {
		return noDatabase("")
	}
	id, p, err := e.Fragments.PlanRebalance(e.Context, d.OID, e.author(""))
	if err != nil {
		return err
	}
	for _, x := range p.Advice {
		e.Notice(notice(x.Subject + ": " + x.Text))
	}
	plan := types.NewInt(int64(id))
	if id == 0 {
		plan = types.Null
	}
	for n := range p.Steps {
		s := &p.Steps[n]
		ranges, from, to := stepTexts(e.View(), d, s)
		seconds := float64(s.Estimate) / 1e6
		err := emit([]types.Datum{
			plan, types.NewInt(int64(n + 1)), types.NewText(ranges), types.NewText(from), types.NewText(to),
			types.NewInt(s.Bytes), types.NewInt(s.Documents), types.NewFloat8(math.Round(seconds*10) / 10),
			types.NewText(s.Reason),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stepTexts returns what a step moves, and between which fragments or, for a leader, nodes.
func stepTexts(v *catalog.View, d *catalog.Database, s *catalog.PlanStep) (what, from, to string) {
	if s.Kind == catalog.LeaderStep {
		return "leader", d.NameOf(s.Fragment), nodeName(v, s.Node)
	}
	if what = s.What; what == "" {
		what = s.Interval.String()
	}
	return what, d.NameOf(s.Source), d.NameOf(s.Target)
}

func controlPlan(function string, do func(*catalog.Change, uint64, catalog.Author) error) Call {
	return void(func(e *Environment, a []types.Datum) error {
		plan := a[0].N
		if err := e.reshape(function); err != nil {
			return err
		}
		if plan <= 0 {
			return pgerr.New(pgerr.UndefinedObject, "plan %d does not exist", plan).
				WithHint("sherd.plans lists them.")
		}
		return e.update(func(_ *catalog.View, c *catalog.Change) error { return do(c, uint64(plan), e.author("")) })
	})
}
