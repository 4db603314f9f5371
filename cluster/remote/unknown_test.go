package remote

import (
	"context"
	"testing"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// older is a node of another release: it knows no operation of this one.
type older struct{}

var errOlder = status.Error(codes.Unimplemented, "unknown")

func (older) Send(context.Context, *pb.Request, ...grpc.CallOption) (*pb.Response, error) {
	return nil, errOlder
}

func (older) Stream(context.Context, *pb.Request, ...grpc.CallOption) (
	grpc.ServerStreamingClient[pb.Response], error,
) {
	return nil, errOlder
}

func (older) Snapshot(context.Context, *pb.SnapshotRequest, ...grpc.CallOption) (*pb.SnapshotAnswer, error) {
	return nil, errOlder
}

// TestUnknownOperation sends operations to a node that does not know them: the caller gets a definite
// error, which names the node and which kv.Client does not repeat.
func TestUnknownOperation(t *testing.T) {
	cat, err := catalog.Open(catalog.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cat.Close() }()
	n := &Node{nodes: &Nodes{cfg: Config{Clock: txn.NewClock(nil, 0), Catalog: cat}}, id: 7, client: older{}}
	calls := map[string]func() error{
		"Send": func() error {
			_, err := n.Send(t.Context(), &pb.Request{})
			return err
		},
		"Stream": func() error { return n.Stream(t.Context(), &pb.Request{}, nil) },
		"Snapshot": func() error {
			_, _, err := n.Snapshot(t.Context(), []shardmap.Share{{Fragment: 1}}, 1)
			return err
		},
	}
	for name, call := range calls {
		err := call()
		if kv.LeaderGone(err) || kv.OutcomeOpen(err) || !pgerr.Is(err, pgerr.FeatureNotSupported) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e := pgerr.From(err); e.Hint == "" || e.Message != "node n7 does not support this operation" {
			t.Errorf("%s: message %q, hint %q", name, e.Message, e.Hint)
		}
	}
}
