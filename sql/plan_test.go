package sql_test

import (
	"testing"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// A small database needs no plan. An existing plan is shown, and refused if its map is old.
func TestPlans(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	a.want("SELECT * FROM sherd.plan_rebalance()", "SELECT 0")
	a.want("SELECT count(*) FROM sherd.plan_rebalance('postgres')", "0\nSELECT 1")
	a.want("SELECT sherd.plan_rebalance('nowhere')", `database "nowhere" does not exist (SQLSTATE 3D000)`)
	d := w.cfg.Catalog.View().Database(catalog.PostgresDB)
	from, to := d.Fragments[0].ID, d.Fragments[1].ID
	p := &catalog.Plan{Epoch: d.Map.Epoch(), Steps: []catalog.PlanStep{{
		Kind: catalog.BucketsStep, Interval: shardmap.Interval{Lo: 100, Hi: 200}, Source: from, Target: to,
		Bytes: 1 << 20, Documents: 3, Estimate: 250_000, Reason: "because",
	}}, Advice: []catalog.PlanAdvice{{Subject: "nodes", Text: "add one"}}}
	w.propose(d.OID, p)
	a.want("SELECT database, state, steps, done, bytes, documents, seconds FROM sherd.plans",
		"postgres|proposed|1|0|1048576|3|0.3\nSELECT 1")
	a.want("SELECT step, ranges, from_fragment, to_fragment, bytes, reason, state FROM sherd.plan_steps",
		"1|[100,200)|postgres$0|postgres$1|1048576|because|waiting\nSELECT 1")
	a.want("SELECT subject, advice FROM sherd.advice WHERE remedy IS NULL", "nodes|add one\nSELECT 1")
	a.want("SELECT sherd.apply_plan(0)", "plan 0 does not exist (SQLSTATE 42704)")
	a.want("SELECT sherd.pause_plan(plan) FROM sherd.plans", "plan 3 was not applied (SQLSTATE 55000)")
	a.want("SELECT sherd.cancel_plan(plan) FROM sherd.plans", "\nSELECT 1")
	a.want("SELECT count(*) FROM sherd.plans", "0\nSELECT 1")
	a.want("SELECT weight, max_bytes FROM sherd.nodes", "1|null\nSELECT 1")
	a.want("SELECT sherd.set_node('n1', 2, 1000000)", "\nSELECT 1")
	a.want("SELECT weight, max_bytes FROM sherd.nodes", "2|1000000\nSELECT 1")
	if n := w.cfg.Catalog.View().Node(1); n.Weight != 2 || n.MaxBytes != 1_000_000 {
		t.Errorf("node: %+v", n)
	}
	a.want("SELECT sherd.set_node('n1', 1)", "\nSELECT 1")
	a.want("SELECT sherd.set_node('n1', 0)", "weight 0 of a node is not above 0 and at most 1000 (SQLSTATE 22023)")
	a.want("SELECT sherd.set_node('n1', 1, -1)", "a node cannot have -1 bytes at most (SQLSTATE 22023)")
	a.want("SELECT sherd.set_node('n9', 1)", `node "n9" does not exist (SQLSTATE 42704)`)
	a.want("SELECT count(*) FROM sherd.obese_buckets", "0\nSELECT 1")
	a.want("SELECT obj_description('sherd.obese_buckets'::regclass, 'pg_class') LIKE 'buckets % of each table of "+
		"this database %'", "t\nSELECT 1")
	a.want("SHOW sherd.balancer", "advise\nSHOW")
	a.want("ALTER SYSTEM SET sherd.balancer = 'always'",
		`invalid value for parameter "sherd.balancer": "always" (SQLSTATE 22023)`)
	a.want("ALTER SYSTEM SET sherd.balancer_windows = 'at night'",
		`invalid value for parameter "sherd.balancer_windows": "at night" (SQLSTATE 22023): "at night" is not a `+
			`window such as 22:00-06:00 or mon-fri 01:00-05:00.`)
	a.want("ALTER SYSTEM SET sherd.balancer_windows = 'mon-fri 22:00-06:00, sat 00:00-24:00'", "ALTER SYSTEM")
	a.want("ALTER SYSTEM SET sherd.balancer TO off", "ALTER SYSTEM")
	a.want("SELECT current_setting('sherd.balancer'), current_setting('sherd.balancer_windows')",
		"off|mon-fri 22:00-06:00, sat 00:00-24:00\nSELECT 1")
	a.want("ALTER SYSTEM RESET sherd.balancer", "ALTER SYSTEM")
	a.want("SHOW sherd.balancer", "advise\nSHOW")
	a.want("ALTER DATABASE postgres FRAGMENTS 3", "ALTER DATABASE")
	a.want("ALTER DATABASE postgres FRAGMENTS 4 REPLICATION_FACTOR 1",
		"FRAGMENTS cannot be changed together with other options (SQLSTATE 0A000)")
}

// TestAdviceAlone: a decision that moves nothing is advice, and not a plan.
func TestAdviceAlone(t *testing.T) {
	w := newWorld(t)
	a := w.connect(t)
	d := w.cfg.Catalog.View().Database(catalog.PostgresDB)
	p := &catalog.Plan{Epoch: d.Map.Epoch(), Advice: []catalog.PlanAdvice{{Subject: "nodes", Text: "add one"}}}
	w.propose(d.OID, p)
	a.want("SELECT count(*) FROM sherd.plans", "0\nSELECT 1")
	a.want("SELECT subject, advice FROM sherd.advice WHERE remedy IS NULL", "nodes|add one\nSELECT 1")
}

// propose stores a plan as the balancer does.
func (w *world) propose(database catalog.OID, p *catalog.Plan) {
	w.t.Helper()
	id, err := w.cfg.Catalog.NewJobID(w.t.Context())
	must(w.t, err)
	_, err = w.cfg.Catalog.Update(w.t.Context(), func(_ *catalog.View, ch *catalog.Change) error {
		_, err := ch.ProposePlan(id, database, p, catalog.Author{Who: "sherd", Micros: 1})
		return err
	})
	must(w.t, err)
}
