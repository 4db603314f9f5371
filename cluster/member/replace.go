package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/trust"
)

// replaceAfter is the age from which an authority is replaced. Its own certificate is valid for ten
// times as long, because a replacement waits for every node.
const replaceAfter = 365 * 24 * time.Hour

// ErrReplacing is returned for a second replacement while one is under way.
var ErrReplacing = errors.New("the cluster's authority is being replaced already")

// Due reports whether the authority is so old that it should be replaced.
func (r *Register) Due() bool {
	a, err := r.Signer()
	return err == nil && r.Now().Sub(a.Cert.NotBefore) > replaceAfter
}

// Replacing reports whether an authority is being replaced.
func (r *Register) Replacing() bool {
	for a := range r.Catalog.View().Authorities() {
		if a.Phase != catalog.AuthoritySigning {
			return true
		}
	}
	return false
}

// Outdated reports whether the authority that signs now differs from the one that signed a node's
// certificate.
func (r *Register) Outdated(k *trust.Keeper) bool {
	a, err := r.Signer()
	return err == nil && a.Fingerprint() != k.Self().Issuer
}

// ReplaceAuthority announces a new authority, certified by the one that signs. Advance does the
// rest when nodes report that they have it.
func (r *Register) ReplaceAuthority(ctx context.Context) error {
	_, err := r.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		for a := range v.Authorities() {
			if a.Phase != catalog.AuthoritySigning {
				return ErrReplacing
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

// Standing is an authority and how far it has come.
type Standing struct {
	*trust.Authority
	Phase string // announced, signing, retiring
}

// Standing returns the cluster's authorities.
func (r *Register) Standing() ([]Standing, error) {
	var out []Standing
	for a := range r.Catalog.View().Authorities() {
		parsed, err := trust.ParseAuthority(a.Secret)
		if err != nil {
			return nil, err
		}
		phase := map[catalog.AuthorityPhase]string{
			catalog.AuthorityAnnounced: "announced", catalog.AuthoritySigning: "signing",
			catalog.AuthorityRetiring: "retiring",
		}[a.Phase]
		out = append(out, Standing{parsed, phase})
	}
	return out, nil
}

// Waiting returns the next step of a replacement by the nodes' reports, and does not take it.
func (r *Register) Waiting(reports map[uint32]trust.Report) (trust.Step, error) {
	return r.next(r.Catalog.View(), reports)
}

func (r *Register) next(v *catalog.View, reports map[uint32]trust.Report) (trust.Step, error) {
	standing, err := standing(v)
	if err != nil {
		return trust.Step{}, err
	}
	var nodes []uint32
	for n := range v.Nodes() {
		nodes = append(nodes, n.ID)
	}
	return trust.NextStep(standing, nodes, reports, tokensOf(v, standing), r.Now()), nil
}

// Advance takes the next step of a replacement, if the nodes' reports allow it, and returns that
// step or what the replacement waits for (I2).
func (r *Register) Advance(ctx context.Context, reports map[uint32]trust.Report) (trust.Step, error) {
	var step trust.Step
	_, err := r.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) (err error) {
		if step, err = r.next(v, reports); err != nil {
			return err
		}
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

// tokensOf returns until when unused tokens name each authority.
func tokensOf(v *catalog.View, standing []trust.Standing) map[trust.Fingerprint]time.Time {
	out := map[trust.Fingerprint]time.Time{}
	for t := range v.JoinTokens() {
		for _, s := range standing {
			if end := time.UnixMicro(t.ExpiresMicros); number(s.Authority) == t.Authority &&
				t.UsedBy == nil && end.After(out[s.Authority]) {
				out[s.Authority] = end
			}
		}
	}
	return out
}

// promote makes the announced authority sign and the one that signed retire.
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
