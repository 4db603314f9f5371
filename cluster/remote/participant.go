package remote

import (
	"context"
	"time"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// callTime bounds a call that must not be cut off by the end of a statement, because its outcome
// would not be known.
const callTime = 30 * time.Second

func unhurried(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), callTime)
}

// Fragment implements txn.Participant.
func (p *Part) Fragment() txn.FragmentID { return p.fragment }

// HasWrites implements txn.Participant.
func (p *Part) HasWrites() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stage != nil && p.stage.HasWrites
}

// HasPins implements txn.Participant.
func (p *Part) HasPins() bool {
	ctx, cancel := context.WithTimeout(context.Background(), returnTime)
	defer cancel()
	_ = p.settled(ctx) // if it fails, so does what comes next
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stage != nil && p.stage.HasPins
}

// HasReads implements txn.Participant. A SERIALIZABLE transaction may have read from a write buffer
// that is lost: what the client saw before the connection broke has to be valid at the commit as
// well, and Check refuses it.
func (p *Part) HasReads() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken && p.options.Isolation == txn.Serializable || p.stage != nil && p.stage.HasReads
}

// Promised implements txn.Participant.
func (p *Part) Promised() txn.Timestamp {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stage == nil {
		return 0
	}
	return txn.Timestamp(p.stage.Promised)
}

// answer handles what all answers have in common.
func (p *Part) answer(now uint64, x *pb.Failure, s *pb.Stage) error {
	if s != nil {
		p.learn(s)
	}
	if err := p.node.heard(now); err != nil {
		return err
	}
	return failure.Decode(x, p.fragment)
}

// took is answer for a call that has taken effect if there is no failure, whatever the node's clock
// says: an error would tell the client that a successful commit had failed, or hide that the
// outcome is not known. Presence names the node that is ahead.
func (p *Part) took(now uint64, x *pb.Failure, s *pb.Stage) error {
	if s != nil {
		p.learn(s)
	}
	_ = p.node.heard(now)
	return failure.Decode(x, p.fragment)
}

// gone records that the write buffer has ended.
func (p *Part) gone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stage, p.ended = nil, true
}

// Commit implements txn.Participant. With NoAnswer the outcome is not known.
func (p *Part) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	if err := p.settled(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := unhurried(ctx)
	defer cancel()
	a, err := p.node.client.Commit(ctx, &pb.CommitRequest{Header: p.header(), Floor: uint64(req.Floor), At: uint64(req.At)})
	if err != nil {
		p.lose()
		return 0, p.node.noAnswer(err)
	}
	err = p.took(a.Now, a.Failure, a.Stage)
	if a.Stage == nil {
		p.gone()
	}
	return txn.Timestamp(a.C), err
}

// Owned checks that the fragment still owns what is buffered, locked and read; if not, it returns
// *txn.LostError.
func (p *Part) Owned(ctx context.Context) error {
	if err := p.settled(ctx); err != nil {
		return err
	}
	a, err := p.node.client.Return(ctx, &pb.ReturnRequest{Header: p.header(), Owned: true})
	if err != nil {
		return p.node.noAnswer(err)
	}
	return p.answer(a.Now, a.Failure, a.Stage)
}

// Check implements txn.Participant.
func (p *Part) Check(ctx context.Context, C txn.Timestamp) error {
	if err := p.settled(ctx); err != nil {
		return err
	}
	a, err := p.node.client.Check(ctx, &pb.CheckRequest{Header: p.header(), C: uint64(C)})
	if err != nil {
		return p.node.noAnswer(err)
	}
	return p.answer(a.Now, a.Failure, a.Stage)
}

// Prepare implements txn.Participant. With NoAnswer it may be prepared.
func (p *Part) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	if err := p.settled(ctx); err != nil {
		return err
	}
	ctx, cancel := unhurried(ctx)
	defer cancel()
	a, err := p.node.client.Prepare(ctx, &pb.PrepareRequest{
		Header: p.header(), C: uint64(req.C), Anchor: uint32(req.Anchor), Attempt: uint32(req.Attempt), Writers: req.Writers, Implied: req.Implied,
	})
	if err != nil {
		return p.node.noAnswer(err)
	}
	return p.took(a.Now, a.Failure, a.Stage)
}

// Decide implements txn.Participant.
func (p *Part) Decide(ctx context.Context, d txn.Decision) (txn.Outcome, error) {
	return p.leader().Decide(ctx, d)
}

// Resolve implements txn.Participant.
func (p *Part) Resolve(ctx context.Context, d txn.Decision) error { return p.leader().Resolve(ctx, d) }

// Forget implements txn.Participant.
func (p *Part) Forget(ctx context.Context, d txn.Decision) { _ = p.leader().Forget(ctx, d) }

func (p *Part) leader() Leader { return Leader{node: p.node, fragment: p.fragment} }

// Hold is the first step of PREPARE TRANSACTION here.
func (p *Part) Hold(ctx context.Context, req storage.HoldRequest) error {
	if err := p.settled(ctx); err != nil {
		return err
	}
	ctx, cancel := unhurried(ctx)
	defer cancel()
	a, err := p.node.client.Hold(ctx, &pb.HoldRequest{
		Header: p.header(), Gid: req.GID, Owner: req.Owner, Database: req.Database, AtMicros: req.At.UnixMicro(), Floor: uint64(req.Floor),
		Home: uint32(req.Home), Writers: req.Writers, Reads: req.Reads,
	})
	if err != nil {
		return p.node.noAnswer(err)
	}
	return p.answer(a.Now, a.Failure, a.Stage)
}

// HoldComplete is the last step, at the home.
func (p *Part) HoldComplete(ctx context.Context) error {
	return p.leader().holdStep(ctx, p.id, pb.HoldStepRequest_COMPLETE)
}

// Detach leaves the prepared part to the log.
func (p *Part) Detach() {
	_ = p.leader().holdStep(context.Background(), p.id, pb.HoldStepRequest_DETACH)
	p.gone()
}
