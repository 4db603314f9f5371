package cluster

import (
	"time"

	"github.com/sherddb/sherd/cluster/heat"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// meter returns the access meter of a fragment that this node leads.
func (h *Host) meter(id txn.FragmentID) *heat.Meter {
	if m, ok := h.meters.Load(id); ok {
		return m.(*heat.Meter)
	}
	m, _ := h.meters.LoadOrStore(id, heat.NewMeter(time.Now))
	return m.(*heat.Meter)
}

// How many of the most used buckets and keys of a fragment are reported.
const (
	hottestBuckets = 32
	hottestKeys    = 32
)

// ListHeat returns the most used buckets and keys of the fragments that this node leads, and how
// often each fragment is used as a whole.
func (h *Host) ListHeat() (out []sysview.Heat) {
	for _, r := range h.all() {
		if r.Term() == 0 {
			continue
		}
		m := h.meter(r.ID())
		add := func(bucket int64, key []byte, x heat.Rate) {
			out = append(out, sysview.Heat{Fragment: r.ID(), Bucket: bucket, Key: key, Reads: x.Reads, Writes: x.Writes})
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

// countRead and countWrite count accesses to rows; entries of indexes do not count.
func (s *Stage) countRead(key []byte) {
	if s.meter != nil && keyspace.IsRow(key) {
		s.meter.Read(keyspace.BucketOf(key), key)
	}
}

func (s *Stage) countWrite(key []byte) {
	if s.meter == nil || !keyspace.IsRow(key) {
		return
	}
	if b := keyspace.BucketOf(key); b >= shardmap.BucketCount {
		s.meter.WriteInOrder(b, key)
	} else {
		s.meter.Write(b, key)
	}
}

// scannedBuckets is the largest number of buckets for which a scan is counted: a wider scan makes
// no bucket hot.
const scannedBuckets = 16

// countScan counts the rows that a task has scanned in a few buckets, evenly for each of them.
// Reads by key were counted already.
func (s *Stage) countScan(task *exec.Task, res exec.Result) {
	n := int64(task.Buckets.Len())
	if s.meter == nil || n == 0 || n > scannedBuckets || res.Rows < 2*n {
		return
	}
	for _, v := range task.Buckets.Intervals() {
		for b := v.Lo; b < v.Hi; b++ {
			s.meter.Scan(b, res.Rows/n)
		}
	}
}
