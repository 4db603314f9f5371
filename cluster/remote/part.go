package remote

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/txn"
)

// Part is a transaction's handle on a fragment that another node leads. Tasks that change its write
// buffer run one at a time, concurrently with any number of others.
type Part struct {
	node        *Node
	fragment    txn.FragmentID
	id          txn.ID
	options     txn.Options
	lockTimeout atomic.Int64 // nanoseconds

	mu      sync.Mutex
	buffer  *pb.WriteBuffer // as the last answer has it, nil: there is none; guarded by mu
	broken  bool            // the write buffer is lost, or may be; guarded by mu
	ended   bool            // by Rollback; guarded by mu
	returns []*pb.Request   // to be sent, in order; the first may be under way; guarded by mu
	quiet   chan struct{}   // closed when they have been answered; nil: there are none; guarded by mu
}

var _ kv.Part = (*Part)(nil)

// Part implements kv.Sender for another node.
func (n *Node) Part(f txn.FragmentID, id txn.ID, o txn.Options) (kv.Part, error) {
	p := &Part{node: n, fragment: f, id: id, options: o}
	p.lockTimeout.Store(int64(o.LockTimeout))
	return p, nil
}

// ID returns the transaction's id.
func (p *Part) ID() txn.ID { return p.id }

// Node returns the node that leads the fragment.
func (p *Part) Node() *Node { return p.node }

// Options returns the options of the transaction when the part was made.
func (p *Part) Options() txn.Options { return p.options }

// SetLockTimeout bounds the waits for locks from now on.
func (p *Part) SetLockTimeout(d time.Duration) { p.lockTimeout.Store(int64(d)) }

// LockTimeout returns the limit of waits for locks; 0 means no limit.
func (p *Part) LockTimeout() time.Duration { return time.Duration(p.lockTimeout.Load()) }

// Header identifies the write buffer for a task.
func (p *Part) Header() *pb.Header {
	h := p.node.header(p.fragment, p.id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.buffer != nil {
		h.Term, h.Birth = p.buffer.Term, p.buffer.Birth
	}
	return h
}

// send sends a request about the write buffer. Without a response there was no answer.
func (p *Part) send(ctx context.Context, r *pb.Request) (*pb.Response, error) {
	r.Fragment, r.Transaction = uint32(p.fragment), p.id[:]
	p.mu.Lock()
	if p.buffer != nil {
		r.Term, r.Birth = p.buffer.Term, p.buffer.Birth
	}
	p.mu.Unlock()
	return p.node.Send(ctx, r)
}

// ask sends a request after what was sent without waiting, and takes over what the answer says
// about the write buffer.
func (p *Part) ask(ctx context.Context, r *pb.Request) (*pb.Response, error) {
	if err := p.AwaitAnswers(ctx); err != nil {
		return nil, err
	}
	a, err := p.send(ctx, r)
	if st := a.GetBuffer(); st != nil {
		p.Learn(st)
	}
	return a, err
}

// Learn takes over what an answer says about the write buffer; answers may overtake each other.
func (p *Part) Learn(s *pb.WriteBuffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.buffer == nil || p.buffer.Birth != s.Birth || s.Count >= p.buffer.Count {
		p.buffer = s
	}
}

// Lose records that the write buffer is lost, or may be.
func (p *Part) Lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
}

// Volatile reports whether something is buffered, locked or read there that would be lost with the
// write buffer, or may be.
func (p *Part) Volatile() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.buffer
	if s == nil || p.broken {
		return p.broken
	}
	m := s.Mark
	return s.HasWrites || s.HasPins || s.HasReads || m != nil && (m.Writes != 0 || m.Locks != 0 || m.Changes != 0)
}

