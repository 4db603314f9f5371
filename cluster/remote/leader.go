package remote

import (
	"context"
	"time"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Leader is a fragment at the node that is believed to lead it, for calls outside of a
// transaction's part.
type Leader struct {
	node     *Node
	fragment txn.FragmentID
}

// Leader returns the handle on a fragment at the node.
func (n *Node) Leader(f txn.FragmentID) Leader { return Leader{n, f} }

// answer handles what all answers have in common.
func (l Leader) answer(now uint64, x *pb.Failure) error {
	if err := l.node.heard(now); err != nil {
		return err
	}
	return failure.Decode(x, l.fragment)
}

// Snapshot returns the timestamp of a statement that may reach buckets of some fragments, which the
// node leads, by the map of an epoch; failed are the fragments that could not return one.
func (n *Node) Snapshot(ctx context.Context, shares []shardmap.Share, epoch uint64) (T txn.Timestamp, failed map[txn.FragmentID]error, err error) {
	req := &pb.SnapshotRequest{Now: uint64(n.nodes.cfg.Clock.Now())}
	for _, s := range shares {
		of := &pb.SnapshotOf{Fragment: s.Fragment, Epoch: epoch}
		for _, iv := range s.Buckets.Intervals() {
			of.Buckets = append(of.Buckets, &pb.BucketRange{Lo: iv.Lo, Hi: iv.Hi})
		}
		req.Of = append(req.Of, of)
	}
	a, err := n.client.Snapshot(ctx, req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil, ctx.Err()
		}
		return 0, nil, n.noAnswer(err)
	}
	if err := n.heard(a.Now); err != nil {
		return 0, nil, err
	}
	return txn.Timestamp(a.T), failures(a.Failures), nil
}

func failures(list []*pb.SnapshotFailure) map[txn.FragmentID]error {
	var out map[txn.FragmentID]error
	for _, x := range list {
		if out == nil {
			out = map[txn.FragmentID]error{}
		}
		out[txn.FragmentID(x.Fragment)] = failure.Decode(x.Failure, txn.FragmentID(x.Fragment))
	}
	return out
}

func (l Leader) decision(d txn.Decision) *pb.DecisionRequest {
	return &pb.DecisionRequest{Header: l.node.header(l.fragment, d.ID), C: uint64(d.C), Outcome: uint32(d.Outcome), Writers: d.Writers}
}

// Decide writes a decision into the log of the coordinator fragment and returns the one that
// counts.
func (l Leader) Decide(ctx context.Context, d txn.Decision) (txn.Outcome, error) {
	a, err := l.node.client.Decide(ctx, l.decision(d))
	return l.outcome(a, err)
}

func (l Leader) outcome(a *pb.OutcomeAnswer, err error) (txn.Outcome, error) {
	if err != nil {
		return txn.Unknown, l.node.noAnswer(err)
	}
	_ = l.node.heard(a.Now) // as for Part.took
	return txn.Outcome(a.Outcome), failure.Decode(a.Failure, l.fragment)
}

func (l Leader) staged(a *pb.StageAnswer, err error) error {
	if err != nil {
		return l.node.noAnswer(err)
	}
	return l.answer(a.Now, a.Failure)
}

// Resolve sends the coordinator's decision to a writer.
func (l Leader) Resolve(ctx context.Context, d txn.Decision) error {
	return l.staged(l.node.client.Resolve(ctx, l.decision(d)))
}

// Forget lets the coordinator fragment forget a commit.
func (l Leader) Forget(ctx context.Context, d txn.Decision) error {
	return l.staged(l.node.client.Forget(ctx, l.decision(d)))
}

func (l Leader) about(id txn.ID, C txn.Timestamp) *pb.OutcomeRequest {
	return &pb.OutcomeRequest{Header: l.node.header(l.fragment, id), C: uint64(C)}
}

// Outcome asks the coordinator fragment, which may propose abort (T7).
func (l Leader) Outcome(ctx context.Context, id txn.ID, C txn.Timestamp) (txn.Outcome, error) {
	a, err := l.node.client.Outcome(ctx, l.about(id, C))
	return l.outcome(a, err)
}

