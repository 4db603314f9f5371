package taskserver

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/cluster"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// participant is the stage of a request that needs one, or what is held by name.
func (s *Server) participant(ctx context.Context, m *pb.Header) (header, *stage, *cluster.Stage, error) {
	h, err := s.open(ctx, m)
	if err != nil {
		return h, nil, nil, err
	}
	if m.Held {
		tx, err := h.replica.HeldTx(h.id)
		return h, nil, s.cfg.Host.NewStage(tx), err
	}
	st, err := s.find(&h)
	if err == nil && st == nil {
		err = txn.NewLost(h.fragment, true)
	}
	if err != nil {
		return h, nil, nil, err
	}
	return h, st, st.Stage, nil
}

// Commit implements nodepb.FragmentsServer. The stage is gone afterwards, but for *txn.LowError.
func (s *Server) Commit(ctx context.Context, m *pb.CommitRequest) (_ *pb.CommitAnswer, err error) {
	defer s.guard(&err)
	h, st, tx, err := s.participant(ctx, m.Header)
	a := &pb.CommitAnswer{}
	if err == nil {
		var C txn.Timestamp
		C, err = tx.Commit(ctx, txn.CommitRequest{Floor: txn.Timestamp(m.Floor), At: txn.Timestamp(m.At)})
		a.C, err = uint64(C), st.dropped(err)
		var low *txn.LowError
		switch {
		case st == nil:
		case errors.As(err, &low):
			a.Stage = st.message()
		default:
			s.forget(st)
		}
	}
	a.Failure, a.Now = h.failed(err), s.now()
	return a, nil
}

// Check implements nodepb.FragmentsServer.
func (s *Server) Check(ctx context.Context, m *pb.CheckRequest) (_ *pb.StageAnswer, err error) {
	defer s.guard(&err)
	h, st, tx, err := s.participant(ctx, m.Header)
	if err == nil {
		err = st.dropped(tx.Check(ctx, txn.Timestamp(m.C)))
	}
	return s.staged(&h, st, err), nil
}

// Prepare implements nodepb.FragmentsServer.
func (s *Server) Prepare(ctx context.Context, m *pb.PrepareRequest) (_ *pb.StageAnswer, err error) {
	defer s.guard(&err)
	h, st, tx, err := s.participant(ctx, m.Header)
	if err == nil {
		err = st.dropped(tx.Prepare(ctx, txn.PrepareRequest{
			C: txn.Timestamp(m.C), Anchor: m.Anchor, Attempt: int(m.Attempt), Writers: m.Writers, Implied: m.Implied,
		}))
	}
	return s.staged(&h, st, err), nil
}

// dropped returns the error of a call during which the stage was dropped: storage's error about an
// ended transaction is then no fault of the caller, and nothing of the transaction is in the log.
func (st *stage) dropped(err error) error {
	if st != nil && pgerr.Is(err, pgerr.InternalError) && st.gone.Err() != nil {
		return txn.NewLost(st.fragment, true)
	}
	return err
}

func (s *Server) staged(h *header, st *stage, err error) *pb.StageAnswer {
	return &pb.StageAnswer{Failure: h.failed(err), Now: s.now(), Stage: st.message()}
}

func decisionOf(h *header, m *pb.DecisionRequest) (txn.Decision, error) {
	d := txn.Decision{ID: h.id, C: txn.Timestamp(m.C), Outcome: txn.Outcome(m.Outcome), Writers: m.Writers}
	if d.Outcome != txn.Committed && d.Outcome != txn.Aborted {
		return d, pgerr.New(pgerr.ProtocolViolation, "a decision of another node is neither commit nor abort")
	}
	return d, nil
}

// settle does what a decision asks for with the transaction's handle, which the log may have made for a transaction prepared in an earlier term; its
// stage is over then. A fragment that knows nothing of the transaction is asked all the same: its log says what that means (T7).
func (s *Server) settle(ctx context.Context, m *pb.DecisionRequest, do func(*header, *storage.Tx, txn.Decision) error) (header, error) {
	h, err := s.open(ctx, m.Header)
	if err != nil {
		return h, err
	}
	d, err := decisionOf(&h, m)
	if err != nil {
		return h, err
	}
	key := stageKey{h.fragment, h.id}
	s.stages.mu.Lock()
	st := s.stages.by[key]
	s.stages.mu.Unlock()
	if st == nil {
		return h, do(&h, h.replica.Tx(h.id), d)
	}
	if err = do(&h, st.Tx, d); err == nil {
		s.forget(st)
	}
	return h, err
}

