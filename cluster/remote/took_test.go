package remote

import (
	"context"
	"testing"
	"time"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/grpc"
)

// answering is a node that answers each request in one way.
type answering struct {
	pb.FragmentsClient
	answer *pb.Response
}

func (a answering) Send(context.Context, *pb.Request, ...grpc.CallOption) (*pb.Response, error) {
	return a.answer, nil
}

// TestAnswersOfOneAhead: a node whose clock has jumped says truly what it has committed, decided, or
// does not know.
func TestAnswersOfOneAhead(t *testing.T) {
	ahead := uint64(txn.FromTime(time.Now().Add(time.Hour)))
	at := func(a *pb.Response) (*Node, *Part) {
		a.Now = ahead
		node := &Node{nodes: &Nodes{cfg: Config{Clock: txn.NewClock(nil, 0)}}, client: answering{answer: a}}
		return node, &Part{node: node, fragment: 7}
	}
	if _, p := at(&pb.Response{}); !txn.IsAhead(p.Check(t.Context(), 1)) {
		t.Fatal("its clock is taken for right")
	}
	_, p := at(&pb.Response{Result: &pb.Response_Committed{Committed: 5}})
	if C, err := p.Commit(t.Context(), txn.CommitRequest{}); C != 5 || err != nil {
		t.Errorf("a commit: %v, %v", C, err)
	}
	if err := p.Prepare(t.Context(), txn.PrepareRequest{}); err != nil {
		t.Errorf("a prepare: %v", err)
	}
	_, p = at(&pb.Response{Failure: failure.Encode(txn.Unanswered(txn.NewID(), nil))})
	if _, err := p.Commit(t.Context(), txn.CommitRequest{}); !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		t.Errorf("an outcome that it does not know: %v", err)
	}
	n, _ := at(&pb.Response{Result: &pb.Response_Outcome{Outcome: &pb.OutcomeAnswer{Outcome: uint32(txn.Committed)}}})
	if out, err := kv.Decide(t.Context(), n, 7, txn.Decision{Outcome: txn.Committed}); out != txn.Committed || err != nil {
		t.Errorf("a decision: %v, %v", out, err)
	}
}
