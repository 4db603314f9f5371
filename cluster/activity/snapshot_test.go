package activity

import (
	"context"
	"net"
	"reflect"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql"
)

// TestSnapshot sends a snapshot with something in every field.
func TestSnapshot(t *testing.T) {
	var x sql.ExportedSnapshot
	filled(reflect.ValueOf(&x).Elem(), 1)
	if got := fromSnapshot(toSnapshot(x)); !reflect.DeepEqual(got, x) {
		t.Errorf("sent:\n%+v\ncame:\n%+v", x, got)
	}
}

// TestSnapshotOfAnOlderRelease: a node that does not know the request gets another error than one that does not answer.
func TestSnapshotOfAnOlderRelease(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	older := grpc.NewServer()
	pb.RegisterActivityServer(older, pb.UnimplementedActivityServer{})
	go func() { _ = older.Serve(l) }()
	defer older.Stop()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = pb.NewActivityClient(conn).Exported(t.Context(), &pb.ExportedRequest{Id: "x"})
	if got := noSnapshot(err, "n2"); !pgerr.Is(got, pgerr.FeatureNotSupported) {
		t.Errorf("an older release: %v", got)
	}
	if got := noSnapshot(context.DeadlineExceeded, "n2"); !pgerr.Is(got, pgerr.CannotConnectNow) {
		t.Errorf("no answer: %v", got)
	}
}
