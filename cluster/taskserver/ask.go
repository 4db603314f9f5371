package taskserver

import (
	"context"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Snapshot implements nodepb.FragmentsServer: the fragments are asked in parallel, for each may wait for a quorum (T5).
func (s *Server) Snapshot(ctx context.Context, m *pb.SnapshotRequest) (_ *pb.SnapshotAnswer, err error) {
	defer s.guard(&err)
	if _, err := caller(ctx); err != nil {
		return nil, err
	}
	type answer struct {
		t       txn.Timestamp
		term    uint64
		failure *pb.Failure
	}
	answers := make([]answer, len(m.Of))
	done := make(chan struct{}, len(m.Of))
	for i, of := range m.Of {
		ask := func() {
			a := &answers[i]
			h := header{}
			var err error
			if a.t, a.term, err = s.snapshot(ctx, m.Now, of, &h); err != nil {
				a.failure = h.failed(err)
			}
			done <- struct{}{}
		}
		if i == len(m.Of)-1 {
			ask()
		} else {
			go ask()
		}
	}
	for range m.Of {
		<-done
	}
	out := &pb.SnapshotAnswer{}
	var T txn.Timestamp
	for i, a := range answers {
		T = max(T, a.t)
		out.Terms = append(out.Terms, a.term)
		if a.failure != nil {
			out.Failures = append(out.Failures, &pb.SnapshotFailure{Fragment: m.Of[i].Fragment, Failure: a.failure})
		}
	}
	out.T, out.Now = uint64(T), s.now()
	return out, nil
}

func (s *Server) snapshot(ctx context.Context, now uint64, of *pb.SnapshotOf, h *header) (txn.Timestamp, uint64, error) {
	r, term, err := s.leads(now, of.Fragment)
	if err != nil {
		return 0, 0, err
	}
	h.fragment, h.replica = of.Fragment, r
	set, err := bucketsOf(of.Buckets)
	if err != nil {
		return 0, 0, err
	}
	T, err := r.SnapshotOf(ctx, set.Intervals())
	return T, term, err
}

func bucketsOf(list []*pb.BucketRange) (shardmap.BucketSet, error) {
	ivs := make([]shardmap.Interval, len(list))
	for i, r := range list {
		if r.Lo >= r.Hi || r.Hi > shardmap.BucketLimit {
			return shardmap.BucketSet{}, pgerr.New(pgerr.ProtocolViolation, "buckets %d to %d are none", r.Lo, r.Hi)
		}
		ivs[i] = shardmap.Interval{Lo: r.Lo, Hi: r.Hi}
	}
	return shardmap.NewBucketSet(ivs...), nil
}

// Outcome implements nodepb.FragmentsServer.
func (s *Server) Outcome(ctx context.Context, m *pb.OutcomeRequest) (_ *pb.OutcomeAnswer, err error) {
	defer s.guard(&err)
	a := &pb.OutcomeAnswer{C: m.C}
	h, err := s.open(ctx, m.Header)
	if err == nil {
		var out txn.Outcome
		out, err = h.replica.Outcome(ctx, h.id, txn.Timestamp(m.C))
		a.Outcome = uint32(out)
	}
	a.Failure, a.Now = h.failed(err), s.now()
	return a, nil
}

// Recall implements nodepb.FragmentsServer.
func (s *Server) Recall(ctx context.Context, m *pb.OutcomeRequest) (_ *pb.OutcomeAnswer, err error) {
	defer s.guard(&err)
	a := &pb.OutcomeAnswer{}
	h, err := s.open(ctx, m.Header)
	if err == nil {
		var out txn.Outcome
		var C txn.Timestamp
		out, C, err = h.replica.Recall(h.id)
		a.Outcome, a.C = uint32(out), uint64(C)
	}
	a.Failure, a.Now = h.failed(err), s.now()
	return a, nil
}

// HasPrepared implements nodepb.FragmentsServer.
func (s *Server) HasPrepared(ctx context.Context, m *pb.OutcomeRequest) (_ *pb.YesAnswer, err error) {
	defer s.guard(&err)
	a := &pb.YesAnswer{}
	h, err := s.open(ctx, m.Header)
	if err == nil {
		a.Yes, err = h.replica.HasPrepared(h.id, txn.Timestamp(m.C))
	}
	a.Failure, a.Now = h.failed(err), s.now()
	return a, nil
}

// InDoubt implements nodepb.FragmentsServer.
func (s *Server) InDoubt(ctx context.Context, m *pb.OutcomeRequest) (_ *pb.InDoubtAnswer, err error) {
	defer s.guard(&err)
	a := &pb.InDoubtAnswer{}
	h, err := s.open(ctx, m.Header)
	if err == nil {
		if d, anchor, ok := h.replica.Prepared(h.id); ok {
			a.Prepared, a.C, a.Anchor, a.Writers = true, uint64(d.C), anchor, d.Writers
			_, _, a.Implied = h.replica.Implied(h.id)
		}
	}
	a.Failure, a.Now = h.failed(err), s.now()
	return a, nil
}

// listed returns the replicas that a list is about, which must be led here; if none is named, all
// that are.
func (s *Server) listed(ctx context.Context, m *pb.ListRequest) (out []*storage.Replica, failures []*pb.SnapshotFailure, err error) {
	if _, err := caller(ctx); err != nil {
		return nil, nil, err
	}
	if len(m.Fragments) == 0 {
		for _, r := range s.cfg.Host.Replicas() {
			if r.Term() != 0 {
				out = append(out, r)
			}
		}
		return out, nil, nil
	}
	for _, f := range m.Fragments {
		r, _, err := s.leads(m.Now, f)
		if err != nil {
			failures = append(failures, &pb.SnapshotFailure{Fragment: f, Failure: failure.Encode(err)})
			continue
		}
		out = append(out, r)
	}
	return out, failures, nil
}
