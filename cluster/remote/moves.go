package remote

import (
	"context"
	"time"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

func (l Leader) moves() pb.MovesClient { return pb.NewMovesClient(l.node.link) }

func (l Leader) moveRequest(move uint64, ranges []storage.BucketRange) *pb.MoveRequest {
	return &pb.MoveRequest{Now: uint64(l.node.nodes.cfg.Clock.Now()), Fragment: uint32(l.fragment), Move: move, Ranges: rangesOf(ranges)}
}

func rangesOf(list []storage.BucketRange) (out []*pb.BucketRange) {
	for _, x := range list {
		out = append(out, &pb.BucketRange{Lo: x.Lo, Hi: x.Hi})
	}
	return out
}

// moved returns the error of an answer about a step of a move.
func (l Leader) moved(a *pb.MoveAnswer, err error) error {
	if err != nil {
		return l.node.noAnswer(err)
	}
	if err := l.answer(a.Now, a.Failure); err != nil {
		return err
	}
	return stepError(a.Outcome, a.Gid)
}

func stepError(out pb.MoveAnswer_Outcome, gid string) error {
	switch out {
	case pb.MoveAnswer_VOID:
		return storage.ErrMoveVoid
	case pb.MoveAnswer_UNSETTLED:
		return storage.ErrUnsettled
	case pb.MoveAnswer_HELD:
		return &storage.HeldError{GID: gid}
	}
	return nil
}

// Unfence lifts a fence there (storage.Replica.Unfence).
func (l Leader) Unfence(ctx context.Context, move uint64, ranges []storage.BucketRange) error {
	return l.moved(l.moves().Unfence(ctx, l.moveRequest(move, ranges)))
}

// Gone notifies the source that another fragment owns the ranges (storage.Replica.Gone).
func (l Leader) Gone(ctx context.Context, move uint64, ranges []storage.BucketRange) (blocked time.Duration, err error) {
	a, err := l.moves().Gone(ctx, l.moveRequest(move, ranges))
	if err := l.moved(a, err); err != nil {
		return 0, err
	}
	return time.Duration(a.BlockedMicros) * time.Microsecond, nil
}

// Clean has the source delete what has moved away (storage.Replica.Clean).
func (l Leader) Clean(ctx context.Context, move uint64, ranges []storage.BucketRange) error {
	return l.moved(l.moves().Clean(ctx, l.moveRequest(move, ranges)))
}

// MoveSize estimates how much the ranges hold there.
func (l Leader) MoveSize(ctx context.Context, ranges []storage.BucketRange) (documents, bytes int64, err error) {
	a, err := l.moves().Size(ctx, l.moveRequest(0, ranges))
	if err := l.moved(a, err); err != nil {
		return 0, 0, err
	}
	return a.Documents, a.Bytes, nil
}

// ReadVersions reads versions there (storage.Replica.ReadVersions).
func (l Leader) ReadVersions(ctx context.Context, req storage.ReadRequest, fn func([]storage.Version) error) (storage.ReadResult, error) {
	return l.versions(ctx, l.versionsRequest(req), fn)
}

// Cut fences there, and reads the rest (storage.Replica.Cut).
func (l Leader) Cut(ctx context.Context, req storage.ReadRequest, settle time.Duration, fn func([]storage.Version) error) (storage.ReadResult, error) {
	req.Final = true // all that a node of a release before Cut understands: void, for there is no fence
	m := l.versionsRequest(req)
	m.Cut, m.SettleMicros = true, uint64(settle.Microseconds())
	return l.versions(ctx, m, fn)
}

func (l Leader) versionsRequest(req storage.ReadRequest) *pb.VersionsRequest {
	return &pb.VersionsRequest{
		Now: uint64(l.node.nodes.cfg.Clock.Now()), Fragment: uint32(l.fragment), Move: req.Move, Ranges: rangesOf(req.Ranges),
		Since: uint64(req.Since), T: uint64(req.T), AtLeast: uint64(req.AtLeast), Final: req.Final,
	}
}

func (l Leader) versions(ctx context.Context, m *pb.VersionsRequest, fn func([]storage.Version) error) (storage.ReadResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := l.moves().ReadVersions(ctx, m)
	if err != nil {
		return storage.ReadResult{}, l.node.noAnswer(err)
	}
	for {
		a, err := s.Recv()
		if err != nil {
			return storage.ReadResult{}, l.node.noAnswer(err)
		}
		if err := failure.Decode(a.Failure, l.fragment); err != nil {
			return storage.ReadResult{}, err
		}
		if len(a.Versions) == 0 { // the end
			if err := l.node.heard(a.Now); err != nil {
				return storage.ReadResult{}, err
			}
			return storage.ReadResult{T: txn.Timestamp(a.T), Watermark: txn.Timestamp(a.Watermark)}, stepError(a.Outcome, a.Gid)
		}
		batch := make([]storage.Version, len(a.Versions))
		for i, v := range a.Versions {
			batch[i] = storage.Version{Key: v.Key, At: txn.Timestamp(v.At), Value: v.Value, Deleted: v.Deleted, Kept: v.Kept, Before: v.Before}
		}
		if err := fn(batch); err != nil {
			return storage.ReadResult{}, err
		}
	}
}
