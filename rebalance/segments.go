package rebalance

import (
	"context"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/shardmap/balance"
)

// SegmentCut chooses the keys at which a segment is split because it is above a limit of its size,
// or, if limit is 0, because of the writes to it; none if a split would not help. A segment that is
// not above the limit is cut in two halves.
func (r *Rebalancer) SegmentCut(
	ctx context.Context, t *catalog.Table, b shardmap.Bucket, f shardmap.FragmentID, limit int64,
) (cuts [][]byte, err error) {
	a, err := r.cfg.Client.Send(ctx, &pb.Request{Fragment: uint32(f), Op: &pb.Request_SegmentKeys{
		SegmentKeys: &pb.SegmentKeysRequest{Table: t.StorageID, Bucket: uint32(b), Stored: limit > 0},
	}})
	if err != nil {
		return nil, err
	}
	k := a.GetSegmentKeys()
	written := k.GetWritten()
	if limit == 0 {
		if cut := balance.CutByWrites(written); cut != nil {
			cuts = [][]byte{cut}
		}
		return cuts, nil
	}
	list := make([]balance.KeyAt, min(len(k.GetStored()), len(k.GetBefore())))
	for i := range list {
		list[i] = balance.KeyAt{Key: k.Stored[i], Before: k.Before[i]}
	}
	if k.GetBytes() <= limit {
		written = nil // the halves are of one size, however keys grow
	}
	return balance.CutBySize(list, k.GetBytes(), limit, written), nil
}
