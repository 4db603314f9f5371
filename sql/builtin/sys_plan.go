package builtin

import (
	"math"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// PlanStep is a step of a plan of rebalancing, for display.
type PlanStep struct {
	Plan             int64 // 0 if the plan was not stored
	Step             int
	Ranges, From, To string
	Bytes, Documents int64
	Seconds          float64
	Reason           string
}

// PlanAction is an action on a plan.
type PlanAction uint8

// Actions.
const (
	ApplyPlan PlanAction = iota + 1
	PausePlan
	ResumePlan
	CancelPlan
)

// Function returns the name of the SQL function for the action.
func (a PlanAction) Function() string {
	return [...]string{ApplyPlan: "apply_plan", PausePlan: "pause_plan", ResumePlan: "resume_plan",
		CancelPlan: "cancel_plan"}[a]
}

// PlanInfo makes and applies plans of rebalancing.
type PlanInfo interface {
	// PlanRebalance proposes moves in a database; "" is the session's.
	PlanRebalance(database string, emit func(PlanStep) error) error
	// ControlPlan applies an action to a plan.
	ControlPlan(plan int64, do PlanAction) error
	// SetNode sets the weight of a node, and its limit in bytes if that is not negative.
	SetNode(node string, weight float64, maxBytes int64) error
}

// sysPlan has the functions about plans and their inputs.
var sysPlan = map[string]Func{
	"sherd_apply_plan":  onPlan(ApplyPlan),
	"sherd_pause_plan":  onPlan(PausePlan),
	"sherd_resume_plan": onPlan(ResumePlan),
	"sherd_cancel_plan": onPlan(CancelPlan),
	"sherd_set_node": func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		maxBytes := int64(-1)
		if len(a) > 2 {
			if maxBytes = a[2].N; maxBytes < 0 {
				return types.Null, pgerr.New(pgerr.InvalidParameterValue, "a node cannot have %d bytes at most",
					maxBytes).WithHint("0 is no limit.")
			}
		}
		return types.Datum{K: types.KindVoid}, s.SetNode(a[0].S, a[1].Float(), maxBytes)
	},
}

var sysPlanSets = map[string]SetFunc{"sherd_plan_rebalance": sherdPlanRebalance}

func onPlan(do PlanAction) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return types.Datum{K: types.KindVoid}, s.ControlPlan(a[0].N, do)
	}
}

func sherdPlanRebalance(c *Ctx, a []types.Datum, emit func([]types.Datum) error) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	database := ""
	if len(a) > 0 {
		database = a[0].S
	}
	return s.PlanRebalance(database, func(p PlanStep) error {
		plan := types.NewInt(p.Plan)
		if p.Plan == 0 {
			plan = types.Null
		}
		return emit([]types.Datum{
			plan, types.NewInt(int64(p.Step)), types.NewText(p.Ranges), types.NewText(p.From), types.NewText(p.To),
			types.NewInt(p.Bytes),
			types.NewInt(p.Documents), types.NewFloat8(math.Round(p.Seconds*10) / 10), types.NewText(p.Reason),
		})
	})
}
