package failure

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/protobuf/proto"
)

// sent returns an error as the other node gets it.
func sent(t *testing.T, err error) *pb.Error {
	t.Helper()
	b, merr := proto.Marshal(EncodeError(err))
	if merr != nil {
		t.Fatal(merr)
	}
	e := &pb.Error{}
	if err := proto.Unmarshal(b, e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestErrors(t *testing.T) {
	full := &pgerr.Error{
		Severity: "ERROR", Code: "23505", Message: "m", Detail: "d", Hint: "h", Position: 7, Where: "w", Schema: "s",
		Table: "t", Column: "c", DataType: "y", Constraint: "k",
	}
	conflict := txn.NewConflict([]byte("key"), 9, 5, txn.NewID(), true)
	conflict.Read = true
	deadlock := &txn.DeadlockError{
		Err: pgerr.New(pgerr.DeadlockDetected, "deadlock detected"),
		Waits: []*txn.Wait{
			{Waiter: txn.LockOwner{ID: txn.NewID(), Session: 3}, Lock: "ShareLock", Key: []byte("k"), Fragment: 9},
			{Lock: "x", Object: "relation 1"},
		},
	}
	for _, want := range []error{
		full, &txn.RowError{Place: 4, Err: full}, conflict, &txn.RowError{Place: 0, Err: conflict}, deadlock,
		&txn.LowError{LowWater: 1 << 60}, txn.ErrLocked, context.Canceled, context.DeadlineExceeded, &txn.RowError{Place: 1, Err: txn.ErrLocked},
	} {
		for _, e := range []error{want, fmt.Errorf("around: %w", want)} {
			got, damaged := DecodeError(sent(t, e))
			pgerr.DropSource(got)
			pgerr.DropSource(want)
			if damaged != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%#v became %#v, %v", e, got, damaged)
			}
			if pgerr.Code(got) != pgerr.Code(want) {
				t.Errorf("%v: SQLSTATE %s became %s", e, pgerr.Code(want), pgerr.Code(got))
			}
		}
	}
	got, damaged := DecodeError(sent(t, errors.New("disk on fire")))
	if damaged != nil || pgerr.Code(got) != pgerr.InternalError || pgerr.From(got).Message != "disk on fire" {
		t.Errorf("%v, %v", got, damaged)
	}
	both := fmt.Errorf("%w: %w", pgerr.New(pgerr.StatementCompletionUnknown, "unknown"), context.Canceled)
	if got, _ := DecodeError(sent(t, both)); pgerr.Code(got) != pgerr.StatementCompletionUnknown {
		t.Errorf("%v became %v", both, got)
	}
}

// TestErrorOfInvalidText sends a text that is not UTF-8, which protobuf refuses to send.
func TestErrorOfInvalidText(t *testing.T) {
	got, damaged := DecodeError(sent(t, pgerr.New(pgerr.CharacterNotInRepertoire, "byte \xff")))
	if damaged != nil || pgerr.From(got).Message != "byte \uFFFD" {
		t.Errorf("%v, %v", got, damaged)
	}
}

// TestDamagedErrors decodes errors with parts missing, and every damage of a byte: nothing panics, and
// a message that is not an error is refused.
func TestDamagedErrors(t *testing.T) {
	client := encodeMarked(pgerr.New(pgerr.UniqueViolation, "m"))
	for _, e := range []*pb.Error{
		nil, {}, {Row: new(int64)}, {Kind: &pb.Error_Plain{}}, {Kind: &pb.Error_Conflict{}}, {Kind: &pb.Error_Deadlock{}},
		{Kind: &pb.Error_Conflict{Conflict: &pb.ConflictError{Error: client}}},
		{Kind: &pb.Error_Deadlock{Deadlock: &pb.DeadlockError{Error: client, Waits: []*pb.LockWait{{}}}}},
		{Kind: &pb.Error_Signal_{Signal: pb.Error_NONE}}, {Kind: &pb.Error_Signal_{Signal: 99}},
	} {
		if err, damaged := DecodeError(e); err != nil || !pgerr.Is(damaged, pgerr.ProtocolViolation) {
			t.Errorf("%v became %v, %v", e, err, damaged)
		}
	}
	good, err := proto.Marshal(EncodeError(&txn.RowError{
		Place: 1, Err: txn.NewConflict([]byte("key"), 9, 5, txn.NewID(), true),
	}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for _, bit := range []byte{1, 0x80, 0xff} {
			b := append([]byte(nil), good...)
			b[i] ^= bit
			e := &pb.Error{}
			if proto.Unmarshal(b, e) != nil {
				continue
			}
			if err, damaged := DecodeError(e); err == nil && damaged == nil {
				t.Errorf("byte %d: neither an error nor damage", i)
			}
		}
	}
}
