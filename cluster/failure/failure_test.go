package failure

import (
	"fmt"
	"reflect"
	"testing"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/protobuf/proto"
)

func TestEveryFailureComesBack(t *testing.T) {
	marked := pgerr.New(pgerr.UniqueViolation, "m")
	for _, want := range []error{
		nil, &kv.NotLeader{Fragment: 7, Leader: 3, Term: 9}, &kv.NotLeader{Fragment: 7}, txn.NewLost(7, true), &txn.MovedError{Fragment: 7, Move: 5}, txn.NewAway(7), txn.NewUnder(7), &Replan{77, "table 3"}, ErrUnknownPlan, marked,
		&kv.ClockAhead{Err: pgerr.New(pgerr.InternalError, "clock")}, &txn.LowError{LowWater: 4}, txn.NewConflict([]byte("k"), 2, 1, txn.ID{}, false),
		storage.ErrMoveVoid, storage.ErrUndecided, &storage.PreparedError{GID: "g"},
	} {
		for _, err := range []error{want, around(want)} {
			b, merr := proto.Marshal(&pb.Response{Failure: Encode(err)})
			if merr != nil {
				t.Fatal(merr)
			}
			var a pb.Response
			if err := proto.Unmarshal(b, &a); err != nil {
				t.Fatal(err)
			}
			got := Decode(a.Failure, 7)
			pgerr.DropSource(got)
			pgerr.DropSource(want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v became %v", err, got)
			}
		}
		if want != nil && want != ErrUnknownPlan && pgerr.Code(want) == pgerr.InternalError && pgerr.From(want).Message != "clock" && !isLow(want) && !ofMove(want) {
			t.Errorf("%v has no SQLSTATE", want)
		}
	}
	if err := Decode(&pb.Failure{Error: &pb.Error{}}, 1); pgerr.Code(err) != pgerr.ProtocolViolation {
		t.Errorf("damage became %v", err)
	}
}

func around(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("around: %w", err)
}

// ofMove reports whether an error is for the driver of a move only.
func ofMove(err error) bool { return err == storage.ErrMoveVoid || err == storage.ErrUndecided }

func isLow(err error) bool { _, ok := err.(*txn.LowError); return ok }
