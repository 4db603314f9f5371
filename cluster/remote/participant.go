package remote

import (
	"context"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/kv"
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
	return p.buffer != nil && p.buffer.HasWrites
}

// HasPins implements txn.Participant.
func (p *Part) HasPins() bool {
	ctx, cancel := context.WithTimeout(context.Background(), returnTime)
	defer cancel()
	_ = p.AwaitAnswers(ctx) // if it fails, so does what comes next
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buffer != nil && p.buffer.HasPins
}

// HasReads implements txn.Participant. A SERIALIZABLE transaction may have read from a write buffer
// that is lost: what the client saw before the connection broke has to be valid at the commit as
// well, and Check refuses it.
func (p *Part) HasReads() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken && p.options.Isolation == txn.Serializable || p.buffer != nil && p.buffer.HasReads
}

// LowWater implements txn.Participant.
func (p *Part) LowWater() txn.Timestamp {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.buffer == nil {
		return 0
	}
	return txn.Timestamp(p.buffer.LowWater)
}

// gone records that the write buffer has ended.
func (p *Part) gone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buffer, p.ended = nil, true
}

// Commit implements txn.Participant. With NoAnswer the outcome is not known.
func (p *Part) Commit(ctx context.Context, req txn.CommitRequest) (txn.Timestamp, error) {
	if err := p.AwaitAnswers(ctx); err != nil {
		return 0, err
	}
	a, err := p.ask(ctx, &pb.Request{Op: &pb.Request_Commit{
		Commit: &pb.CommitRequest{Floor: uint64(req.Floor), At: uint64(req.At)},
	}})
	switch {
	case a == nil:
		p.Lose()
	case a.Buffer == nil:
		p.gone()
	}
	return txn.Timestamp(a.GetCommitted()), err
}

// Owned checks that the fragment still owns what is buffered, locked and read; if not, it returns
// *txn.LostError.
func (p *Part) Owned(ctx context.Context) error {
	_, err := p.ask(ctx, &pb.Request{Op: &pb.Request_Owned{Owned: &pb.OwnedRequest{}}})
	return err
}

// Check implements txn.Participant.
func (p *Part) Check(ctx context.Context, C txn.Timestamp) error {
	_, err := p.ask(ctx, &pb.Request{Op: &pb.Request_Check{Check: &pb.CheckRequest{C: uint64(C)}}})
	return err
}

// Prepare implements txn.Participant. With NoAnswer it may be prepared.
func (p *Part) Prepare(ctx context.Context, req txn.PrepareRequest) error {
	_, err := p.ask(ctx, &pb.Request{Op: &pb.Request_Prepare{Prepare: &pb.PrepareRequest{
		C: uint64(req.C), Coordinator: uint32(req.Coordinator), Attempt: uint32(req.Attempt),
		Writers: req.Writers, Implicit: req.Implicit,
	}}})
	return err
}

// Decide implements txn.Participant.
func (p *Part) Decide(ctx context.Context, d txn.Decision) (txn.Outcome, error) {
	return kv.Decide(ctx, p.node, p.fragment, d)
}

// Resolve implements txn.Participant.
func (p *Part) Resolve(ctx context.Context, d txn.Decision) error {
	return kv.Resolve(ctx, p.node, p.fragment, d)
}

// Forget implements txn.Participant.
func (p *Part) Forget(ctx context.Context, d txn.Decision) {
	_ = kv.Forget(ctx, p.node, p.fragment, d)
}

// LogOutcome implements txn.Participant; the holder of this part decides or resolves by itself.
func (p *Part) LogOutcome(d txn.Decision, then func(txn.Outcome, error)) {
	go func() { then(d.Outcome, p.Resolve(context.Background(), d)) }()
}

// PrepareTransaction is the first step of PREPARE TRANSACTION.
func (p *Part) PrepareTransaction(ctx context.Context, req storage.PreparationRequest) error {
	_, err := p.ask(ctx, &pb.Request{Op: &pb.Request_PrepareTransaction{
		PrepareTransaction: &pb.PrepareTransactionRequest{
			Gid: req.GID, Owner: req.Owner, Database: req.Database,
			AtMicros: req.At.UnixMicro(), Floor: uint64(req.Floor),
			Home: uint32(req.Home), Writers: req.Writers, Reads: req.Reads,
		}}})
	return err
}

// CompletePrepared is the last step of PREPARE TRANSACTION, in the coordinator fragment.
func (p *Part) CompletePrepared(ctx context.Context) error {
	_, err := p.about(ctx, &pb.Request{Op: &pb.Request_CompletePrepared{
		CompletePrepared: &pb.CompletePreparedRequest{}}})
	return err
}

// DropPrepared undoes PrepareTransaction.
func (p *Part) DropPrepared(ctx context.Context) error {
	return kv.DropPrepared(ctx, p.node, p.fragment, p.id)
}

// DetachPrepared leaves the prepared part to the log.
func (p *Part) DetachPrepared() {
	_, _ = p.about(context.Background(),
		&pb.Request{Op: &pb.Request_DetachPrepared{DetachPrepared: &pb.DetachPreparedRequest{}}})
	p.gone()
}

// about sends a request about the transaction, whatever has become of its write buffer.
func (p *Part) about(ctx context.Context, r *pb.Request) (*pb.Response, error) {
	r.Fragment, r.Transaction = uint32(p.fragment), p.id[:]
	return p.node.Send(ctx, r)
}
