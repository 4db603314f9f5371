package cluster

import (
	"context"

	"github.com/sherddb/sherd/rebalance/heat"
	"github.com/sherddb/sherd/shardmap/balance"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/storage/keyspace"
)

// How many of the most used buckets and keys of a fragment are reported.
const (
	hottestBuckets = 32
	hottestKeys    = 32
)

// ListHeat returns the most used buckets and keys of the fragments that this node leads, and how
// often each fragment is used as a whole.
func (h *Host) ListHeat() (out []sysview.Heat) {
	for _, r := range h.all() {
		if r.Group.Term() == 0 {
			continue
		}
		m := h.fragments.Meter(r.ID())
		add := func(bucket int64, key []byte, x heat.Rate) {
			out = append(out, sysview.Heat{Fragment: r.ID(),
				Bucket: bucket, Key: key, Reads: x.Reads, Writes: x.Writes})
		}
		add(-1, nil, m.Total())
		for _, b := range m.Buckets(hottestBuckets) {
			add(int64(b.Bucket), nil, b.Rate)
		}
		for _, k := range m.Keys(hottestKeys) {
			add(int64(keyspace.BucketOf([]byte(k.Key))), []byte(k.Key), k.Rate)
		}
	}
	return out
}

// heats returns how often all fragments and their hottest buckets are used, for the balancer. Nodes
// that do not answer are left out.
func (h *Host) heats(ctx context.Context) (out []balance.Heat) {
	all := h.ListHeat()
	if h.cfg.HeatElsewhere != nil {
		all = append(all, h.cfg.HeatElsewhere(ctx)...)
	}
	for _, x := range all {
		if x.Key == nil {
			out = append(out, balance.Heat{Fragment: x.Fragment, Bucket: x.Bucket, Reads: x.Reads, Writes: x.Writes})
		}
	}
	return out
}
