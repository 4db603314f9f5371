package sql

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// stalenessSetting allows reads to be as old as it says, so that the nearest replica can serve them; 0 reads at the leaders.
const stalenessSetting = "sherd.read_staleness"

// consider decides whether the statement that is about to run may be served by replicas that do not lead: one that reads the past, or that is read only
// and outside a block that may write, while the session allows old reads. p is nil for a snapshot that is taken for later.
func (t *transaction) consider(p *program) error {
	t.near = false
	if p != nil && p.writes {
		return nil
	}
	if t.past {
		t.near = true
		return nil
	}
	switch {
	case t.env.milliseconds(stalenessSetting) == 0:
	case t.explicit && !t.modes.readOnly, t.oneSnapshot() && (!t.modes.readOnly || t.t != 0 && !t.lags), t.parts.HasWrites():
	case p != nil && p.locksRows():
		return pgerr.Unsupported("rows cannot be locked where reads may be old").
			WithHint("SET %s = 0, or lock them in a transaction block.", stalenessSetting)
	default:
		t.near = p != nil || t.explicit
	}
	return nil
}

// nearTime gives a timestamp that is as new as the replicas at hand can serve at once, and not older than the session allows, what it has seen, and the
// storage of the tables and indexes that it knows. ok is false where the leaders are at hand.
func (t *transaction) nearTime(ids []txn.FragmentID) (T txn.Timestamp, ok bool) {
	x := &t.env.storages
	x.observeAll(t.env.catalog.View())
	least := max(t.env.clock.Wall().Add(-t.env.milliseconds(stalenessSetting)), t.env.floor, x.since(), 1)
	if T, ok = t.parts.NearTime(ids, least); ok {
		t.read = max(t.read, T)
	}
	return T, ok
}

// fixNear is fix for a transaction that may read old rows.
func (t *transaction) fixNear() (txn.Timestamp, bool, error) {
	if !t.near {
		return 0, false, nil
	}
	T, ok := t.nearTime(t.gateway.Map.Fragments())
	if !ok {
		return 0, false, nil
	}
	if err := t.hold(T, t.parts.HoldSoon); err != nil {
		return 0, false, err
	}
	t.t, t.lags, t.partsBy = T, true, t.gateway.Map
	return T, true, nil
}

// atReplicas gives the gateway of a statement that replicas may serve.
func (t *transaction) atReplicas(c *exec.Ctx) {
	g := *c.Gateway
	g.Fragment, g.Leave = t.parts.Near, nil
	c.Gateway, c.Limits.Unvalidated = &g, true // it commits nothing, and is before all that comes after its time
}

// freshen gives the timestamp of a statement outside of a snapshot.
func (t *transaction) freshen(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
	if t.near {
		ids := make([]txn.FragmentID, len(shares))
		for i, s := range shares {
			ids[i] = s.Fragment
		}
		if T, ok := t.nearTime(ids); ok {
			return T, nil
		}
	}
	return t.current(ctx, shares)
}
