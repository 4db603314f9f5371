package fragment

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/txn"
)

// errUnknown is the answer to an operation of a later release.
var errUnknown = status.Error(codes.Unimplemented, "this release does not know the operation")

// anyReplica reports whether a replica that does not lead may answer.
func anyReplica(r *pb.Request) bool {
	switch r.Op.(type) {
	case *pb.Request_Reach, *pb.Request_Digest:
		return true
	}
	return false
}

// answer runs the function of an operation. With an error the response may say what is left of the
// transaction's part.
func (s *Server) answer(ctx context.Context, c *Call, r *pb.Request) (*pb.Response, error) {
	switch m := r.Op.(type) {
	case *pb.Request_ListPrepared:
		return c.listPrepared()
	case *pb.Request_Close:
		return c.closeTimestamp(ctx, m.Close)
	case *pb.Request_CountRows:
		return c.countRows(m.CountRows)
	case *pb.Request_SegmentKeys:
		return s.segmentKeys(ctx, c, m.SegmentKeys)
	case *pb.Request_Unfence:
		return c.unfence(ctx, m.Unfence)
	case *pb.Request_MovedAway:
		return c.movedAway(ctx, m.MovedAway)
	case *pb.Request_Clean:
		return c.clean(ctx, m.Clean)
	case *pb.Request_MoveSize:
		return c.moveSize(m.MoveSize)
	case *pb.Request_Census:
		return c.census(ctx, m.Census)
	case *pb.Request_Reach:
		return c.reach(ctx, m.Reach)
	case *pb.Request_Digest:
		return c.digest(ctx, m.Digest)
	}
	switch {
	case r.Op == nil:
		return nil, errUnknown
	case c.ID == (txn.ID{}):
		return nil, errNoTransaction
	}
	return s.answerTransaction(ctx, c, r)
}

// answerTransaction is answer for the operations on a transaction.
func (s *Server) answerTransaction(ctx context.Context, c *Call, r *pb.Request) (*pb.Response, error) {
	switch m := r.Op.(type) {
	case *pb.Request_Commit:
		return s.commit(ctx, c, m.Commit)
	case *pb.Request_Check:
		return s.check(ctx, c, m.Check)
	case *pb.Request_Prepare:
		return s.prepare(ctx, c, m.Prepare)
	case *pb.Request_Decide:
		return s.decide(ctx, c, m.Decide)
	case *pb.Request_Resolve:
		return s.resolve(ctx, c, m.Resolve)
	case *pb.Request_Forget:
		return s.forget(ctx, c, m.Forget)
	case *pb.Request_RollbackTo:
		return s.rollbackTo(c, m.RollbackTo)
	case *pb.Request_Owned:
		return s.owned(ctx, c)
	case *pb.Request_End:
		return s.end(c)
	case *pb.Request_Recover:
		return c.recoverOutcome(ctx, m.Recover)
	case *pb.Request_QueryOutcome:
		return c.queryOutcome()
	case *pb.Request_HasPrepared:
		return c.hasPrepared(m.HasPrepared)
	case *pb.Request_InDoubt:
		return c.inDoubt()
	case *pb.Request_PrepareTransaction:
		return s.prepareTransaction(ctx, c, m.PrepareTransaction)
	case *pb.Request_CompletePrepared:
		return s.completePrepared(c)
	case *pb.Request_DropPrepared:
		return s.dropPrepared(c)
	case *pb.Request_DetachPrepared:
		return s.detachPrepared(c)
	case *pb.Request_FindPrepared:
		return c.findPrepared()
	case *pb.Request_PreparedStands:
		return c.preparedStands(ctx)
	case *pb.Request_PreparedTables:
		return c.preparedTables()
	case *pb.Request_Pin:
		return s.pin(c, m.Pin)
	case *pb.Request_Unpin:
		return s.unpin(c)
	}
	return nil, errUnknown
}

// stream runs the function of an operation with many responses.
func (s *Server) stream(ctx context.Context, c *Call, r *pb.Request, emit func(*pb.Response) error) error {
	switch m := r.Op.(type) {
	case *pb.Request_ReadVersions:
		return c.readVersions(ctx, m.ReadVersions, emit)
	case *pb.Request_ReadRows:
		return c.readRows(ctx, m.ReadRows, emit)
	}
	return errUnknown
}

func yes(is bool, err error) (*pb.Response, error) {
	return &pb.Response{Result: &pb.Response_Yes{Yes: is}}, err
}
