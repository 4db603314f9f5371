package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/grpc"
)

// moves serves the drivers of moves on other nodes, for sources that are led here.
type moves struct {
	pb.UnimplementedMovesServer
	h *Host
}

// source returns the replica that leads, and the requested ranges.
func (s moves) source(ctx context.Context, now uint64, fragment uint32, list []*pb.BucketRange) (*storage.Replica, []storage.BucketRange, error) {
	r, err := upkeep{h: s.h}.replica(ctx, now, txn.FragmentID(fragment))
	if err != nil {
		return nil, nil, err
	}
	var ranges []storage.BucketRange
	for _, x := range list {
		if x.Lo >= x.Hi || x.Hi > shardmap.BucketLimit {
			return nil, nil, pgerr.New(pgerr.ProtocolViolation, "buckets %d to %d are none", x.Lo, x.Hi)
		}
		ranges = append(ranges, storage.BucketRange{Lo: x.Lo, Hi: x.Hi})
	}
	return r, ranges, nil
}

// step runs one step of a move.
func (s moves) step(ctx context.Context, m *pb.MoveRequest, do func(r *storage.Replica, ranges []storage.BucketRange, a *pb.MoveAnswer) error) (*pb.MoveAnswer, error) {
	a := &pb.MoveAnswer{}
	r, ranges, err := s.source(ctx, m.Now, m.Fragment, m.Ranges)
	if err == nil {
		err = do(r, ranges, a)
	}
	var rest error
	a.Outcome, a.Gid, rest = outcomeOfStep(err)
	a.Failure, a.Now = failure.Encode(rest), uint64(s.h.cfg.Clock.Now())
	return a, nil
}

// outcomeOfStep separates the part of an error that has an encoding of its own between nodes from
// the rest.
func outcomeOfStep(err error) (out pb.MoveAnswer_Outcome, gid string, rest error) {
	var held *storage.HeldError
	switch {
	case errors.Is(err, storage.ErrMoveVoid):
		return pb.MoveAnswer_VOID, "", nil
	case errors.Is(err, storage.ErrUnsettled):
		return pb.MoveAnswer_UNSETTLED, "", nil
	case errors.As(err, &held):
		return pb.MoveAnswer_HELD, held.GID, nil
	}
	return pb.MoveAnswer_DONE, "", err
}

// Fence implements nodepb.MovesServer.
func (s moves) Fence(ctx context.Context, m *pb.MoveRequest) (*pb.MoveAnswer, error) {
	return s.step(ctx, m, func(r *storage.Replica, ranges []storage.BucketRange, a *pb.MoveAnswer) error {
		F, err := r.Fence(ctx, m.Move, ranges, time.Duration(m.SettleMicros)*time.Microsecond)
		a.F = uint64(F)
		return err
	})
}

// Unfence implements nodepb.MovesServer.
func (s moves) Unfence(ctx context.Context, m *pb.MoveRequest) (*pb.MoveAnswer, error) {
	return s.step(ctx, m, func(r *storage.Replica, ranges []storage.BucketRange, _ *pb.MoveAnswer) error {
		return r.Unfence(ctx, m.Move, ranges)
	})
}

// Gone implements nodepb.MovesServer.
func (s moves) Gone(ctx context.Context, m *pb.MoveRequest) (*pb.MoveAnswer, error) {
	return s.step(ctx, m, func(r *storage.Replica, ranges []storage.BucketRange, a *pb.MoveAnswer) error {
		blocked, err := localSource{r}.Gone(ctx, m.Move, ranges)
		a.BlockedMicros = uint64(blocked.Microseconds())
		return err
	})
}

// Clean implements nodepb.MovesServer.
func (s moves) Clean(ctx context.Context, m *pb.MoveRequest) (*pb.MoveAnswer, error) {
	return s.step(ctx, m, func(r *storage.Replica, ranges []storage.BucketRange, _ *pb.MoveAnswer) error {
		return r.Clean(ctx, m.Move, ranges)
	})
}

// Size implements nodepb.MovesServer.
func (s moves) Size(ctx context.Context, m *pb.MoveRequest) (*pb.MoveAnswer, error) {
	return s.step(ctx, m, func(r *storage.Replica, ranges []storage.BucketRange, a *pb.MoveAnswer) error {
		a.Documents, a.Bytes = r.MoveSize(ranges)
		return nil
	})
}

// ReadVersions implements nodepb.MovesServer. The stream's flow-control window slows the read down
// if the target is slow.
func (s moves) ReadVersions(m *pb.VersionsRequest, stream grpc.ServerStreamingServer[pb.VersionsAnswer]) error {
	last := &pb.VersionsAnswer{}
	err := s.readVersions(m, stream, last)
	var rest error
	last.Outcome, last.Gid, rest = outcomeOfStep(err)
	last.Failure, last.Now = failure.Encode(rest), uint64(s.h.cfg.Clock.Now())
	return stream.Send(last)
}

func (s moves) readVersions(m *pb.VersionsRequest, stream grpc.ServerStreamingServer[pb.VersionsAnswer], last *pb.VersionsAnswer) error {
	ctx := stream.Context()
	r, ranges, err := s.source(ctx, m.Now, m.Fragment, m.Ranges)
	if err != nil {
		return err
	}
	req := storage.ReadRequest{Ranges: ranges, Since: txn.Timestamp(m.Since), T: txn.Timestamp(m.T), AtLeast: txn.Timestamp(m.AtLeast), Final: m.Final, Move: m.Move}
	send := func(batch []storage.Version) error {
		if len(batch) == 0 {
			return nil
		}
		a := &pb.VersionsAnswer{Versions: make([]*pb.RowVersion, len(batch))}
		for i, v := range batch {
			a.Versions[i] = &pb.RowVersion{Key: v.Key, At: uint64(v.At), Value: v.Value, Deleted: v.Deleted, Kept: v.Kept, Before: v.Before}
		}
		return stream.Send(a)
	}
	var res storage.ReadResult
	if m.Cut {
		res, err = r.Cut(ctx, req, time.Duration(m.SettleMicros)*time.Microsecond, send)
	} else {
		res, err = r.ReadVersions(ctx, req, send)
	}
	last.T, last.Watermark = uint64(res.T), uint64(res.Watermark)
	return err
}
