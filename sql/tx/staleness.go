package tx

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/txn"
)

// stalenessSetting allows reads to be as old as it says, so that the nearest replica can serve
// them; 0 reads at the leaders.
const stalenessSetting = "sherd.read_staleness"

// Reading is what a statement does that bears on how old its reads may be.
type Reading struct {
	Writes    bool
	LocksRows bool // beside those of what it writes
}

// ConsiderReplicas decides whether the statement that is about to run may be served by replicas
// that do not lead: one that reads the past, or that is read only and outside a block that may
// write, while the session allows old reads.
func (t *Tx) ConsiderReplicas(r Reading) error {
	if t.Near = t.Past && !r.Writes; t.Near || r.Writes || !t.mayLag() {
		return nil
	}
	if r.LocksRows {
		return pgerr.Unsupported("rows cannot be locked where reads may be old").
			WithHint("SET %s = 0, or lock them in a transaction block.", stalenessSetting)
	}
	t.Near = true
	return nil
}

// considerReplicasLater is ConsiderReplicas for a snapshot that is taken for later statements.
func (t *Tx) considerReplicasLater() {
	t.Near = t.Past || t.mayLag() && t.Explicit
}

// mayLag reports whether the session allows old reads, and nothing in the transaction needs new
// ones.
func (t *Tx) mayLag() bool {
	switch {
	case t.env.Milliseconds(stalenessSetting) == 0:
	case t.Explicit && !t.Modes.ReadOnly:
	case t.OneSnapshot() && (!t.Modes.ReadOnly || t.At != 0 && !t.lags):
	case t.Parts.HasWrites():
	default:
		return true
	}
	return false
}

// nearTime returns a timestamp that is as new as the replicas at hand can serve at once. It is not
// older than the session allows, than what it has seen, and than the storage of the tables and
// indexes that it knows. ok is false if the leaders are at hand.
func (t *Tx) nearTime(ids []txn.FragmentID) (T txn.Timestamp, ok bool) {
	x := &t.env.Storages
	x.ObserveAll(t.env.Catalog.View())
	least := max(t.env.Clock.Wall().Add(-t.env.Milliseconds(stalenessSetting)), t.env.Floor, x.since(), 1)
	if T, ok = t.Parts.FollowerTime(ids, least); ok {
		t.Read = max(t.Read, T)
	}
	return T, ok
}

// fixNear is fix for a transaction that may read old rows.
func (t *Tx) fixNear() (txn.Timestamp, bool, error) {
	if !t.Near {
		return 0, false, nil
	}
	T, ok := t.nearTime(t.Gateway.Map.Fragments())
	if !ok {
		return 0, false, nil
	}
	if err := t.Pin(T, t.Parts.PinSoon); err != nil {
		return 0, false, err
	}
	t.At, t.lags, t.partsBy = T, true, t.Gateway.Map
	return T, true, nil
}

// AtReplicas makes a statement's gateway one that replicas may serve.
func (t *Tx) AtReplicas(c *exec.Ctx) {
	g := *c.Gateway
	g.Fragment, g.Leave = t.Parts.Follower, nil
	c.Gateway, c.Limits.Unvalidated = &g, true // it commits nothing, and is before all that comes after its time
}

// freshen returns the timestamp of a statement outside of a snapshot.
func (t *Tx) freshen(ctx context.Context, shares []shardmap.Share) (txn.Timestamp, error) {
	if t.Near {
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
