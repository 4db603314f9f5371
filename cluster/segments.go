package cluster

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/failure"
	"github.com/sherddb/sherd/cluster/heat"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/shardmap/balance"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
)

// segmentKeys is leader.SegmentKeys of a fragment that is led here.
func segmentKeys(ctx context.Context, r *storage.Replica, m *heat.Meter, table, bucket uint32, stored bool) (k storage.SegmentKeys, err error) {
	for _, key := range m.Written(bucket) {
		if keyspace.TableOf(key) == table {
			k.Written = append(k.Written, keyspace.PrimaryKeyOf(key))
		}
	}
	if stored {
		k.Stored, k.Bytes, err = r.StoredKeys(ctx, table, bucket)
	}
	return k, err
}

func (l localLeader) SegmentKeys(ctx context.Context, table, bucket uint32, stored bool) (storage.SegmentKeys, error) {
	return segmentKeys(ctx, l.r, l.h.meter(l.r.ID()), table, bucket, stored)
}

// SegmentKeys implements nodepb.UpkeepServer.
func (u upkeep) SegmentKeys(ctx context.Context, m *pb.SegmentKeysRequest) (*pb.SegmentKeysAnswer, error) {
	a := &pb.SegmentKeysAnswer{}
	r, err := u.replica(ctx, m.Now, m.Fragment)
	if err == nil {
		var k storage.SegmentKeys
		k, err = segmentKeys(ctx, r, u.h.meter(r.ID()), m.Table, m.Bucket, m.Stored)
		a.Written, a.Bytes = k.Written, k.Bytes
		for _, x := range k.Stored {
			a.Stored, a.Before = append(a.Stored, x.Key), append(a.Before, x.Before)
		}
	}
	a.Failure, a.Now = failure.Encode(err), uint64(u.h.cfg.Clock.Now())
	return a, nil
}

// SegmentCut chooses the keys at which a segment is split because it is above a limit of its size,
// or, if limit is 0, because of the writes to it; none if a split would not help. A segment that is
// not above the limit is cut in two halves.
func (h *Host) SegmentCut(ctx context.Context, t *catalog.Table, b shardmap.Bucket, f shardmap.FragmentID, limit int64) (cuts [][]byte, err error) {
	err = h.ask(ctx, f, func(l leader) error {
		k, err := l.SegmentKeys(ctx, t.StorageID, uint32(b), limit > 0)
		if err != nil {
			return err
		}
		if limit == 0 {
			if cut := balance.CutByWrites(k.Written); cut != nil {
				cuts = [][]byte{cut}
			}
			return nil
		}
		list := make([]balance.KeyAt, len(k.Stored))
		for i, x := range k.Stored {
			list[i] = balance.KeyAt(x)
		}
		if k.Bytes <= limit {
			k.Written = nil // the halves are of one size, however keys grow
		}
		cuts = balance.CutBySize(list, k.Bytes, limit, k.Written)
		return nil
	})
	return cuts, err
}