// Decide implements nodepb.FragmentsServer.
func (s *Server) Decide(ctx context.Context, m *pb.DecisionRequest) (_ *pb.OutcomeAnswer, err error) {
	defer s.guard(&err)
	a := &pb.OutcomeAnswer{C: m.C}
	h, err := s.settle(ctx, m, func(h *header, tx *storage.Tx, d txn.Decision) error {
		var out txn.Outcome
		var err error
		if _, _, implied := h.replica.Implied(h.id); implied && !m.Header.Held {
			out, err = h.replica.Decide(d)
		} else {
			out, err = tx.Decide(ctx, d)
		}
		a.Outcome = uint32(out)
		return err
	})
	a.Failure, a.Now = h.failed(err), s.now()
	return a, nil
}

// Resolve implements nodepb.FragmentsServer.
func (s *Server) Resolve(ctx context.Context, m *pb.DecisionRequest) (_ *pb.StageAnswer, err error) {
	defer s.guard(&err)
	h, err := s.settle(ctx, m, func(_ *header, tx *storage.Tx, d txn.Decision) error { return tx.Resolve(ctx, d) })
	return s.staged(&h, nil, err), nil
}

// Forget implements nodepb.FragmentsServer.
func (s *Server) Forget(ctx context.Context, m *pb.DecisionRequest) (_ *pb.StageAnswer, err error) {
	defer s.guard(&err)
	h, err := s.settle(ctx, m, func(_ *header, tx *storage.Tx, d txn.Decision) error {
		tx.Forget(ctx, d)
		return nil
	})
	return s.staged(&h, nil, err), nil
}

// Return implements nodepb.FragmentsServer. That the stage to be ended is gone is no failure.
func (s *Server) Return(ctx context.Context, m *pb.ReturnRequest) (_ *pb.StageAnswer, err error) {
	defer s.guard(&err)
	h, err := s.open(ctx, m.Header)
	if err != nil {
		return s.staged(&h, nil, err), nil
	}
	st, err := s.find(&h)
	if m.End {
		if st != nil {
			s.end(st)
		}
		return s.staged(&h, nil, nil), nil
	}
	if err != nil || st == nil {
		return s.staged(&h, nil, err), nil
	}
	var at txn.Mark
	if m.Mark != nil {
		at = txn.Mark{Writes: int(m.Mark.Writes), Locks: int(m.Mark.Locks), Changes: int(m.Mark.Changes)}
	}
	if m.Owned {
		return s.staged(&h, st, st.Owned()), nil
	}
	if now := st.Mark(); at.Writes < 0 || at.Locks < 0 || at.Changes < 0 || at.Writes > now.Writes {
		return s.staged(&h, nil, txn.NewLost(h.fragment, true)), nil // a mark of what is not there any more
	}
	if m.KeepLocks {
		st.Restart(at)
	} else {
		st.RollbackTo(at)
	}
	if m.ForgetReads {
		st.ForgetReads()
	}
	return s.staged(&h, st, nil), nil
}

// KeepSnapshot implements nodepb.FragmentsServer: the stage keeps it, made for it where there is none.
func (s *Server) KeepSnapshot(ctx context.Context, m *pb.KeepSnapshotRequest) (_ *pb.StageAnswer, err error) {
	defer s.guard(&err)
	h, err := s.open(ctx, m.Header)
	if err != nil {
		return s.staged(&h, nil, err), nil
	}
	release, err := h.replica.Hold(txn.Timestamp(m.T))
	if err != nil {
		return s.staged(&h, nil, err), nil
	}
	st, err := s.begin(&h, txn.Isolation(m.Isolation), m.Backend)
	if err != nil {
		release()
		return s.staged(&h, nil, err), nil
	}
	st.keep(release)
	return s.staged(&h, st, nil), nil
}

func microsOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
