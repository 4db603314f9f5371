package storage

import (
	"context"
	"sync"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// Peers are the replicas led by this process. Its methods can be used as the functions of Config.
type Peers struct {
	mu sync.RWMutex
	by map[txn.FragmentID]*Replica // guarded by mu
}

// NewPeers returns an empty set.
func NewPeers() *Peers { return &Peers{by: map[txn.FragmentID]*Replica{}} }

// Add makes r known.
func (p *Peers) Add(r *Replica) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.by[r.ID()] = r
}

// Get returns the replica of fragment f.
func (p *Peers) Get(f txn.FragmentID) (*Replica, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if r := p.by[f]; r != nil {
		return r, nil
	}
	return nil, pgerr.New(pgerr.CannotConnectNow, "fragment %d is not here", f)
}

// AskOutcome asks the coordinator fragment for the outcome of transaction id.
func (p *Peers) AskOutcome(
	ctx context.Context, coordinator txn.FragmentID, id txn.ID, C txn.Timestamp,
) (txn.Outcome, error) {
	r, err := p.Get(coordinator)
	if err != nil {
		return txn.Unknown, err
	}
	return r.Outcomes.Outcome(ctx, id, C)
}

// AskPrepared asks writer f whether it has prepared at C.
func (p *Peers) AskPrepared(_ context.Context, f txn.FragmentID, id txn.ID, C txn.Timestamp) (bool, error) {
	r, err := p.Get(f)
	if err != nil {
		return false, err
	}
	return r.Outcomes.HasPrepared(id, C)
}

// SendResolve sends a decision to fragment f.
func (p *Peers) SendResolve(_ context.Context, f txn.FragmentID, d txn.Decision) error {
	r, err := p.Get(f)
	if err != nil {
		return err
	}
	return r.Outcomes.Resolve(d)
}

// AskPreparation asks the home of a prepared transaction whether it stands.
func (p *Peers) AskPreparation(ctx context.Context, home txn.FragmentID, id txn.ID) (bool, error) {
	r, err := p.Get(home)
	if err != nil {
		return false, err
	}
	return r.Outcomes.PreparationStands(ctx, id)
}
