package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/trust"
)

// ReplaceAuthority announces a new authority, certified by the one that signs. Advance does the rest, as nodes report.
func (r *Register) ReplaceAuthority(ctx context.Context) error {
	_, err := r.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		for a := range v.Authorities() {
			if a.Phase != catalog.AuthoritySigning {
				return errors.New("the cluster's authority is being replaced already")
			}
		}
		old := v.SigningAuthority()
		if old == nil {
			return errors.New("the cluster has no authority for certificates")
		}
		before, err := trust.ParseAuthority(old.Secret)
		if err != nil {
			return err
		}
		next, err := trust.NewAuthority(before.ClusterID, r.Now())
		if err == nil {
			err = next.Follow(before, r.Now())
		}
		if err != nil {
			return err
		}
		return put(ch, next, catalog.AuthorityAnnounced)
	})
	return err
}

// Advance does the next step of a replacement, if the nodes' reports allow it, and tells what that was or what is waited for (N4).
func (r *Register) Advance(ctx context.Context, reports map[uint32]trust.Report) (trust.Step, error) {
	var step trust.Step
	_, err := r.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		standing, err := standing(v)
		if err != nil {
			return err
		}
		var nodes []uint32
		for n := range v.Nodes() {
			nodes = append(nodes, n.ID)
		}
		step = trust.NextStep(standing, nodes, reports, tokensOf(v, standing), r.Now())
		id := number(step.Authority)
		switch step.Kind {
		case trust.Promote:
			return promote(v, ch, id)
		case trust.Drop:
			ch.DropAuthority(id)
		}
		return nil
	})
	return step, err
}

func standing(v *catalog.View) ([]trust.Standing, error) {
	var out []trust.Standing
	for a := range v.Authorities() {
		parsed, err := trust.ParseAuthority(a.Secret)
		if err != nil {
			return nil, err
		}
		out = append(out, trust.Standing{Authority: parsed.Fingerprint(), Phase: trust.Phase(a.Phase)})
	}
	return out, nil
}

// tokensOf tells until when unused tokens name an authority.
func tokensOf(v *catalog.View, standing []trust.Standing) map[trust.Fingerprint]time.Time {
	out := map[trust.Fingerprint]time.Time{}
	for t := range v.JoinTokens() {
		for _, s := range standing {
			if end := time.UnixMicro(t.ExpiresMicros); number(s.Authority) == t.Authority && t.UsedBy == nil && end.After(out[s.Authority]) {
				out[s.Authority] = end
			}
		}
	}
	return out
}

// promote lets the announced authority sign and the one that signed retire.
func promote(v *catalog.View, ch *catalog.Change, id uint64) error {
	found := false
	for a := range v.Authorities() {
		a = a.Clone()
		switch {
		case a.ID == id:
			a.Phase, found = catalog.AuthoritySigning, true
		case a.Phase == catalog.AuthoritySigning:
			a.Phase = catalog.AuthorityRetiring
		default:
			continue
		}
		if err := ch.PutAuthority(a); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("authority %x is gone", id)
	}
	return nil
}
