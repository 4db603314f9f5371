package sql

import (
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
)

// author says who makes a change of the topology.
func (i info) author(why string) catalog.Author {
	a := catalog.Author{Why: why, Micros: time.Now().UnixMicro()}
	if me := i.view().Role(i.role); me != nil {
		a.Who = me.Name
	}
	return a
}

// databaseNamed finds a database (3D000), the session's for "".
func (i info) databaseNamed(name string) (*catalog.Database, error) {
	d := i.view().DatabaseByName(name)
	if name == "" {
		d = i.view().Database(i.database)
	}
	if d == nil {
		return nil, pgerr.New(pgerr.InvalidCatalogName, `database "%s" does not exist`, name)
	}
	return d, nil
}

// PlanRebalance implements builtin.PlanInfo.
func (i info) PlanRebalance(database string, emit func(builtin.PlanStep) error) error {
	if err := i.reshape("plan_rebalance"); err != nil {
		return err
	}
	d, err := i.databaseNamed(database)
	if err != nil {
		return err
	}
	id, p, err := i.db.cfg.Fragments.PlanRebalance(i.ctx, d.OID, i.author(""))
	if err != nil {
		return err
	}
	for _, a := range p.Advice {
		i.notice(&pgerr.Error{Severity: "NOTICE", Code: pgerr.SuccessfulCompletion, Message: a.Subject + ": " + a.Text})
	}
	for n := range p.Steps {
		s := &p.Steps[n]
		out := builtin.PlanStep{
			Plan: int64(id), Step: n + 1, Ranges: s.Interval.String(), From: d.NameOf(s.Source), To: d.NameOf(s.Target), Bytes: s.Bytes, Documents: s.Documents,
			Seconds: float64(s.Estimate) / 1e6, Reason: s.Reason,
		}
		if s.What != "" {
			out.Ranges = s.What
		}
		if s.Kind == catalog.LeaderStep {
			out.Ranges, out.From, out.To = "leader", d.NameOf(s.Fragment), nodeName(i.view(), s.Node)
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

func nodeName(v *catalog.View, id uint32) string {
	if n := v.Node(id); n != nil {
		return n.Name
	}
	return fmt.Sprint(id)
}

// ControlPlan implements builtin.PlanInfo.
func (i info) ControlPlan(plan int64, do builtin.PlanAction) error {
	if err := i.reshape(do.Function()); err != nil {
		return err
	}
	if plan <= 0 {
		return pgerr.New(pgerr.UndefinedObject, "plan %d does not exist", plan).WithHint("sherd.plans lists them.")
	}
	_, err := i.db.cfg.Catalog.Update(i.ctx, func(_ *catalog.View, ch *catalog.Change) error {
		id, a := uint64(plan), i.author("")
		switch do {
		case builtin.ApplyPlan:
			return ch.ApplyPlan(id, a)
		case builtin.PausePlan:
			return ch.PausePlan(id, a)
		case builtin.ResumePlan:
			return ch.ResumePlan(id, a)
		}
		return ch.CancelPlan(id, a)
	})
	return err
}

// SetNode implements builtin.PlanInfo.
func (i info) SetNode(node string, weight float64, maxBytes int64) error {
	if err := i.administrate("set_node"); err != nil {
		return err
	}
	_, err := i.db.cfg.Catalog.Update(i.ctx, func(v *catalog.View, ch *catalog.Change) error {
		n, err := nodeNamed(v, node)
		if err != nil {
			return err
		}
		var limit *uint64
		if maxBytes >= 0 {
			m := uint64(maxBytes)
			limit = &m
		}
		return ch.SetNodeShare(n.ID, &weight, limit, i.author(""))
	})
	return err
}
