package distexec

import (
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
func (g *Gateway) ListHeat() (out []sysview.Heat) {
	for _, r := range g.cfg.Here.Replicas().All() {
		if r.Group.Term() == 0 {
			continue
		}
		m := g.cfg.Here.Replicas().Meter(r.ID())
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

// ListReplicas returns the replicas of the fragments that are led here, for sessions.
func (g *Gateway) ListReplicas() []sysview.Replica {
	var out []sysview.Replica
	for _, r := range g.cfg.Here.Replicas().All() {
		term := r.Group.Term()
		if term == 0 {
			continue
		}
		for _, m := range r.Group.Members() {
			out = append(out, sysview.Replica{
				Fragment: r.ID(), Node: m.Node, Leads: m.Node == g.cfg.Node,
				Voter: m.Voter, Lag: m.Lag, Contact: m.Contact, Term: term,
			})
		}
	}
	return out
}

// BucketHeat returns what the balancer needs of a list: how often the fragments and their most used
// buckets are used.
func BucketHeat(list []sysview.Heat) (out []balance.Heat) {
	for _, x := range list {
		if x.Key == nil {
			out = append(out, balance.Heat{Fragment: x.Fragment, Bucket: x.Bucket, Reads: x.Reads, Writes: x.Writes})
		}
	}
	return out
}
