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
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/tx"
)

// TestSnapshot sends a snapshot with something in every field.
func TestSnapshot(t *testing.T) {
	m, err := shardmap.NewAssignedMap(7, []shardmap.Range{
		{Interval: shardmap.Interval{Hi: 5}, Fragment: 1}, {Interval: shardmap.Interval{Lo: 5, Hi: shardmap.BucketCount}, Fragment: 2},
		{Interval: shardmap.Interval{Lo: shardmap.BucketCount + 3, Hi: shardmap.BucketCount + 4}, Fragment: 1},
	}, shardmap.BucketCount+9)
	if err != nil {
		t.Fatal(err)
	}
	x := tx.ExportedSnapshot{PartsBy: m}
	for v, i := reflect.ValueOf(&x).Elem(), 0; i < v.NumField(); i++ {
		if v.Field(i).Kind() != reflect.Pointer {
			filled(v.Field(i), int64(i+1))
		}
	}
	if got, err := fromSnapshot(toSnapshot(x)); err != nil || !reflect.DeepEqual(got, x) {
		t.Errorf("sent:\n%+v\ncame:\n%+v, %v", x, got, err)
	}
	x.PartsBy = nil // a node of an older release says nothing of it
	if got, err := fromSnapshot(toSnapshot(x)); err != nil || !reflect.DeepEqual(got, x) {
		t.Errorf("sent:\n%+v\ncame:\n%+v, %v", x, got, err)
	}
	if _, err := fromSnapshot(&pb.ExportedAnswer{Owners: &pb.BucketOwners{Epoch: 1}}); !pgerr.Is(err, pgerr.ProtocolViolation) {
		t.Errorf("a map that covers nothing: %v", err)
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
