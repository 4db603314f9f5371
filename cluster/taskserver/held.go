package taskserver

import (
	"context"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Hold implements nodepb.FragmentsServer. The home holds the name even where the transaction has done nothing there.
func (s *Server) Hold(ctx context.Context, m *pb.HoldRequest) (_ *pb.StageAnswer, err error) {
	defer s.guard(&err)
	h, err := s.open(ctx, m.Header)
	if err != nil {
		return s.staged(&h, nil, err), nil
	}
	st, err := s.begin(&h, txn.ReadCommitted, 0)
	if err == nil {
		err = st.Hold(ctx, storage.HoldRequest{
			HoldRequest: txn.HoldRequest{
				GID: m.Gid, Owner: m.Owner, Database: m.Database, At: time.UnixMicro(m.AtMicros).UTC(), Floor: txn.Timestamp(m.Floor),
			},
			Home: m.Home, Writers: m.Writers, Reads: m.Reads,
		})
	}
	return s.staged(&h, st, err), nil
}

// HoldStep implements nodepb.FragmentsServer.
func (s *Server) HoldStep(ctx context.Context, m *pb.HoldStepRequest) (_ *pb.StageAnswer, err error) {
	defer s.guard(&err)
	h, err := s.open(ctx, m.Header)
	if err != nil {
		return s.staged(&h, nil, err), nil
	}
	s.stages.mu.Lock()
	st := s.stages.by[stageKey{h.fragment, h.id}]
	s.stages.mu.Unlock()
	tx := h.replica.Tx(h.id)
	if st != nil {
		tx = st.Tx
	}
	switch m.Step {
	case pb.HoldStepRequest_COMPLETE:
		err = tx.HoldComplete()
	case pb.HoldStepRequest_UNHOLD:
		err = h.replica.Unhold(h.id)
	case pb.HoldStepRequest_DETACH:
		if tx.Detach(); st != nil {
			s.forget(st)
			st = nil
		}
	default:
		err = pgerr.New(pgerr.ProtocolViolation, "PREPARE TRANSACTION has no step %d", m.Step)
	}
	return s.staged(&h, st, err), nil
}

// HoldStands implements nodepb.FragmentsServer.
func (s *Server) HoldStands(ctx context.Context, m *pb.OutcomeRequest) (_ *pb.YesAnswer, err error) {
	defer s.guard(&err)
	a := &pb.YesAnswer{}
	h, err := s.open(ctx, m.Header)
	if err == nil {
		a.Yes, err = h.replica.HoldStands(ctx, h.id)
	}
	a.Failure, a.Now = h.failed(err), s.now()
	return a, nil
}

// HeldTables implements nodepb.FragmentsServer.
func (s *Server) HeldTables(ctx context.Context, m *pb.OutcomeRequest) (_ *pb.TablesAnswer, err error) {
	defer s.guard(&err)
	a := &pb.TablesAnswer{}
	h, err := s.open(ctx, m.Header)
	if err == nil {
		a.Tables, err = h.replica.HeldTables(h.id)
	}
	a.Failure, a.Now = h.failed(err), s.now()
	return a, nil
}
