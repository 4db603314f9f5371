package fragment

import (
	"context"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

var errNotOpen = pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the replica is not open")

// census counts the fragment's rows at a moment, after everything prepared by then was decided.
func (c *Call) census(ctx context.Context, m *pb.CensusRequest) (*pb.Response, error) {
	a := &pb.CensusAnswer{}
	err := takeCensus(ctx, c.Replica, m, a)
	return &pb.Response{Result: &pb.Response_Census{Census: a}}, err
}

func takeCensus(ctx context.Context, r *storage.Replica, m *pb.CensusRequest, a *pb.CensusAnswer) error {
	census := r.Inspect.Census()
	a.At = uint64(census.At)
	limit := time.Duration(m.TimeLeftMicros) * time.Microsecond
	undecided, err := WaitDecided(ctx, r, max(txn.Timestamp(m.T), census.At), limit)
	if err != nil {
		return err
	}
	for _, x := range undecided {
		a.Undecided = append(a.Undecided,
			&pb.Undecided{Transaction: x.ID[:], C: uint64(x.C), Coordinator: uint32(x.Coordinator)})
	}
	if len(undecided) > 0 {
		return nil
	}
	stats, err := census.Stats(ctx)
	if err != nil {
		return err
	}
	a.Counts = countsOf(stats)
	for _, m := range r.Owned.Ranges() {
		a.Moved = append(a.Moved, &pb.OwnedRange{Lo: m.Lo, Hi: m.Hi, State: uint32(m.State), Generation: m.Generation})
	}
	dropping, err := r.Inspect.Dropping()
	a.Dropping = spansOf(dropping)
	return err
}

// WaitDecided returns the transactions at or below T that are still undecided after limit.
func WaitDecided(
	ctx context.Context, r *storage.Replica, T txn.Timestamp, limit time.Duration,
) ([]storage.Undecided, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := r.Outcomes.WaitDecided(limited, T)
	if err == nil || ctx.Err() != nil || limited.Err() == nil {
		return nil, err
	}
	return r.Outcomes.Undecided(T), nil
}

func spansOf(list []txn.Span) []*pb.KeySpan {
	var out []*pb.KeySpan
	for _, x := range list {
		out = append(out, &pb.KeySpan{Start: x.Start, End: x.End})
	}
	return out
}

// reach waits until a replica, which need not lead, has everything visible at T.
func (c *Call) reach(ctx context.Context, m *pb.ReachRequest) (*pb.Response, error) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(m.TimeLeftMicros)*time.Microsecond)
	defer cancel()
	a := &pb.ReachAnswer{}
	undecided, err := c.Replica.Inspect.Reach(limited, txn.Timestamp(m.T))
	if a.Applied = uint64(c.Replica.Applied()); err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = nil
	} else {
		a.Reached, a.Dropping = err == nil, spansOf(undecided)
	}
	return &pb.Response{Result: &pb.Response_Reach{Reach: a}}, err
}

// digest returns the checksum of a replica, which need not lead, at a timestamp that it has
// reached.
func (c *Call) digest(ctx context.Context, m *pb.DigestRequest) (*pb.Response, error) {
	skip := make([]txn.Span, len(m.Skip))
	for i, x := range m.Skip {
		skip[i] = txn.Span{Start: x.GetStart(), End: x.GetEnd()}
	}
	d, err := c.Replica.Inspect.Digest(ctx, txn.Timestamp(m.T), skip)
	a := &pb.DigestAnswer{Keys: d.Keys, Sum: d.Sum[:]}
	return &pb.Response{Result: &pb.Response_Digest{Digest: a}}, err
}

// readBatch bounds what is read before it is passed on.
const readBatch = 256 << 10

// readRows reads the keys and values of a span at T.
func (c *Call) readRows(ctx context.Context, m *pb.ReadRowsRequest, emit func(*pb.Response) error) error {
	view, err := c.Replica.Tx(txn.NewID()).View(ctx, txn.Timestamp(m.T))
	if err != nil {
		return err
	}
	defer view.Close()
	view.OwnedOnly()
	a, buf := &pb.RowsAnswer{}, []byte(nil)
	flush := func() error {
		if len(a.Keys) == 0 {
			return nil
		}
		err := emit(&pb.Response{Result: &pb.Response_Rows{Rows: a}})
		a, buf = &pb.RowsAnswer{}, nil
		return err
	}
	clone := func(b []byte) []byte {
		at := len(buf)
		buf = append(buf, b...)
		return buf[at:len(buf):len(buf)]
	}
	span := txn.Span{Start: m.Span.GetStart(), End: m.Span.GetEnd()}
	err = view.Scan(ctx, span, m.Reverse, func(key, value []byte) error {
		a.Keys, a.Values = append(a.Keys, clone(key)), append(a.Values, clone(value))
		if len(buf) < readBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