// Recall asks what is known about a transaction, and changes nothing.
func (l Leader) Recall(ctx context.Context, id txn.ID) (txn.Outcome, txn.Timestamp, error) {
	a, err := l.node.client.Recall(ctx, l.about(id, 0))
	out, err := l.outcome(a, err)
	if err != nil {
		return out, 0, err
	}
	return out, txn.Timestamp(a.C), nil
}

func (l Leader) yes(a *pb.YesAnswer, err error) (bool, error) {
	if err != nil {
		return false, l.node.noAnswer(err)
	}
	return a.Yes, l.answer(a.Now, a.Failure)
}

// HasPrepared asks a writer whether it has prepared at C; once the answer is no, it stays no.
func (l Leader) HasPrepared(ctx context.Context, id txn.ID, C txn.Timestamp) (bool, error) {
	return l.yes(l.node.client.HasPrepared(ctx, l.about(id, C)))
}

// HoldStands asks the home of a prepared transaction whether it still has it.
func (l Leader) HoldStands(ctx context.Context, id txn.ID) (bool, error) {
	return l.yes(l.node.client.HoldStands(ctx, l.about(id, 0)))
}

// InDoubt returns what the fragment knows about a transaction that is prepared.
func (l Leader) InDoubt(ctx context.Context, id txn.ID) (d txn.Decision, anchor txn.FragmentID, implied, prepared bool, err error) {
	a, err := l.node.client.InDoubt(ctx, l.about(id, 0))
	if err != nil {
		return d, 0, false, false, l.node.noAnswer(err)
	}
	if err := l.answer(a.Now, a.Failure); err != nil {
		return d, 0, false, false, err
	}
	return txn.Decision{ID: id, C: txn.Timestamp(a.C), Writers: a.Writers}, txn.FragmentID(a.Anchor), a.Implied, a.Prepared, nil
}

func (l Leader) holdStep(ctx context.Context, id txn.ID, step pb.HoldStepRequest_Step) error {
	ctx, cancel := unhurried(ctx)
	defer cancel()
	return l.staged(l.node.client.HoldStep(ctx, &pb.HoldStepRequest{Header: l.node.header(l.fragment, id), Step: step}))
}

// Unhold drops a prepared transaction.
func (l Leader) Unhold(ctx context.Context, id txn.ID) error {
	return l.holdStep(ctx, id, pb.HoldStepRequest_UNHOLD)
}

// Held lists the prepared transactions whose home it is.
func (l Leader) Held(ctx context.Context) ([]txn.HeldTransaction, error) {
	a, err := l.node.client.ListHeld(ctx, l.list())
	if err != nil {
		return nil, l.node.noAnswer(err)
	}
	if err := l.listed(a.Now, a.Failures); err != nil {
		return nil, err
	}
	var out []txn.HeldTransaction
	for _, x := range a.Held {
		if len(x.Transaction) != len(txn.ID{}) {
			continue
		}
		out = append(out, txn.HeldTransaction{
			ID: txn.ID(x.Transaction), Home: txn.FragmentID(x.Home), Fragments: x.Fragments,
			HoldRequest: txn.HoldRequest{
				GID: x.Gid, Owner: x.Owner, Database: x.Database, At: time.UnixMicro(x.AtMicros).UTC(), Floor: txn.Timestamp(x.Floor),
			},
		})
	}
	return out, nil
}

func (l Leader) list() *pb.ListRequest {
	return &pb.ListRequest{Now: uint64(l.node.nodes.cfg.Clock.Now()), Fragments: []uint32{uint32(l.fragment)}}
}

func (l Leader) listed(now uint64, failed []*pb.SnapshotFailure) error {
	for _, err := range failures(failed) {
		return err
	}
	return l.node.heard(now)
}

// HeldTables lists the tables in which a transaction that is prepared there writes or has locked
// rows.
func (l Leader) HeldTables(ctx context.Context, id txn.ID) ([]uint32, error) {
	a, err := l.node.client.HeldTables(ctx, l.about(id, 0))
	if err != nil {
		return nil, l.node.noAnswer(err)
	}
	return a.Tables, l.answer(a.Now, a.Failure)
}

