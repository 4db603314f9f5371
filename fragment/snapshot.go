package fragment

import (
	"context"
	"sync"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/counts"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// pins are the snapshots pinned for transactions whose gateway is this node. Those of other nodes
// belong to their leased parts, and end with them.
type pins struct {
	mu sync.Mutex
	by map[partKey][]func() // they release the pins; guarded by mu
}

func (p *pins) add(c *Call, release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := partKey{c.Fragment, c.ID}
	p.by[key] = append(p.by[key], release)
}

func (p *pins) release(c *Call) {
	key := partKey{c.Fragment, c.ID}
	p.mu.Lock()
	list := p.by[key]
	delete(p.by, key)
	p.mu.Unlock()
	for _, release := range list {
		release()
	}
}

// pin keeps what is visible at T readable until the transaction ends. A part is made for another
// node's transaction that has none.
func (s *Server) pin(c *Call, m *pb.PinRequest) (*pb.Response, error) {
	release, err := c.Replica.Pin(txn.Timestamp(m.T))
	if err != nil {
		return &pb.Response{}, err
	}
	if c.here() {
		s.pins.add(c, release)
		return &pb.Response{}, nil
	}
	p, err := s.Begin(c, txn.Isolation(m.Isolation), m.Backend)
	if err != nil {
		release()
		return &pb.Response{}, err
	}
	p.keep(release)
	return &pb.Response{Buffer: p.Message()}, nil
}

// unpin ends the pins of a transaction that is over, and what another node has left of it.
func (s *Server) unpin(c *Call) (*pb.Response, error) {
	if c.here() {
		s.pins.release(c)
		return &pb.Response{}, nil
	}
	return s.end(c)
}

func (c *Call) closeTimestamp(ctx context.Context, m *pb.CloseRequest) (*pb.Response, error) {
	closed, err := c.Replica.CloseAt(ctx, txn.Timestamp(m.T))
	a := &pb.CloseAnswer{T: uint64(closed.T), Last: uint64(closed.Last)}
	return &pb.Response{Result: &pb.Response_Closed{Closed: a}}, err
}

func (c *Call) countRows(m *pb.CountRowsRequest) (*pb.Response, error) {
	if m.Total {
		totals, term, written := c.Replica.Inspect.Totals(m.Table)
		a := &pb.CountsAnswer{Counts: countsOf(totals), Term: term}
		for table, rows := range written {
			a.Written = append(a.Written, &pb.Written{Table: table, Rows: rows})
		}
		return &pb.Response{Result: &pb.Response_Counts{Counts: a}}, nil
	}
	a := &pb.CountsAnswer{Counts: countsOf(c.Replica.Inspect.BucketStats(m.Table))}
	return &pb.Response{Result: &pb.Response_Counts{Counts: a}}, nil
}

func countsOf(stats []counts.Range) []*pb.Count {
	out := make([]*pb.Count, len(stats))
	for i, x := range stats {
		out[i] = &pb.Count{Table: x.Table, From: x.From, To: x.To, Documents: x.Documents, Bytes: x.Bytes}
	}
	return out
}

// segmentKeys returns keys, as stored, of the segment of a range table that lies in a bucket: keys
// of stored rows, if they are asked for, and some keys that were written lately.
func (s *Server) segmentKeys(ctx context.Context, c *Call, m *pb.SegmentKeysRequest) (*pb.Response, error) {
	a := &pb.SegmentKeysAnswer{}
	for _, key := range s.cfg.Replicas.Meter(c.Fragment).Written(m.Bucket) {
		if keyspace.TableOf(key) == m.Table {
			a.Written = append(a.Written, keyspace.PrimaryKeyOf(key))
		}
	}
	var err error
	if m.Stored {
		var keys []storage.KeyAt
		keys, a.Bytes, err = c.Replica.StoredKeys(ctx, m.Table, m.Bucket)
		for _, x := range keys {
			a.Stored, a.Before = append(a.Stored, x.Key), append(a.Before, x.Before)
		}
	}
	return &pb.Response{Result: &pb.Response_SegmentKeys{SegmentKeys: a}}, err
}
