package remote

import (
	"testing"
	"time"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/txn"
)

// TestAnswersOfOneAhead: a node whose clock has jumped says truly what it has committed, decided, or does not know.
func TestAnswersOfOneAhead(t *testing.T) {
	node := &Node{nodes: &Nodes{cfg: Config{Clock: txn.NewClock(nil, 0)}}}
	p, l := &Part{node: node, fragment: 7}, Leader{node: node, fragment: 7}
	ahead := uint64(txn.FromTime(time.Now().Add(time.Hour)))
	if err := p.answer(ahead, nil, nil); !txn.IsAhead(err) {
		t.Fatalf("its clock is taken for right: %v", err)
	}
	if err := p.took(ahead, nil, nil); err != nil {
		t.Errorf("a commit: %v", err)
	}
	unknown := failure.Encode(txn.Unanswered(txn.NewID(), nil))
	if err := p.took(ahead, unknown, nil); !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		t.Errorf("an outcome that it does not know: %v", err)
	}
	if out, err := l.outcome(&pb.OutcomeAnswer{Now: ahead, Outcome: uint32(txn.Committed)}, nil); out != txn.Committed || err != nil {
		t.Errorf("a decision: %v, %v", out, err)
	}
}
