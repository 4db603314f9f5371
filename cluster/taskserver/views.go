package taskserver

import (
	"context"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/txn"
)

// maxListed is how many rows a list has at most.
const maxListed = 10_000

func limitOf(m *pb.ListRequest) int {
	if m.Limit == 0 {
		return maxListed
	}
	return int(min(m.Limit, maxListed))
}

// Counts implements nodepb.FragmentsServer.
func (s *Server) Counts(ctx context.Context, m *pb.ListRequest) (_ *pb.CountsAnswer, err error) {
	defer s.guard(&err)
	replicas, failures, err := s.listed(ctx, m)
	if err != nil {
		return nil, err
	}
	a := &pb.CountsAnswer{Now: s.now(), Failures: failures}
	for _, r := range replicas {
		for _, c := range r.BucketStats(m.Table) {
			a.Counts = append(a.Counts, &pb.Count{
				Fragment: r.ID(), Table: c.Table, From: c.From, To: c.To, Documents: c.Documents, Bytes: c.Bytes,
			})
		}
	}
	return a, nil
}

// RowLocks implements nodepb.FragmentsServer.
func (s *Server) RowLocks(ctx context.Context, m *pb.ListRequest) (_ *pb.RowLocksAnswer, err error) {
	defer s.guard(&err)
	replicas, failures, err := s.listed(ctx, m)
	if err != nil {
		return nil, err
	}
	a := &pb.RowLocksAnswer{Now: s.now(), Failures: failures}
	for _, r := range replicas {
		locks, n := r.Locks(limitOf(m) - len(a.Locks))
		a.Total += uint64(n)
		for _, l := range locks {
			out := &pb.RowLock{
				Fragment: l.Fragment, Holder: s.party(l.Holder), Key: l.Key, Mode: uint32(l.Mode), Granted: l.Granted, SinceMicros: microsOf(l.Since),
			}
			for _, b := range l.Blockers {
				out.Blockers = append(out.Blockers, s.party(b))
			}
			a.Locks = append(a.Locks, out)
		}
	}
	return a, nil
}

// Transactions implements nodepb.FragmentsServer.
func (s *Server) Transactions(ctx context.Context, m *pb.ListRequest) (_ *pb.TransactionsAnswer, err error) {
	defer s.guard(&err)
	replicas, failures, err := s.listed(ctx, m)
	if err != nil {
		return nil, err
	}
	a := &pb.TransactionsAnswer{Now: s.now(), Failures: failures}
	for _, r := range replicas {
		txs, n := r.Transactions(limitOf(m))
		a.Total += uint64(n)
		for _, x := range txs {
			a.Transactions = append(a.Transactions, &pb.OpenTransaction{
				Fragment: x.Fragment, Party: s.party(x.Party), SinceMicros: microsOf(x.Since), Writes: uint64(x.Writes), Bytes: x.Bytes,
				Locks: uint64(x.Locks), Phase: x.Phase, C: uint64(x.C), Anchor: x.Anchor, Adopted: x.Adopted,
			})
		}
	}
	return a, nil
}

// ListHeld implements nodepb.FragmentsServer.
func (s *Server) ListHeld(ctx context.Context, m *pb.ListRequest) (_ *pb.HeldAnswer, err error) {
	defer s.guard(&err)
	replicas, failures, err := s.listed(ctx, m)
	if err != nil {
		return nil, err
	}
	a := &pb.HeldAnswer{Now: s.now(), Failures: failures}
	for _, r := range replicas {
		held, err := r.Held()
		if err != nil {
			h := header{fragment: r.ID(), replica: r}
			a.Failures = append(a.Failures, &pb.SnapshotFailure{Fragment: r.ID(), Failure: h.failed(err)})
		}
		for _, x := range held {
			a.Held = append(a.Held, &pb.HeldTransaction{
				Transaction: x.ID[:], Gid: x.GID, Owner: x.Owner, Database: x.Database, AtMicros: microsOf(x.At), Floor: uint64(x.Floor),
				Home: r.ID(), Fragments: x.Fragments,
			})
		}
	}
	return a, nil
}

// party returns the owner or waiter of a lock, and the gateway of its session.
func (s *Server) party(p txn.Party) *pb.Party {
	return &pb.Party{Transaction: p.ID[:], Session: p.Session, Gateway: s.gatewayOf(p.ID)}
}
