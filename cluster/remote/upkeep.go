package remote

import (
	"context"
	"time"

	"github.com/sherddb/sherd/cluster/failure"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Census is the counts of a fragment at a moment, after everything prepared by then was decided.
type Census struct {
	At        txn.Timestamp
	Stats     []storage.BucketStat
	Undecided []storage.Undecided // transactions that stayed undecided; then nothing was counted
	Dropping  []txn.Span
	Moved     []storage.OwnedRange
}

// Census waits until what is prepared at or below T is decided, no longer than limit, and counts.
func (l Leader) Census(ctx context.Context, T txn.Timestamp, limit time.Duration) (*Census, error) {
	a, err := l.upkeep().Census(ctx, &pb.CensusRequest{
		Now: uint64(l.node.nodes.cfg.Clock.Now()), Fragment: uint32(l.fragment), T: uint64(T), TimeLeftMicros: uint64(limit.Microseconds()),
	})
	if err != nil {
		return nil, l.node.noAnswer(err)
	}
	if err := l.answer(a.Now, a.Failure); err != nil {
		return nil, err
	}
	c := &Census{At: txn.Timestamp(a.At)}
	for _, x := range a.Counts {
		c.Stats = append(c.Stats, storage.BucketStat{Table: x.Table, From: x.From, To: x.To, Documents: x.Documents, Bytes: x.Bytes})
	}
	for _, x := range a.Undecided {
		u := storage.Undecided{C: txn.Timestamp(x.C), Anchor: txn.FragmentID(x.Anchor)}
		copy(u.ID[:], x.Transaction)
		c.Undecided = append(c.Undecided, u)
	}
	for _, m := range a.Moved {
		c.Moved = append(c.Moved, storage.OwnedRange{
			BucketRange: storage.BucketRange{Lo: m.Lo, Hi: m.Hi}, State: storage.OwnState(m.State), Arrival: m.Arrival,
		})
	}
	for _, s := range a.Dropping {
		c.Dropping = append(c.Dropping, txn.Span{Start: s.Start, End: s.End})
	}
	return c, nil
}

// Reach waits, no longer than limit, until the node's replica of a fragment, which need not lead,
// has everything visible at T; applied is how far it has come if it does not get there. It returns
// the spans that are being deleted there.
func (n *Node) Reach(ctx context.Context, f txn.FragmentID, T txn.Timestamp, limit time.Duration) (applied txn.Timestamp, all bool, dropping []txn.Span, err error) {
	a, err := n.Leader(f).upkeep().Reach(ctx, &pb.ReachRequest{
		Now: uint64(n.nodes.cfg.Clock.Now()), Fragment: uint32(f), T: uint64(T), TimeLeftMicros: uint64(limit.Microseconds()),
	})
	if err != nil {
		return 0, false, nil, n.noAnswer(err)
	}
	for _, s := range a.Dropping {
		dropping = append(dropping, txn.Span{Start: s.Start, End: s.End})
	}
	return txn.Timestamp(a.Applied), a.Reached, dropping, n.Leader(f).answer(a.Now, a.Failure)
}

// Digest returns the checksum of the node's replica of a fragment at T, which it has reached.
func (n *Node) Digest(ctx context.Context, f txn.FragmentID, T txn.Timestamp, skip []txn.Span) (storage.Digest, error) {
	req := &pb.DigestRequest{Now: uint64(n.nodes.cfg.Clock.Now()), Fragment: uint32(f), T: uint64(T)}
	for _, s := range skip {
		req.Skip = append(req.Skip, &pb.KeySpan{Start: s.Start, End: s.End})
	}
	a, err := n.Leader(f).upkeep().Digest(ctx, req)
	if err != nil {
		return storage.Digest{}, n.noAnswer(err)
	}
	d := storage.Digest{Keys: a.Keys}
	copy(d.Sum[:], a.Sum)
	return d, n.Leader(f).answer(a.Now, a.Failure)
}

// CloseAt has the leader close a timestamp, or more (T9).
func (l Leader) CloseAt(ctx context.Context, T txn.Timestamp) (storage.Closed, error) {
	a, err := l.upkeep().Close(ctx, &pb.CloseRequest{Now: uint64(l.node.nodes.cfg.Clock.Now()), Fragment: uint32(l.fragment), T: uint64(T)})
	if err != nil {
		return storage.Closed{}, l.node.noAnswer(err)
	}
	return storage.Closed{T: txn.Timestamp(a.T), Last: txn.Timestamp(a.Last)}, l.answer(a.Now, a.Failure)
}

func (l Leader) upkeep() pb.UpkeepClient { return pb.NewUpkeepClient(l.node.link) }

// View reads the fragment at a timestamp, outside of any transaction. It implements exec.Reader.
type View struct {
	l Leader
	T txn.Timestamp
}

// View returns a reader at T.
func (l Leader) View(T txn.Timestamp) *View { return &View{l, T} }

// Get returns nil if the key has no value.
func (v *View) Get(ctx context.Context, key []byte) (value []byte, err error) {
	err = v.Scan(ctx, txn.Point(key), false, func(_, found []byte) error {
		value = found
		return nil
	})
	return value, err
}

// Scan calls fn with each key and value of a span.
func (v *View) Scan(ctx context.Context, span txn.Span, reverse bool, fn func(key, value []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := v.l.upkeep().Read(ctx, &pb.ReadRequest{
		Now: uint64(v.l.node.nodes.cfg.Clock.Now()), Fragment: uint32(v.l.fragment), T: uint64(v.T), Reverse: reverse,
		Span: &pb.KeySpan{Start: span.Start, End: span.End},
	})
	if err != nil {
		return v.l.node.noAnswer(err)
	}
	for {
		a, err := s.Recv()
		if err != nil {
			return v.l.node.noAnswer(err)
		}
		if err := failure.Decode(a.Failure, v.l.fragment); err != nil {
			return err
		}
		if len(a.Keys) == 0 { // the end
			return nil
		}
		for i, key := range a.Keys {
			err := fn(key, a.Values[i])
			if err == storage.ErrStop {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// SegmentKeys returns keys of a segment of a range table.
func (l Leader) SegmentKeys(ctx context.Context, table, bucket uint32, stored bool) (k storage.SegmentKeys, err error) {
	a, err := l.upkeep().SegmentKeys(ctx, &pb.SegmentKeysRequest{
		Now: uint64(l.node.nodes.cfg.Clock.Now()), Fragment: uint32(l.fragment), Table: table, Bucket: bucket, Stored: stored,
	})
	if err != nil {
		return k, l.node.noAnswer(err)
	}
	k.Bytes, k.Written = a.Bytes, a.Written
	for i := range min(len(a.Stored), len(a.Before)) {
		k.Stored = append(k.Stored, storage.KeyAt{Key: a.Stored[i], Before: a.Before[i]})
	}
	return k, l.answer(a.Now, a.Failure)
}