// BucketStats counts the rows of a table, of all tables if it is 0.
func (l Leader) BucketStats(ctx context.Context, table uint32) ([]storage.BucketStat, error) {
	req := l.list()
	req.Table = table
	a, err := l.node.client.Counts(ctx, req)
	if err != nil {
		return nil, l.node.noAnswer(err)
	}
	if err := l.listed(a.Now, a.Failures); err != nil {
		return nil, err
	}
	out := make([]storage.BucketStat, len(a.Counts))
	for i, c := range a.Counts {
		out[i] = storage.BucketStat{Table: c.Table, From: c.From, To: c.To, Documents: c.Documents, Bytes: c.Bytes}
	}
	return out, nil
}

// Keep pins the versions that are visible at T until release is called, or the transaction ends
// there.
func (l Leader) Keep(ctx context.Context, id txn.ID, T txn.Timestamp, o exec.TransactionOptions) (release func(), err error) {
	err = l.staged(l.node.client.KeepSnapshot(ctx, &pb.KeepSnapshotRequest{
		Header: l.node.header(l.fragment, id), T: uint64(T), Isolation: uint32(o.Isolation), Backend: o.Session,
	}))
	return func() {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), returnTime)
			defer cancel()
			if err := l.End(ctx, id); err != nil && l.node.nodes.cfg.Over != nil {
				l.node.nodes.cfg.Over(l.node.id, id)
			}
		}()
	}, err
}

// End ends the snapshots pinned for a transaction, and its write buffer.
func (l Leader) End(ctx context.Context, id txn.ID) error {
	return l.staged(l.node.client.Return(ctx, &pb.ReturnRequest{Header: l.node.header(l.fragment, id), End: true}))
}

// Held is a prepared transaction's part in the fragment, for COMMIT PREPARED. It implements the
// subset of txn.Participant that this needs.
type Held struct {
	Leader
	id txn.ID
}

// HeldPart returns the handle on the prepared part.
func (l Leader) HeldPart(id txn.ID) *Held { return &Held{l, id} }

func (h *Held) header() *pb.Header {
	x := h.node.header(h.fragment, h.id)
	x.Held = true
	return x
}

// Commit commits a transaction that is prepared in this fragment only.
func (h *Held) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	ctx, cancel := unhurried(ctx)
	defer cancel()
	a, err := h.node.client.Commit(ctx, &pb.CommitRequest{Header: h.header(), Floor: uint64(req.Floor), At: uint64(req.At)})
	if err != nil {
		return 0, h.node.noAnswer(err)
	}
	return txn.Timestamp(a.C), h.answer(a.Now, a.Failure)
}

// Prepare prepares the transaction at its commit timestamp.
func (h *Held) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	ctx, cancel := unhurried(ctx)
	defer cancel()
	return h.staged(h.node.client.Prepare(ctx, &pb.PrepareRequest{
		Header: h.header(), C: uint64(req.C), Anchor: uint32(req.Anchor), Attempt: uint32(req.Attempt), Writers: req.Writers, Implied: req.Implied,
	}))
}

// Decide writes the decision, at the home.
func (h *Held) Decide(ctx context.Context, d txn.Decision) (txn.Outcome, error) {
	req := h.decision(d)
	req.Header.Held = true
	a, err := h.node.client.Decide(ctx, req)
	return h.outcome(a, err)
}

// Resolve sends the decision.
func (h *Held) Resolve(ctx context.Context, d txn.Decision) error {
	req := h.decision(d)
	req.Header.Held = true
	return h.staged(h.node.client.Resolve(ctx, req))
}

// Forget lets the home forget the commit.
func (h *Held) Forget(ctx context.Context, d txn.Decision) { _ = h.Leader.Forget(ctx, d) }

// Detach leaves the prepared part to the log again.
func (h *Held) Detach() {
	ctx, cancel := unhurried(context.Background())
	defer cancel()
	_, _ = h.node.client.HoldStep(ctx, &pb.HoldStepRequest{Header: h.header(), Step: pb.HoldStepRequest_DETACH}) // the log asks by itself in time
}
