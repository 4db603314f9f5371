package failure

import (
	"errors"
	"fmt"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Replan means that the plan was made with definitions that differ from those of the node asked.
type Replan struct {
	Version uint64 // of the catalog there: the gateway waits for it before it plans again
	Why     string
}

func (e *Replan) Error() string {
	return fmt.Sprintf("definitions have changed, catalog %d: %s", e.Version, e.Why)
}

// Unwrap returns the client's error.
func (*Replan) Unwrap() error {
	return pgerr.New(pgerr.SerializationFailure,
		"could not serialize access: the definitions of a table have changed").WithHint("Try again.")
}

// ErrUnknownPlan means that the plan has to be sent again.
var ErrUnknownPlan = errors.New("the plan's number is not known")

// Encode returns the form of an error between nodes; nil for nil.
func Encode(err error) *pb.Failure {
	var (
		leader *kv.NotLeader
		lost   *txn.LostError
		moved  *txn.MovedError
		replan *Replan
		clock  *kv.ClockAhead
		held   *storage.PreparedError
	)
	f := &pb.Failure{}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &leader):
		f.Kind, f.Leader, f.Term = pb.Failure_NOT_LEADER, leader.Leader, leader.Term
	case errors.As(err, &lost) && !lost.Buffered:
		f.Kind, f.Error = pb.Failure_STATEMENT_LOST, EncodeError(lost.Err)
	case errors.As(err, &lost):
		f.Kind, f.Error = pb.Failure_BUFFER_LOST, EncodeError(lost.Err)
	case errors.As(err, &moved):
		f.Kind, f.Move = pb.Failure_MOVED, moved.Move
	case errors.As(err, &replan):
		f.Kind, f.CatalogVersion = pb.Failure_REPLAN, replan.Version
		f.Error = EncodeError(errors.New(replan.Why))
	case errors.Is(err, ErrUnknownPlan):
		f.Kind = pb.Failure_UNKNOWN_PLAN
	case errors.As(err, &clock):
		f.Kind, f.Error = pb.Failure_CLOCK, EncodeError(clock.Err)
	case errors.Is(err, storage.ErrMoveVoid):
		f.Kind = pb.Failure_MOVE_VOID
	case errors.Is(err, storage.ErrUndecided):
		f.Kind = pb.Failure_UNDECIDED
	case errors.As(err, &held):
		f.Kind, f.Gid = pb.Failure_PREPARED, held.GID
	default:
		f.Error = EncodeError(err)
	}
	return f
}

// Decode returns the error of an answer about a fragment; nil if there is none.
func Decode(f *pb.Failure, fragment txn.FragmentID) error {
	if f == nil {
		return nil
	}
	switch f.Kind {
	case pb.Failure_NOT_LEADER:
		return &kv.NotLeader{Fragment: fragment, Leader: f.Leader, Term: f.Term}
	case pb.Failure_MOVED:
		return &txn.MovedError{Fragment: fragment, Move: f.Move}
	case pb.Failure_UNKNOWN_PLAN:
		return ErrUnknownPlan
	case pb.Failure_MOVE_VOID:
		return storage.ErrMoveVoid
	case pb.Failure_UNDECIDED:
		return storage.ErrUndecided
	case pb.Failure_PREPARED:
		return &storage.PreparedError{GID: f.Gid}
	}
	err, damaged := DecodeError(f.Error)
	switch {
	case damaged != nil:
		return damaged
	case f.Kind == pb.Failure_BUFFER_LOST, f.Kind == pb.Failure_STATEMENT_LOST:
		return &txn.LostError{Fragment: fragment, Buffered: f.Kind == pb.Failure_BUFFER_LOST, Err: pgerr.From(err)}
	case f.Kind == pb.Failure_REPLAN:
		return &Replan{f.CatalogVersion, pgerr.From(err).Message}
	case f.Kind == pb.Failure_CLOCK:
		return &kv.ClockAhead{Err: err}
	}
	return err
}
