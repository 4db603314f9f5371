package failure

import (
	"context"
	"errors"
	"strings"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// EncodeError returns the form of a complete error between nodes: errors.As and errors.Is find the
// same in it on the other node. An error that is neither a pgerr.Error nor has a form becomes XX000
// with its text.
func EncodeError(err error) *pb.Error {
	e := &pb.Error{}
	var row *txn.RowError
	if errors.As(err, &row) {
		e.Row = &row.Place
		for errors.As(err, &row) { // the outermost one counts
			err = row.Err
		}
	}
	var (
		conflict *txn.ConflictError
		deadlock *txn.DeadlockError
		low      *txn.LowError
		marked   *pgerr.Error
	)
	switch {
	case errors.As(err, &conflict):
		e.Kind = &pb.Error_Conflict{Conflict: encodeConflict(conflict)}
	case errors.As(err, &deadlock):
		e.Kind = &pb.Error_Deadlock{Deadlock: encodeDeadlock(deadlock)}
	case errors.As(err, &low):
		e.Kind = &pb.Error_Low{Low: uint64(low.LowWater)}
	case errors.Is(err, txn.ErrLocked):
		e.Kind = &pb.Error_Signal_{Signal: pb.Error_LOCKED}
	case errors.As(err, &marked):
		e.Kind = &pb.Error_Plain{Plain: encodeMarked(marked)}
	case errors.Is(err, context.Canceled):
		e.Kind = &pb.Error_Signal_{Signal: pb.Error_CANCELED}
	case errors.Is(err, context.DeadlineExceeded):
		e.Kind = &pb.Error_Signal_{Signal: pb.Error_DEADLINE}
	default:
		e.Kind = &pb.Error_Plain{Plain: encodeMarked(pgerr.From(err))}
	}
	return e
}

// text makes a text that protobuf can send: clients would see a replacement character too.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func encodeMarked(e *pgerr.Error) *pb.ClientError {
	if e == nil {
		e = pgerr.New(pgerr.InternalError, "an error has no text")
	}
	return &pb.ClientError{
		Severity: text(e.Severity), Code: text(e.Code), Message: text(e.Message), Detail: text(e.Detail),
		Hint: text(e.Hint), Where: text(e.Where), Schema: text(e.Schema), Table: text(e.Table), Column: text(e.Column),
		DataType: text(e.DataType), Constraint: text(e.Constraint), Position: int64(e.Position),
	}
}

func encodeConflict(e *txn.ConflictError) *pb.ConflictError {
	return &pb.ConflictError{
		Key: e.Key, Version: uint64(e.Version), T: uint64(e.T), Other: e.Other[:], Deleted: e.Deleted, Read: e.Read,
		Error: encodeMarked(e.Err),
	}
}

func encodeDeadlock(e *txn.DeadlockError) *pb.DeadlockError {
	out := &pb.DeadlockError{Error: encodeMarked(e.Err)}
	for _, w := range e.Waits {
		out.Waits = append(out.Waits, &pb.LockWait{
			Waiter: &pb.Waiter{Transaction: w.Waiter.ID[:], Session: w.Waiter.Session},
			Lock:   text(w.Lock), Object: text(w.Object), Key: w.Key, Fragment: uint32(w.Fragment),
		})
	}
	return out
}

// errDamaged is the error of an answer whose error cannot be read: the other node is of another
// release, or its message is damaged.
var errDamaged = pgerr.New(pgerr.ProtocolViolation, "a message of another node cannot be read: an error")

// DecodeError decodes the result of EncodeError. damaged is set if e is not an error.
func DecodeError(e *pb.Error) (err, damaged error) {
	switch k := e.GetKind().(type) {
	case *pb.Error_Plain:
		err, damaged = asError(decodeMarked(k.Plain))
	case *pb.Error_Conflict:
		err, damaged = decodeConflict(k.Conflict)
	case *pb.Error_Deadlock:
		err, damaged = decodeDeadlock(k.Deadlock)
	case *pb.Error_Low:
		err = &txn.LowError{LowWater: txn.Timestamp(k.Low)}
	case *pb.Error_Signal_:
		err = map[pb.Error_Signal]error{
			pb.Error_LOCKED: txn.ErrLocked, pb.Error_CANCELED: context.Canceled,
			pb.Error_DEADLINE: context.DeadlineExceeded,
		}[k.Signal]
	}
	switch {
	case damaged != nil:
		return nil, damaged
	case err == nil:
		return nil, errDamaged
	case e.Row != nil:
		return &txn.RowError{Place: *e.Row, Err: err}, nil
	}
	return err, nil
}

func asError(e *pgerr.Error, damaged error) (error, error) {
	if damaged != nil {
		return nil, damaged
	}
	return e, nil
}

func decodeMarked(e *pb.ClientError) (*pgerr.Error, error) {
	if len(e.GetCode()) != 5 {
		return nil, errDamaged
	}
	return &pgerr.Error{
		Severity: e.Severity, Code: e.Code, Message: e.Message, Detail: e.Detail, Hint: e.Hint, Where: e.Where,
		Schema: e.Schema, Table: e.Table, Column: e.Column, DataType: e.DataType, Constraint: e.Constraint,
		Position: int(e.Position),
	}, nil
}

func decodeConflict(e *pb.ConflictError) (error, error) {
	marked, damaged := decodeMarked(e.GetError())
	if damaged != nil || len(e.Other) != len(txn.ID{}) {
		return nil, errDamaged
	}
	return &txn.ConflictError{
		Key: e.Key, Version: txn.Timestamp(e.Version), T: txn.Timestamp(e.T), Other: txn.ID(e.Other),
		Deleted: e.Deleted, Read: e.Read, Err: marked,
	}, nil
}

func decodeDeadlock(e *pb.DeadlockError) (error, error) {
	marked, damaged := decodeMarked(e.GetError())
	if damaged != nil {
		return nil, damaged
	}
	out := &txn.DeadlockError{Err: marked}
	for _, w := range e.Waits {
		id := w.GetWaiter().GetTransaction()
		if len(id) != len(txn.ID{}) {
			return nil, errDamaged
		}
		out.Waits = append(out.Waits, &txn.Wait{
			Waiter: txn.LockOwner{ID: txn.ID(id), Session: w.Waiter.Session},
			Lock:   w.Lock, Object: w.Object, Key: w.Key,
			Fragment: txn.FragmentID(w.Fragment),
		})
	}
	return out, nil
}
