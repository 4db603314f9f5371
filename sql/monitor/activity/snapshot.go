package activity

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
)

// Snapshot asks a node for a snapshot that a transaction there has exported. ok is false if the
// node has no snapshot of that name. The error is 57P03 if the node does not answer, and 0A000 if
// its release does not share snapshots.
func (n *Net) Snapshot(ctx context.Context, node uint32, id string) (x tx.ExportedSnapshot, ok bool, err error) {
	if !n.cfg.Exists(node) {
		return x, false, nil
	}
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	a, err := n.askSnapshot(asking, node, id)
	switch {
	case err == nil:
		x, err := fromSnapshot(a)
		return x, a.Known && err == nil, err
	case ctx.Err() != nil:
		return x, false, ctx.Err()
	}
	return x, false, noSnapshot(err, n.cfg.Name(node))
}

// noSnapshot returns the error of an import if the exporting node could not be asked.
func noSnapshot(err error, node string) error {
	if status.Code(err) == codes.Unimplemented {
		return pgerr.Unsupported(`node "%s" runs a release that does not share its snapshots`, node).
			WithHint("Upgrade all nodes of the cluster, or import the snapshot at that node.")
	}
	return pgerr.New(pgerr.CannotConnectNow, `node "%s", which exported the snapshot, does not answer`, node).
		WithHint("Try again in a moment. If the node is down, " +
			"the snapshot is lost with the transaction that exported it.")
}

func (n *Net) askSnapshot(ctx context.Context, node uint32, id string) (*pb.ExportedAnswer, error) {
	if n.cfg.Silent(node) {
		return nil, status.Error(codes.Unavailable, "the node is silent")
	}
	client, err := n.client(node)
	if err != nil {
		return nil, err
	}
	return client.Exported(ctx, &pb.ExportedRequest{Id: id}, grpc.WaitForReady(true))
}

// Exported implements the service.
func (n *Net) Exported(_ context.Context, r *pb.ExportedRequest) (*pb.ExportedAnswer, error) {
	s, err := n.served()
	if err != nil {
		return nil, err
	}
	x, ok := s.Snapshot(r.Id)
	if !ok {
		return &pb.ExportedAnswer{}, nil
	}
	return toSnapshot(x), nil
}

func toSnapshot(x tx.ExportedSnapshot) *pb.ExportedAnswer {
	a := &pb.ExportedAnswer{
		Known: true, Timestamp: uint64(x.T), Database: x.Database,
		Serializable: x.Serializable, ReadOnly: x.ReadOnly, Past: x.Past, Catalog: x.Catalog,
	}
	for _, s := range x.Storages {
		a.Storages = append(a.Storages, &pb.StorageRow{Id: s.ID, Index: s.Index, Rules: s.Rules})
	}
	if m := x.PartsBy; m != nil {
		a.Owners = &pb.BucketOwners{Epoch: m.Epoch(), Top: m.Top()}
		for _, r := range m.Ranges() {
			a.Owners.Ranges = append(a.Owners.Ranges, &pb.BucketOwner{Lo: r.Lo, Hi: r.Hi, Fragment: r.Fragment})
		}
	}
	return a
}

func fromSnapshot(a *pb.ExportedAnswer) (x tx.ExportedSnapshot, err error) {
	x = tx.ExportedSnapshot{
		T: txn.Timestamp(a.Timestamp), Database: a.Database,
		Serializable: a.Serializable, ReadOnly: a.ReadOnly, Past: a.Past, Catalog: a.Catalog,
	}
	for _, s := range a.Storages {
		x.Storages = append(x.Storages, tx.SnapshotStorage{ID: s.Id, Index: s.Index, Rules: s.Rules})
	}
	if o := a.Owners; o != nil {
		ranges := make([]shardmap.Range, len(o.Ranges))
		for i, r := range o.Ranges {
			ranges[i] = shardmap.Range{Interval: shardmap.Interval{Lo: r.Lo, Hi: r.Hi}, Fragment: r.Fragment}
		}
		if x.PartsBy, err = shardmap.NewAssignedMap(o.Epoch, ranges, o.Top); err != nil {
			return x, pgerr.New(pgerr.ProtocolViolation,
				"the exported snapshot came with a damaged bucket map: %v", err)
		}
	}
	return x, nil
}
