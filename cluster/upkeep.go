package cluster

import (
	"bytes"
	"context"
	"time"

	"github.com/sherddb/sherd/cluster/door"
	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// upkeep serves the checks of other nodes: for fragments that are led here, and for single
// replicas.
type upkeep struct {
	pb.UnimplementedUpkeepServer
	h *Host
}

// asked handles what all requests have in common: the caller and its clock.
func (u upkeep) asked(ctx context.Context, now uint64) error {
	if _, ok := door.PeerOf(ctx); !ok {
		return status.Error(codes.PermissionDenied, "only nodes of the cluster may ask for fragments")
	}
	if err := u.h.cfg.Clock.Merge(txn.Timestamp(now)); err != nil {
		return &failure.ClockAhead{Err: err}
	}
	return nil
}

// replica returns a replica that leads.
func (u upkeep) replica(ctx context.Context, now uint64, f txn.FragmentID) (*storage.Replica, error) {
	if err := u.asked(ctx, now); err != nil {
		return nil, err
	}
	r := u.h.replica(f)
	if r == nil || r.Term() == 0 {
		return nil, &failure.NotLeader{Fragment: f}
	}
	return r, nil
}

// anyReplica returns a replica that need not lead: to compare it with the others, and for nothing
// that a client reads.
func (u upkeep) anyReplica(ctx context.Context, now uint64, f txn.FragmentID) (*storage.Replica, error) {
	if err := u.asked(ctx, now); err != nil {
		return nil, err
	}
	r := u.h.replica(f)
	if r == nil {
		return nil, errNotOpen
	}
	return r, nil
}

// Census implements nodepb.UpkeepServer.
func (u upkeep) Census(ctx context.Context, m *pb.CensusRequest) (*pb.CensusAnswer, error) {
	a := &pb.CensusAnswer{}
	err := u.census(ctx, m, a)
	a.Failure, a.Now = failure.Encode(err), uint64(u.h.cfg.Clock.Now())
	return a, nil
}

func (u upkeep) census(ctx context.Context, m *pb.CensusRequest, a *pb.CensusAnswer) error {
	r, err := u.replica(ctx, m.Now, m.Fragment)
	if err != nil {
		return err
	}
	census := r.Census()
	a.At = uint64(census.At)
	undecided, err := waitDecided(ctx, r, max(txn.Timestamp(m.T), census.At), time.Duration(m.TimeLeftMicros)*time.Microsecond)
	if err != nil {
		return err
	}
	for _, x := range undecided {
		a.Undecided = append(a.Undecided, &pb.Undecided{Transaction: x.ID[:], C: uint64(x.C), Anchor: uint32(x.Anchor)})
	}
	if len(undecided) > 0 {
		return nil
	}
	stats, err := census.Stats(ctx)
	if err != nil {
		return err
	}
	for _, s := range stats {
		a.Counts = append(a.Counts, &pb.Count{Fragment: m.Fragment, Table: s.Table, From: s.From, To: s.To, Documents: s.Documents, Bytes: s.Bytes})
	}
	for _, m := range r.Ownership() {
		a.Moved = append(a.Moved, &pb.OwnedRange{Lo: m.Lo, Hi: m.Hi, State: uint32(m.State), Arrival: m.Arrival})
	}
	dropping, err := r.Dropping()
	for _, s := range dropping {
		a.Dropping = append(a.Dropping, &pb.KeySpan{Start: s.Start, End: s.End})
	}
	return err
}

// readBatch bounds what is read before it is sent.
const readBatch = 256 << 10

// Read implements nodepb.UpkeepServer. An answer without keys is the last.
func (u upkeep) Read(m *pb.ReadRequest, s grpc.ServerStreamingServer[pb.ReadAnswer]) error {
	if err := u.read(m, s); err != nil {
		return s.Send(&pb.ReadAnswer{Failure: failure.Encode(err)})
	}
	return s.Send(&pb.ReadAnswer{})
}

func (u upkeep) read(m *pb.ReadRequest, s grpc.ServerStreamingServer[pb.ReadAnswer]) error {
	ctx := s.Context()
	r, err := u.replica(ctx, m.Now, m.Fragment)
	if err != nil {
		return err
	}
	view, err := r.Tx(txn.NewID()).View(ctx, txn.Timestamp(m.T))
	if err != nil {
		return err
	}
	defer view.Close()
	view.OwnedOnly()
	a, size := &pb.ReadAnswer{}, 0
	send := func() error {
		if len(a.Keys) == 0 {
			return nil
		}
		err := s.Send(a)
		a, size = &pb.ReadAnswer{}, 0
		return err
	}
	err = view.Scan(ctx, txn.Span{Start: m.Span.GetStart(), End: m.Span.GetEnd()}, m.Reverse, func(key, value []byte) error {
		a.Keys, a.Values = append(a.Keys, bytes.Clone(key)), append(a.Values, bytes.Clone(value))
		if size += len(key) + len(value); size < readBatch {
			return nil
		}
		return send()
	})
	if err != nil {
		return err
	}
	return send()
}

// Reach implements nodepb.UpkeepServer.
func (u upkeep) Reach(ctx context.Context, m *pb.ReachRequest) (*pb.ReachAnswer, error) {
	a := &pb.ReachAnswer{}
	r, err := u.anyReplica(ctx, m.Now, m.Fragment)
	if err == nil {
		var got reach
		got, err = reached(ctx, r, txn.Timestamp(m.T), time.Duration(m.TimeLeftMicros)*time.Microsecond)
		a.Reached, a.Applied = got.all, uint64(got.applied)
		for _, s := range got.unsettled {
			a.Dropping = append(a.Dropping, &pb.KeySpan{Start: s.Start, End: s.End})
		}
	}
	a.Failure, a.Now = failure.Encode(err), uint64(u.h.cfg.Clock.Now())
	return a, nil
}

// Close implements nodepb.UpkeepServer.
func (u upkeep) Close(ctx context.Context, m *pb.CloseRequest) (*pb.CloseAnswer, error) {
	a := &pb.CloseAnswer{}
	r, err := u.replica(ctx, m.Now, m.Fragment)
	if err == nil {
		var c storage.Closed
		if c, err = r.CloseAt(ctx, txn.Timestamp(m.T)); storage.NotLed(err) {
			err = &failure.NotLeader{Fragment: m.Fragment}
		}
		a.T, a.Last = uint64(c.T), uint64(c.Last)
	}
	a.Failure, a.Now = failure.Encode(err), uint64(u.h.cfg.Clock.Now())
	return a, nil
}

// Digest implements nodepb.UpkeepServer.
func (u upkeep) Digest(ctx context.Context, m *pb.DigestRequest) (*pb.DigestAnswer, error) {
	a := &pb.DigestAnswer{}
	r, err := u.anyReplica(ctx, m.Now, m.Fragment)
	if err == nil {
		skip := make([]txn.Span, len(m.Skip))
		for i, s := range m.Skip {
			skip[i] = txn.Span{Start: s.GetStart(), End: s.GetEnd()}
		}
		var d storage.Digest
		d, err = r.Digest(ctx, txn.Timestamp(m.T), skip)
		a.Keys, a.Sum = d.Keys, d.Sum[:]
	}
	a.Failure, a.Now = failure.Encode(err), uint64(u.h.cfg.Clock.Now())
	return a, nil
}
