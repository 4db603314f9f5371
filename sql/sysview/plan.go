package sysview

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// plans is sherd.plans.
func plans(b *builder) error {
	for _, p := range b.env.View.Plans(0) {
		d := b.env.View.Database(p.Job.Database)
		// advice alone is not a plan: sherd.advice shows it
		if d == nil || p.Job.State == catalog.JobProposed && len(p.Steps) == 0 {
			continue
		}
		var docs, micros int64
		for i := range p.Steps {
			docs, micros = docs+p.Steps[i].Documents, micros+p.Steps[i].Estimate
		}
		err := b.row().int("plan", int64(p.Job.ID)).text("database", d.Name).text("state", planState(d, p)).
			int("epoch", int64(p.Epoch)).
			text("made_by", p.Who).optional("why", p.Why).int("steps", int64(len(p.Steps))).
			int("done", int64(p.Done())).int("bytes", p.Bytes()).
			int("documents", docs).set("seconds", seconds(micros)).optional("waits_for", p.Waits).
			optional("error", p.Job.Error).
			time("made", time.UnixMicro(p.Job.StartedMicros)).time("updated", time.UnixMicro(p.Job.UpdatedMicros)).
			send()
		if err != nil {
			return err
		}
	}
	return nil
}

// planState returns a plan's state for display: a proposal for an older bucket map cannot be
// applied.
func planState(d *catalog.Database, p catalog.RunningPlan) string {
	if p.Job.State == catalog.JobProposed && d.Map.Epoch() != p.Epoch {
		return "out of date"
	}
	return string(p.Job.State)
}

func seconds(micros int64) types.Datum { return types.NewFloat8(math.Round(float64(micros)/1e5) / 10) }

// planSteps is sherd.plan_steps.
func planSteps(b *builder) error {
	d := b.env.Database
	for _, p := range b.env.View.Plans(d.OID) {
		for i := range p.Steps {
			s := &p.Steps[i]
			r := b.row().int("plan", int64(p.Job.ID)).int("step", int64(i+1)).int("bytes", s.Bytes).
				int("documents", s.Documents).
				set("seconds", seconds(s.Estimate)).text("reason", s.Reason).text("state", stepState(s))
			if s.Kind == catalog.LeaderStep {
				r.text("ranges", "leader").text("from_fragment", b.env.fragmentName(s.Fragment)).
					texts("to_fragment", nil)
				if n := b.env.View.Node(s.Node); n != nil {
					r.text("to_fragment", n.Name)
				}
			} else {
				ranges := s.What
				if ranges == "" {
					ranges = s.Interval.String()
				}
				r.text("ranges", ranges).text("from_fragment", b.env.fragmentName(s.Source)).
					text("to_fragment", b.env.fragmentName(s.Target))
			}
			if s.Job != 0 {
				r.int("move", int64(s.Job))
			}
			if err := r.send(); err != nil {
				return err
			}
		}
	}
	return nil
}

func stepState(s *catalog.PlanStep) string {
	switch {
	case s.LeftOut != "":
		return "left out: " + s.LeftOut
	case s.Done:
		return "done"
	case s.Job != 0:
		return "moving"
	}
	return "waiting"
}

// advice is sherd.advice: the proposed steps, and other advice of the proposals.
func advice(b *builder) error {
	if err := errors.Join(deadNodes(b), adviseZones(b)); err != nil {
		return err
	}
	for _, p := range b.env.View.Plans(0) {
		d := b.env.View.Database(p.Job.Database)
		if d == nil || p.Job.State != catalog.JobProposed {
			continue
		}
		if n := len(p.Steps); n > 0 && d.Map.Epoch() == p.Epoch {
			err := b.row().text("database", d.Name).text("subject", fmt.Sprintf("plan %d", p.Job.ID)).
				text("advice", fmt.Sprintf("moves %d bytes in %d steps; the first: %s", p.Bytes(), n,
					p.Steps[0].Reason)).
				text("remedy", fmt.Sprintf("SELECT sherd.apply_plan(%d)", p.Job.ID)).send()
			if err != nil {
				return err
			}
		}
		for _, a := range p.Advice {
			if err := b.row().text("database", d.Name).text("subject", a.Subject).text("advice", a.Text).
				send(); err != nil {
				return err
			}
		}
	}
	return nil
}

// deadAfter is the default of sherd.dead_node_after.
const deadAfter = 10 * time.Minute

// deadNodes proposes to replace the replicas of nodes that have been silent for
// sherd.dead_node_after, if this is not automatic.
func deadNodes(b *builder) error {
	k := b.env.View.Cluster()
	if k == nil || k.Settings["sherd.replace_dead_nodes"] != "advise" || b.env.Health == nil {
		return nil
	}
	after := deadAfter
	if n, err := strconv.Atoi(k.Settings["sherd.dead_node_after"]); err == nil {
		after = time.Duration(n) * time.Second
	}
	for _, h := range b.env.Health() {
		n := b.env.View.Node(h.Node)
		if n == nil || n.State != catalog.NodeActive || h.Alive || after == 0 || h.LastSeen.IsZero() {
			continue
		}
		silent, held := time.Since(h.LastSeen), b.env.replicasOn(h.Node)
		if silent < after || held == 0 {
			continue
		}
		err := b.row().text("subject", "node "+n.Name).
			text("advice", fmt.Sprintf("replace its %d replicas: it has been silent for %s", held,
				silent.Round(time.Second))).
			text("remedy", fmt.Sprintf("SELECT sherd.drain_node(%s)", builtin.QuoteLiteral(n.Name))).send()
		if err != nil {
			return err
		}
	}
	return nil
}

// replicasOn returns the number of replicas on a node.
func (e *Env) replicasOn(node uint32) (n int) {
	for d := range e.View.Databases() {
		for _, f := range d.Fragments {
			if slices.Contains(f.Nodes, node) {
				n++
			}
		}
	}
	return n
}
