package catalog

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sherddb/sherd/shardmap"
)

func fullPlan() *Plan {
	return &Plan{
		Epoch: 3, Who: "w", Why: "y", Waits: "x", Advice: []PlanAdvice{{"a", "b"}},
		Steps: []PlanStep{
			{Kind: BucketsStep, Interval: shardmap.Interval{Lo: 1, Hi: 2}, Source: 1, Target: 2, Bytes: 5, Documents: 6, Estimate: 7, Reason: "r", Job: 8, Done: true},
			{Kind: LeaderStep, Fragment: 3, Node: 4},
		},
	}
}

// planOps are a plan, and a node with a share.
func planOps() []op {
	n := &Node{ID: 1, Name: "n1", Block: "A", Weight: 2.5, MaxBytes: 1 << 40}
	j := NewPlanJob(3, 5, fullPlan(), 77)
	return []op{{kind: putOp, key: keyOf(j), desc: j}, {kind: putOp, key: keyOf(n), desc: n}}
}

func TestPlanFormat(t *testing.T) {
	ops := planOps()
	data, err := encodeBatch(ops)
	if err != nil {
		t.Fatal(err)
	}
	e, err := decodeEntry(golden(t, "plan.v1", data))
	if err != nil || !reflect.DeepEqual(e.ops, ops) {
		t.Fatalf("%+v, %v", e.ops, err)
	}
	if p, err := e.ops[0].desc.(*Job).Plan(); err != nil || !reflect.DeepEqual(p, fullPlan()) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, s := range []PlanStep{{}, {Kind: BucketsStep, Source: 1, Target: 2}, {Kind: BucketsStep, Interval: shardmap.Interval{Lo: 1, Hi: 2}, Source: 1, Target: 1}, {Kind: LeaderStep, Node: 1}} {
		if (&Plan{Steps: []PlanStep{s}}).check() == nil {
			t.Errorf("%+v is taken", s)
		}
	}
}

// TestPlans proposes, applies, pauses, resumes and ends a plan, and has refused what cannot be.
func TestPlans(t *testing.T) {
	_, do := movedCatalog(t)
	const db = 5
	a := Author{Who: "postgres", Why: "room", Micros: 1000}
	var view *View
	steps := func(lo, hi uint32) *Plan {
		return &Plan{Epoch: view.Database(db).Map.Epoch(), Steps: []PlanStep{{Kind: BucketsStep, Interval: shardmap.Interval{Lo: lo, Hi: hi}, Source: 1, Target: 2, Reason: "even"}}}
	}
	look := func(v *View, _ *Change) error { view = v; return nil }
	if err := do(look); err != nil {
		t.Fatal(err)
	}
	propose := func(id uint64, p func() *Plan, want uint64) func(c *Change) error {
		return func(c *Change) error {
			got, err := c.ProposePlan(id, db, p(), a)
			if err == nil && got != want {
				t.Errorf("plan %d was proposed as %d", want, got)
			}
			return err
		}
	}
	first, second := func() *Plan { return steps(1000, 2000) }, func() *Plan { return steps(1000, 3000) }
	for _, step := range []struct {
		what string
		do   func(c *Change) error
		want string
	}{
		{"propose", propose(20, first, 20), ""},
		{"propose the same", propose(21, first, 20), ""},
		{"propose another", propose(22, second, 22), ""},
		{"apply the old one", func(c *Change) error { return c.ApplyPlan(20, a) }, "does not exist"},
		{"pause a proposal", func(c *Change) error { return c.PausePlan(22, a) }, "was not applied"},
		{"resume a proposal", func(c *Change) error { return c.ResumePlan(22, a) }, "was not applied"},
		{"the map changes", func(c *Change) error { return c.SplitRange(db, 700, a) }, ""},
		{"apply a stale one", func(c *Change) error { return c.ApplyPlan(22, a) }, "is out of date"},
		{"propose anew", propose(23, second, 23), ""},
		{"apply", func(c *Change) error { return c.ApplyPlan(23, a) }, ""},
		{"apply again", func(c *Change) error { return c.ApplyPlan(23, a) }, "was applied already"},
		{"propose beside it", propose(24, first, 24), ""},
		{"apply beside it", func(c *Change) error { return c.ApplyPlan(24, a) }, "plan 23 of database \"orders\" is being carried out"},
		{"take the proposal back", propose(25, func() *Plan { return &Plan{Epoch: 9} }, 0), ""},
		{"begin the step", func(c *Change) error { return c.BeginPlanStep(23, 0, 26, a) }, ""},
		{"begin it twice", func(c *Change) error { return c.BeginPlanStep(23, 0, 27, a) }, ""},
		{"nothing is done", func(c *Change) error { return c.NotePlan(23, a) }, ""},
		{"pause", func(c *Change) error { return c.PausePlan(23, a) }, ""},
		{"resume", func(c *Change) error { return c.ResumePlan(23, a) }, ""},
		{"end the move", func(c *Change) error { return c.CancelMove(26, a) }, ""},
		{"it is stuck", func(c *Change) error { return c.NotePlan(23, a) }, ""},
		{"resume once more", func(c *Change) error { return c.ResumePlan(23, a) }, ""},
		{"begin again", func(c *Change) error { return c.BeginPlanStep(23, 0, 28, a) }, ""},
		{"cancel", func(c *Change) error { return c.CancelPlan(23, a) }, ""},
		{"cancel again", func(c *Change) error { return c.CancelPlan(23, a) }, "has ended"},
	} {
		err := do(func(_ *View, c *Change) error { return step.do(c) })
		switch {
		case err == nil && step.want != "", err != nil && (step.want == "" || !strings.Contains(err.Error(), step.want)):
			t.Errorf("%s: %v", step.what, err)
		}
		if err := do(look); err != nil {
			t.Fatal(err)
		}
		switch step.what {
		case "pause":
			if m, _ := view.MoveOf(26); m.Job.State != JobPaused {
				t.Errorf("the move is %s", m.Job.State)
			}
		case "it is stuck":
			if p, _ := view.PlanOf(23); p.Job.State != JobPaused || !strings.Contains(p.Job.Error, "move 26 has ended") {
				t.Errorf("the plan is %s: %s", p.Job.State, p.Job.Error)
			}
		case "cancel":
			if _, ok := view.MoveOf(28); ok {
				t.Error("the move is left")
			}
		}
	}
	if len(view.Plans(0)) != 0 {
		t.Errorf("plans are left: %+v", view.Plans(0))
	}
}
