package distexec

import (
	"context"
	"testing"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// older is a node of a release without tasks.
type older struct{}

func (older) Run(context.Context, ...grpc.CallOption) (
	grpc.BidiStreamingClient[pb.TaskPart, pb.TaskAnswer], error,
) {
	return nil, status.Error(codes.Unimplemented, "unknown")
}

// TestUnknownOperation sends a task to a node that does not know tasks: the caller gets a definite error,
// which is not taken for a node that may answer later.
func TestUnknownOperation(t *testing.T) {
	cat, err := catalog.Open(catalog.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cat.Close() }()
	nodes := remote.New(remote.Config{
		Clock: txn.NewClock(nil, 0), Catalog: cat, Port: testcluster.New(t, 2, nil).Nodes[0].Port,
	})
	n, err := nodes.Node(2)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&leaderNode{Node: n, tasks: older{}}).borrow()
	if kv.LeaderGone(err) || kv.OutcomeOpen(err) || !pgerr.Is(err, pgerr.FeatureNotSupported) {
		t.Errorf("got %v", err)
	}
}
