package sysview

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/types"
)

// plans is sherd.plans.
func plans(b *builder) error {
	for _, p := range b.env.View.Plans(0) {
		d := b.env.View.Database(p.Job.Database)
		if d == nil {
			continue
		}
		var docs, micros int64
		for i := range p.Steps {
			docs, micros = docs+p.Steps[i].Documents, micros+p.Steps[i].Estimate
		}
		err := b.row().int("plan", int64(p.Job.ID)).text("database", d.Name).text("state", planState(d, p)).int("epoch", int64(p.Epoch)).
			text("made_by", p.Who).optional("why", p.Why).int("steps", int64(len(p.Steps))).int("done", int64(p.Done())).int("bytes", p.Bytes()).
			int("documents", docs).set("seconds", seconds(micros)).optional("waits_for", p.Waits).optional("error", p.Job.Error).
			time("made", time.UnixMicro(p.Job.StartedMicros)).time("updated", time.UnixMicro(p.Job.UpdatedMicros)).send()
		if err != nil {
			return err
		}
	}
	return nil
}

// planState is a plan's state for people: a proposal that was made for an older map cannot be applied.
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
			r := b.row().int("plan", int64(p.Job.ID)).int("step", int64(i+1)).int("bytes", s.Bytes).int("documents", s.Documents).
				set("seconds", seconds(s.Estimate)).text("reason", s.Reason).text("state", stepState(s))
			if s.Kind == catalog.LeaderStep {
				r.text("ranges", "leader").text("from_fragment", b.env.fragmentName(s.Fragment)).texts("to_fragment", nil)
				if n := b.env.View.Node(s.Node); n != nil {
					r.text("to_fragment", n.Name)
				}
			} else {
				ranges := s.What
				if ranges == "" {
					ranges = s.Interval.String()
				}
				r.text("ranges", ranges).text("from_fragment", b.env.fragmentName(s.Source)).text("to_fragment", b.env.fragmentName(s.Target))
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

// advice is sherd.advice: what is proposed, and what the proposals say beside.
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
				text("advice", fmt.Sprintf("moves %d bytes in %d steps; the first: %s", p.Bytes(), n, p.Steps[0].Reason)).
				text("remedy", fmt.Sprintf("SELECT sherd.apply_plan(%d);", p.Job.ID)).send()
			if err != nil {
				return err
			}
		}
		for _, a := range p.Advice {
			if err := b.row().text("database", d.Name).text("subject", a.Subject).text("advice", a.Text).send(); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	obese   = 128 << 20 // bytes above which a bucket is not moved for balance
	crowded = 0.05      // of a table's bytes, from which a group of buckets is worth a word
)

// obeseBuckets is sherd.obese_buckets. Fragments count by groups of buckets, so what shows is a group whose bytes are more than one bucket may have to be moved.
func obeseBuckets(b *builder) error {
	return b.tables(func(t *catalog.Table) error {
		stats, err := b.env.Stats(b.env.Database, t.StorageID)
		if err != nil {
			return err
		}
		_, all := total(stats, nil)
		for _, s := range stats {
			if s.Bytes <= obese {
				continue
			}
			share := float64(s.Bytes) / float64(all)
			err := b.row().oid("collection", t.OID).int("first_bucket", int64(s.From)).int("end_bucket", int64(s.To)).text("fragment", b.env.fragmentName(s.Fragment)).
				int("documents", s.Documents).int("bytes", s.Bytes).set("share", types.NewFloat8(math.Round(share*1000)/1000)).text("remedy", b.env.remedy(t, &s, share)).send()
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// remedy says what may be done about a group of buckets of a table.
func (e *Env) remedy(t *catalog.Table, s *Stat, share float64) string {
	name := e.qualified(t.Schema, t.Name)
	exact := fmt.Sprintf("which bucket it is: SELECT sherd.slice(id), count(*) FROM %s WHERE sherd.slice(id) >= %d AND sherd.slice(id) < %d GROUP BY 1 ORDER BY 2 DESC LIMIT 5", name, s.From, s.To)
	switch {
	case share < crowded && s.Documents > int64(s.To-s.From):
		return "none: the data is spread, there is much of it; more fragments make each smaller"
	case t.Policy != nil && !t.Policy.Mutable:
		return fmt.Sprintf("raise the Range of the policy to a multiple of %d, so that new documents of one content spread over more buckets; or isolate the anchor; %s", max(t.Policy.Range, 1), exact)
	case t.Anchors:
		return "give the busiest anchor a fragment of its own, or anchor its new documents to several names; " + exact
	}
	return "rows of one key prefix crowd here: choose a primary key that spreads them; " + exact
}
