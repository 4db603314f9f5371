package move

import (
	"context"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Source is the leader of the fragment from which buckets move away.
type Source struct {
	kv.Sender
	Fragment uint32
}

func rangeOf(move uint64, ranges []shardmap.Interval) *pb.MoveRange {
	return &pb.MoveRange{Move: move, Ranges: rangesOf(ranges)}
}

func rangesOf(list []shardmap.Interval) (out []*pb.BucketRange) {
	for _, x := range list {
		out = append(out, &pb.BucketRange{Lo: x.Lo, Hi: x.Hi})
	}
	return out
}

func (s Source) send(ctx context.Context, r *pb.Request) (*pb.Response, error) {
	r.Fragment = s.Fragment
	return s.Send(ctx, r)
}

// unfence lifts the fence at the source (storage.Mover.Unfence).
func (s Source) unfence(ctx context.Context, move uint64, ranges []shardmap.Interval) error {
	_, err := s.send(ctx, &pb.Request{Op: &pb.Request_Unfence{Unfence: rangeOf(move, ranges)}})
	return err
}

// movedAway notifies the source that another fragment owns the ranges (storage.Mover.MoveAway). It
// returns for how long writes waited for the flip, 0 if that is not known.
func (s Source) movedAway(ctx context.Context, move uint64, ranges []shardmap.Interval) (time.Duration, error) {
	a, err := s.send(ctx, &pb.Request{Op: &pb.Request_MovedAway{MovedAway: rangeOf(move, ranges)}})
	return time.Duration(a.GetBlockedMicros()) * time.Microsecond, err
}

// clean makes the source delete what has moved away (storage.Mover.Clean).
func (s Source) clean(ctx context.Context, move uint64, ranges []shardmap.Interval) error {
	_, err := s.send(ctx, &pb.Request{Op: &pb.Request_Clean{Clean: rangeOf(move, ranges)}})
	return err
}

// size estimates how many bytes the ranges have at the source.
func (s Source) size(ctx context.Context, ranges []shardmap.Interval) (int64, error) {
	a, err := s.send(ctx, &pb.Request{Op: &pb.Request_MoveSize{MoveSize: rangeOf(0, ranges)}})
	return a.GetSize().GetBytes(), err
}

// takeVersions receives a batch of versions, in the order of keys.
type takeVersions = func([]storage.Version) error

// readVersions reads versions at the source (storage.Mover.ReadVersions).
func (s Source) readVersions(
	ctx context.Context, req storage.ReadRequest, fn takeVersions,
) (storage.ReadResult, error) {
	return s.read(ctx, requestOf(req), fn)
}

// cut fences the source and reads the rest (storage.Mover.Cut).
func (s Source) cut(
	ctx context.Context, req storage.ReadRequest, wait time.Duration, fn takeVersions,
) (storage.ReadResult, error) {
	m := requestOf(req)
	m.Cut, m.WaitMicros = true, uint64(wait.Microseconds())
	return s.read(ctx, m, fn)
}

func requestOf(req storage.ReadRequest) *pb.ReadVersionsRequest {
	return &pb.ReadVersionsRequest{
		Move: req.Move, Ranges: rangesOf(req.Ranges), Since: uint64(req.Since), T: uint64(req.T),
		AtLeast: uint64(req.AtLeast), Final: req.Final,
	}
}

func (s Source) read(
	ctx context.Context, m *pb.ReadVersionsRequest, fn takeVersions,
) (res storage.ReadResult, err error) {
	r := &pb.Request{Fragment: s.Fragment, Op: &pb.Request_ReadVersions{ReadVersions: m}}
	err = s.Stream(ctx, r, func(a *pb.Response) error {
		if end := a.GetVersionsRead(); end != nil {
			res = storage.ReadResult{T: txn.Timestamp(end.T), Watermark: txn.Timestamp(end.Watermark)}
			return nil
		}
		list := a.GetVersions().GetVersions()
		batch := make([]storage.Version, len(list))
		for i, v := range list {
			batch[i] = storage.Version{
				Key: v.Key, At: txn.Timestamp(v.At), Value: v.Value, Deleted: v.Deleted, Kept: v.Kept, Before: v.Before,
			}
		}
		return fn(batch)
	})
	return res, err
}