// AwaitAnswers waits until everything that was sent without waiting has been answered.
func (p *Part) AwaitAnswers(ctx context.Context) error {
	for {
		p.mu.Lock()
		quiet, broken := p.quiet, p.broken
		p.mu.Unlock()
		switch {
		case broken:
			return txn.NewLost(p.fragment, true)
		case quiet == nil:
			return nil
		}
		select {
		case <-quiet:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

const returnTime = 10 * time.Second

// goBack queues a return behind those before it.
func (p *Part) goBack(r *pb.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.buffer == nil && !p.broken || p.ended {
		return
	}
	p.ended = r.GetEnd() != nil
	p.returns = append(p.returns, r)
	if p.quiet == nil {
		p.quiet = make(chan struct{})
		go p.sendReturns()
	}
}

func (p *Part) sendReturns() {
	for {
		p.mu.Lock()
		if len(p.returns) == 0 {
			close(p.quiet)
			p.quiet = nil
			p.mu.Unlock()
			return
		}
		r := p.returns[0]
		p.returns = p.returns[1:]
		broken := p.broken
		p.mu.Unlock()
		if broken && r.GetEnd() == nil {
			continue
		}
		p.sendReturn(r)
	}
}

func (p *Part) sendReturn(r *pb.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), returnTime)
	defer cancel()
	a, err := p.send(ctx, r)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case r.GetEnd() != nil:
		p.buffer = nil
		if err != nil && p.node.nodes.cfg.Over != nil {
			p.node.nodes.cfg.Over(p.node.id, p.id)
		}
	case err != nil:
		p.broken = true
	default:
		if p.buffer = a.Buffer; a.Buffer == nil {
			p.broken = true
		}
	}
}

// Mark returns the position to which RollbackTo and Restart return.
func (p *Part) Mark() txn.Mark {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.buffer == nil || p.buffer.Mark == nil {
		return txn.Mark{}
	}
	m := p.buffer.Mark
	return txn.Mark{Writes: int(m.Writes), Locks: int(m.Locks), Changes: int(m.Changes)}
}

func markOf(m txn.Mark) *pb.Mark {
	return &pb.Mark{Writes: uint64(m.Writes), Locks: uint64(m.Locks), Changes: uint64(m.Changes)}
}

// RollbackTo drops the writes and locks since m.
func (p *Part) RollbackTo(m txn.Mark) {
	if p.Mark() != m {
		p.goBack(&pb.Request{Op: &pb.Request_RollbackTo{RollbackTo: &pb.RollbackToRequest{Mark: markOf(m)}}})
		p.expect(m, true)
	}
}

// Restart drops the writes since m and keeps the locks; forgetReads is for an autocommit statement,
// whose reads the client has not seen.
func (p *Part) Restart(m txn.Mark, forgetReads bool) {
	if p.Mark().Writes != m.Writes || forgetReads && p.HasReads() {
		p.goBack(&pb.Request{Op: &pb.Request_RollbackTo{RollbackTo: &pb.RollbackToRequest{
			Mark: markOf(m), KeepLocks: true, ForgetReads: forgetReads,
		}}})
		p.expect(m, false)
	}
}

// expect changes what is known of the write buffer to what it will be.
func (p *Part) expect(m txn.Mark, locks bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.buffer == nil || p.buffer.Mark == nil {
		return
	}
	p.buffer.Mark.Writes, p.buffer.HasWrites = uint64(m.Writes), m.Writes > 0
	if locks {
		p.buffer.Mark.Locks, p.buffer.Mark.Changes = uint64(m.Locks), uint64(m.Changes)
	}
	if m.Writes == 0 {
		p.buffer.Written, p.buffer.BucketsWritten = false, nil
	}
}

// Rollback implements txn.Participant.
func (p *Part) Rollback() { p.goBack(&pb.Request{Op: &pb.Request_End{End: &pb.EndRequest{}}}) }

// Width returns how many buckets are written, at least, up to two.
func (p *Part) Width() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.buffer == nil || !p.buffer.Written {
		return 0
	}
	return max(1, len(p.buffer.BucketsWritten))
}
