package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/cluster/move"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// leader is the leader of a fragment, on this node or another one, for calls outside of a
// transaction's part.
type leader interface {
	Decide(ctx context.Context, d txn.Decision) (txn.Outcome, error)
	Resolve(ctx context.Context, d txn.Decision) error
	Outcome(ctx context.Context, id txn.ID, C txn.Timestamp) (txn.Outcome, error)
	Recall(ctx context.Context, id txn.ID) (txn.Outcome, txn.Timestamp, error)
	HasPrepared(ctx context.Context, id txn.ID, C txn.Timestamp) (bool, error)
	// InDoubt returns what the fragment knows about a transaction that is prepared.
	InDoubt(ctx context.Context, id txn.ID) (d txn.Decision, anchor txn.FragmentID, implied, prepared bool, err error)
	HoldStands(ctx context.Context, id txn.ID) (bool, error)
	Unhold(ctx context.Context, id txn.ID) error
	Held(ctx context.Context) ([]txn.HeldTransaction, error)
	HeldTables(ctx context.Context, id txn.ID) ([]uint32, error)
	// HeldStage returns the prepared part, for COMMIT PREPARED.
	HeldStage(id txn.ID) (heldStage, error)
	BucketStats(ctx context.Context, table uint32) ([]storage.BucketStat, error)
	// SegmentKeys returns keys, as stored, of the segment of a range table that lies in a bucket:
	// keys of stored rows, if stored is set, and some keys that were written lately.
	SegmentKeys(ctx context.Context, table, bucket uint32, stored bool) (storage.SegmentKeys, error)
	// Keep pins the versions that are visible at T, for a transaction, until release is called.
	Keep(ctx context.Context, id txn.ID, T txn.Timestamp, o exec.TransactionOptions) (release func(), err error)
	// CloseAt closes a timestamp, for follower reads (T9).
	CloseAt(ctx context.Context, T txn.Timestamp) (storage.Closed, error)
	// End drops a transaction's write buffer and the snapshots pinned for it.
	End(ctx context.Context, id txn.ID) error
	// source is the fragment as the source of a move.
	source() move.Source
}

// heldStage is the subset of txn.Participant that COMMIT PREPARED needs.
type heldStage interface {
	Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error)
	Prepare(ctx context.Context, req txn.PrepareRequest) error
	Decide(ctx context.Context, d txn.Decision) (txn.Outcome, error)
	Resolve(ctx context.Context, d txn.Decision) error
	Forget(ctx context.Context, d txn.Decision)
	Detach()
}

// remoteLeader is the leader of a fragment on another node.
type remoteLeader struct{ remote.Leader }

func (l remoteLeader) HeldStage(id txn.ID) (heldStage, error) { return l.HeldPart(id), nil }

var (
	_ leader = localLeader{}
	_ leader = remoteLeader{}
)

// localLeader is the leader of a fragment on this node.
type localLeader struct {
	r *storage.Replica
	h *Host
}

func (l localLeader) Decide(_ context.Context, d txn.Decision) (txn.Outcome, error) {
	return l.r.Decide(d)
}

func (l localLeader) Resolve(_ context.Context, d txn.Decision) error { return l.r.Resolve(d) }

func (l localLeader) Outcome(ctx context.Context, id txn.ID, C txn.Timestamp) (txn.Outcome, error) {
	return l.r.Outcome(ctx, id, C)
}

func (l localLeader) Recall(_ context.Context, id txn.ID) (txn.Outcome, txn.Timestamp, error) {
	return l.r.Recall(id)
}

func (l localLeader) HasPrepared(_ context.Context, id txn.ID, C txn.Timestamp) (bool, error) {
	return l.r.HasPrepared(id, C)
}

func (l localLeader) InDoubt(_ context.Context, id txn.ID) (d txn.Decision, anchor txn.FragmentID, implied, prepared bool, err error) {
	d, anchor, prepared = l.r.Prepared(id)
	if prepared {
		_, _, implied = l.r.Implied(id)
	}
	return d, anchor, implied, prepared, nil
}

func (l localLeader) HoldStands(ctx context.Context, id txn.ID) (bool, error) {
	return l.r.HoldStands(ctx, id)
}

func (l localLeader) Unhold(_ context.Context, id txn.ID) error { return l.r.Unhold(id) }

func (l localLeader) Held(context.Context) ([]txn.HeldTransaction, error) { return l.r.Held() }

func (l localLeader) HeldTables(_ context.Context, id txn.ID) ([]uint32, error) {
	return l.r.HeldTables(id)
}

func (l localLeader) HeldStage(id txn.ID) (heldStage, error) { return l.r.HeldTx(id) }

func (l localLeader) BucketStats(_ context.Context, table uint32) ([]storage.BucketStat, error) {
	return l.r.BucketStats(table), nil
}

func (l localLeader) Keep(_ context.Context, _ txn.ID, T txn.Timestamp, _ exec.TransactionOptions) (func(), error) {
	return l.r.Hold(T)
}

func (l localLeader) CloseAt(ctx context.Context, T txn.Timestamp) (storage.Closed, error) {
	return l.r.CloseAt(ctx, T)
}

func (l localLeader) End(_ context.Context, id txn.ID) error {
	l.r.Tx(id).Rollback()
	return nil
}

// leader returns the leader of a fragment, and waits while there is none.
func (h *Host) leader(ctx context.Context, f txn.FragmentID) (leader, error) {
	p, err := h.find(ctx, f)
	switch {
	case err != nil:
		return nil, err
	case p.replica != nil:
		return localLeader{p.replica, h}, nil
	}
	return remoteLeader{p.node.Leader(f)}, nil
}

// ask calls do with a fragment's leader, and again with another one if that was not the leader or
// did not answer: doing it twice must be the same as doing it once.
func (h *Host) ask(ctx context.Context, f txn.FragmentID, do func(leader) error) error {
	for p := (patience{}); ; {
		l, err := h.leader(ctx, f)
		if err != nil {
			return err
		}
		err = do(l)
		if err == nil || h.links == nil || !moved(err) && !cutOff(err) {
			return err
		}
		h.heed(f, err)
		if werr := p.wait(ctx); werr != nil {
			return h.gaveUp(f, werr, err)
		}
	}
}

// askTime bounds questions that may also be answered by: the fragment is out of reach.
const askTime = 5 * time.Second

// askSoon is ask with a shorter limit.
func (h *Host) askSoon(ctx context.Context, f txn.FragmentID, do func(leader) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return h.ask(ctx, f, do)
}

// askAll asks the leaders of several fragments in parallel, and returns one of the errors.
func (h *Host) askAll(ctx context.Context, fragments []txn.FragmentID, do func(txn.FragmentID, leader) error) error {
	errs := make([]error, len(fragments))
	var wg sync.WaitGroup
	for i, f := range fragments {
		wg.Go(func() { errs[i] = h.ask(ctx, f, func(l leader) error { return do(f, l) }) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
