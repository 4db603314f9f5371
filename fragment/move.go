package fragment

import (
	"context"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// unfence lifts the fence of a step of a move whose source is led here.
func (c *Call) unfence(ctx context.Context, m *pb.MoveRange) (*pb.Response, error) {
	ranges, err := intervalsOf(m.Ranges)
	if err == nil {
		err = c.Replica.Moves.Unfence(ctx, m.Move, ranges)
	}
	return &pb.Response{}, err
}

// movedAway notifies the source that another fragment owns the ranges; requests that wait are
// redirected.
func (c *Call) movedAway(ctx context.Context, m *pb.MoveRange) (*pb.Response, error) {
	var blocked time.Duration
	for _, f := range c.Replica.Owned.Fenced() {
		if f.Move == m.Move {
			blocked = time.Since(f.Since)
		}
	}
	ranges, err := intervalsOf(m.Ranges)
	if err == nil {
		err = c.Replica.Moves.MoveAway(ctx, m.Move, ranges)
	}
	return &pb.Response{Result: &pb.Response_BlockedMicros{BlockedMicros: uint64(blocked.Microseconds())}}, err
}

// clean deletes what has moved away.
func (c *Call) clean(ctx context.Context, m *pb.MoveRange) (*pb.Response, error) {
	ranges, err := intervalsOf(m.Ranges)
	if err == nil {
		err = c.Replica.Moves.Clean(ctx, m.Move, ranges)
	}
	return &pb.Response{}, err
}

// moveSize estimates how much the ranges hold.
func (c *Call) moveSize(m *pb.MoveRange) (*pb.Response, error) {
	a := &pb.SizeAnswer{}
	ranges, err := intervalsOf(m.Ranges)
	if err == nil {
		a.Documents, a.Bytes = c.Replica.Inspect.MoveSize(ranges)
	}
	return &pb.Response{Result: &pb.Response_Size{Size: a}}, err
}

// readVersions reads what a move copies. The last response says up to what.
func (c *Call) readVersions(ctx context.Context, m *pb.ReadVersionsRequest, emit func(*pb.Response) error) error {
	ranges, err := intervalsOf(m.Ranges)
	if err != nil {
		return err
	}
	req := storage.ReadRequest{
		Ranges: ranges, Since: txn.Timestamp(m.Since), T: txn.Timestamp(m.T), AtLeast: txn.Timestamp(m.AtLeast),
		Final: m.Final, Move: m.Move,
	}
	send := func(batch []storage.Version) error {
		if len(batch) == 0 {
			return nil
		}
		return emit(&pb.Response{Result: &pb.Response_Versions{Versions: versionsOf(batch)}})
	}
	var res storage.ReadResult
	if m.Cut {
		res, err = c.Replica.Moves.Cut(ctx, req, time.Duration(m.WaitMicros)*time.Microsecond, send)
	} else {
		res, err = c.Replica.Moves.ReadVersions(ctx, req, send)
	}
	if err != nil {
		return err
	}
	read := &pb.VersionsRead{T: uint64(res.T), Watermark: uint64(res.Watermark)}
	return emit(&pb.Response{Result: &pb.Response_VersionsRead{VersionsRead: read}})
}

// versionsOf makes the message of a batch, in two pieces of memory.
func versionsOf(batch []storage.Version) *pb.VersionsAnswer {
	rows := make([]pb.RowVersion, len(batch))
	a := &pb.VersionsAnswer{Versions: make([]*pb.RowVersion, len(batch))}
	for i, v := range batch {
		x := &rows[i]
		x.Key, x.At, x.Value, x.Deleted, x.Kept, x.Before = v.Key, uint64(v.At), v.Value, v.Deleted, v.Kept, v.Before
		a.Versions[i] = x
	}
	return a
}
