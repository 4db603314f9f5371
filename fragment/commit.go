package fragment

import (
	"context"
	"errors"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// part returns the part that a request is for: of a prepared transaction, or the one that is leased
// to the sender. leased is nil for the first.
func (s *Server) part(c *Call, prepared bool) (leased *LeasedPart, p *Part, err error) {
	if prepared {
		tx, err := c.Replica.PreparedTx(c.ID)
		if err != nil {
			return nil, nil, err
		}
		return nil, s.NewPart(c.Replica, tx), nil
	}
	leased, err = s.Find(c)
	if err == nil && leased == nil {
		err = txn.NewLost(c.Fragment, true)
	}
	if err != nil {
		return nil, nil, err
	}
	return leased, &leased.Part, nil
}

// commit commits a transaction that writes here only. The part is gone afterwards, except after
// *txn.LowError.
func (s *Server) commit(ctx context.Context, c *Call, m *pb.CommitRequest) (*pb.Response, error) {
	leased, p, err := s.part(c, m.Prepared)
	if err != nil {
		return nil, err
	}
	C, err := p.Commit(ctx, txn.CommitRequest{Floor: txn.Timestamp(m.Floor), At: txn.Timestamp(m.At)})
	a := &pb.Response{Result: &pb.Response_Committed{Committed: uint64(C)}}
	if leased == nil {
		return a, err
	}
	err = leased.dropped(err)
	if low := (*txn.LowError)(nil); errors.As(err, &low) {
		a.Buffer = leased.Message()
	} else {
		s.leases.forget(leased)
	}
	return a, err
}

func (s *Server) check(ctx context.Context, c *Call, m *pb.CheckRequest) (*pb.Response, error) {
	leased, p, err := s.part(c, false)
	if err == nil {
		err = leased.dropped(p.Check(ctx, txn.Timestamp(m.C)))
	}
	return &pb.Response{Buffer: leased.Message()}, err
}

func (s *Server) prepare(ctx context.Context, c *Call, m *pb.PrepareRequest) (*pb.Response, error) {
	leased, p, err := s.part(c, m.Prepared)
	if err == nil {
		err = leased.dropped(p.Prepare(ctx, txn.PrepareRequest{
			C: txn.Timestamp(m.C), Coordinator: m.Coordinator, Attempt: int(m.Attempt),
			Writers: m.Writers, Implicit: m.Implicit,
		}))
	}
	return &pb.Response{Buffer: leased.Message()}, err
}

func decisionOf(c *Call, m *pb.Decision) (txn.Decision, error) {
	d := txn.Decision{ID: c.ID, C: txn.Timestamp(m.C), Outcome: txn.Outcome(m.Outcome), Writers: m.Writers}
	if d.Outcome != txn.Committed && d.Outcome != txn.Aborted {
		return d, pgerr.New(pgerr.ProtocolViolation, "a decision of another node is neither commit nor abort")
	}
	return d, nil
}

// apply applies a decision to the transaction's handle, which the log may have made for a
// transaction that was prepared in an earlier term. A leased part is over then. A fragment that
// knows nothing of the transaction is asked all the same: its log says what that means (T7).
func (s *Server) apply(c *Call, m *pb.Decision, do func(*storage.Tx, txn.Decision) error) error {
	d, err := decisionOf(c, m)
	if err != nil {
		return err
	}
	leased := s.leases.get(c)
	if leased == nil {
		return do(c.Replica.Tx(c.ID), d)
	}
	if err = do(leased.Tx, d); err == nil {
		s.leases.forget(leased)
	}
	return err
}

func (s *Server) decide(ctx context.Context, c *Call, m *pb.Decision) (*pb.Response, error) {
	a := &pb.OutcomeAnswer{C: m.C}
	err := s.apply(c, m, func(tx *storage.Tx, d txn.Decision) (err error) {
		var out txn.Outcome
		if _, _, implicit := c.Replica.Outcomes.ImplicitCommit(c.ID); implicit {
			out, err = c.Replica.Outcomes.Decide(d)
		} else {
			out, err = tx.Decide(ctx, d)
		}
		a.Outcome = uint32(out)
		return err
	})
	return outcome(a, err)
}

func (s *Server) resolve(ctx context.Context, c *Call, m *pb.Decision) (*pb.Response, error) {
	err := s.apply(c, m, func(tx *storage.Tx, d txn.Decision) error { return tx.Resolve(ctx, d) })
	return &pb.Response{}, err
}

func (s *Server) forget(ctx context.Context, c *Call, m *pb.Decision) (*pb.Response, error) {
	err := s.apply(c, m, func(tx *storage.Tx, d txn.Decision) error {
		tx.Forget(ctx, d)
		return nil
	})
	return &pb.Response{}, err
}

// rollbackTo goes back to a mark.
func (s *Server) rollbackTo(c *Call, m *pb.RollbackToRequest) (*pb.Response, error) {
	p, err := s.Find(c)
	if err != nil || p == nil {
		return &pb.Response{}, err
	}
	var at txn.Mark
	if m.Mark != nil {
		at = txn.Mark{Writes: int(m.Mark.Writes), Locks: int(m.Mark.Locks), Changes: int(m.Mark.Changes)}
	}
	if now := p.Mark(); at.Writes < 0 || at.Locks < 0 || at.Changes < 0 || at.Writes > now.Writes {
		return &pb.Response{}, txn.NewLost(c.Fragment, true) // a mark of what is not there any more
	}
	if m.KeepLocks {
		p.Restart(at, m.ForgetReads)
	} else {
		p.RollbackTo(at)
	}
	return &pb.Response{Buffer: p.Message()}, nil
}

func (s *Server) owned(ctx context.Context, c *Call) (*pb.Response, error) {
	p, err := s.Find(c)
	if err != nil || p == nil {
		return &pb.Response{}, err
	}
	return &pb.Response{Buffer: p.Message()}, p.Owned(ctx)
}

// end drops the transaction's part. It is no error if there is none.
func (s *Server) end(c *Call) (*pb.Response, error) {
	if c.here() {
		s.pins.release(c)
		c.Replica.Tx(c.ID).Rollback()
		return &pb.Response{}, nil
	}
	if p, _ := s.Find(c); p != nil {
		s.leases.end(p)
	}
	return &pb.Response{}, nil
}
