package kv

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/proposer"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/rule"
)

// closeTime is how long a follower read waits for the leader to close its timestamp.
const closeTime = 2 * time.Second

// Followers chooses the replicas for follower reads (T9), and makes those of this node ready. All
// methods may be called concurrently.
type Followers struct {
	client  *Client
	closing sync.Map // the channel that a caller holds while it asks to close a timestamp, by fragment
	moved   sync.Map // map epoch up to which the replica here has applied what has come, by fragment
}

// Followers returns the choice of replicas for follower reads.
func (c *Client) Followers() *Followers { return &c.followers }

// Drop forgets a fragment whose replica here was removed.
func (x *Followers) Drop(f txn.FragmentID) {
	x.closing.Delete(f)
	x.moved.Delete(f)
}

// Exist reports whether a fragment may have a replica that does not lead.
func (x *Followers) Exist() bool { return x.client.cfg.Peers != nil && !x.client.cfg.Peers.Alone() }

// FollowerTime returns the newest timestamp at which the replicas here can be read without waiting; it
// returns least if that timestamp is older or if there are no replicas here. ok is false if all the
// fragments are led here, because then no such timestamp is needed.
func (t *Transaction) FollowerTime(fragments []txn.FragmentID, least txn.Timestamp) (T txn.Timestamp, ok bool) {
	c := t.client
	if T = txn.MaxTimestamp; c.cfg.Peers == nil {
		return 0, false
	}
	for _, id := range fragments {
		r := c.cfg.Replica(id)
		switch {
		case r == nil:
			T = least
		case r.Group.Term() == 0:
			T = max(min(T, r.Servable()), least)
			c.followers.refresh(r, least)
		}
	}
	return T, T != txn.MaxTimestamp
}

// Nearest returns the node whose replica of a fragment should serve a follower read (T9): this node if
// it has one, or another node of its zone. ok is false if that replica leads, or no replica is nearer
// than the leader.
func (x *Followers) Nearest(f txn.FragmentID) (node uint32, ok bool) {
	if r := x.client.cfg.Replica(f); r != nil {
		return x.client.cfg.Node, r.Group.Term() == 0
	}
	return x.neighbour(f)
}

// neighbour returns a node of this node's zone that has a replica of a fragment, if the leader is
// in another zone.
func (x *Followers) neighbour(id txn.FragmentID) (uint32, bool) {
	view := x.client.cfg.Catalog.View()
	zone := zoneOf(view, x.client.cfg.Node)
	_, f := view.Fragment(uint32(id))
	if f == nil || zone == "" {
		return 0, false
	}
	l, led := x.client.cfg.Peers.Leader(id)
	if led && zoneOf(view, l.Node) == zone {
		return 0, false
	}
	for _, n := range f.Nodes {
		stays := !slices.Contains(f.Joining, n) && !slices.Contains(f.Leaving, n)
		if stays && zoneOf(view, n) == zone && x.client.cfg.Peers.Alive(n) {
			return n, true
		}
	}
	return 0, false
}

func zoneOf(view *catalog.View, node uint32) string {
	if n := view.Node(node); n != nil {
		return n.Labels["zone"]
	}
	return ""
}

// CatchUp makes sure that a replica here, which does not lead, can be read at T by the map of an epoch
// (T9). It returns 57P03 if the replica does not get that far.
func (x *Followers) CatchUp(ctx context.Context, r *storage.Replica, T txn.Timestamp, epoch uint64) error {
	if err := x.awaitMoves(ctx, r, epoch); err != nil {
		return err
	}
	return x.closeTo(ctx, r, T)
}

// closeTo makes sure that T is closed at a replica that does not lead, and if it is not, asks the
// leader to close it. One reader of the fragment asks at a time, and what the leader closes beyond
// T serves the next ones. closeTo does not wait for the replica to apply what the leader had
// proposed: a follower of an idle fragment learns up to a second later what was committed last, and
// a reader that goes to the leader meanwhile is answered at once.
func (x *Followers) closeTo(ctx context.Context, r *storage.Replica, T txn.Timestamp) error {
	if T <= r.Servable() || !rule.T9Closed {
		return nil
	}
	if r.Closing(T) {
		return x.behind(ctx, r)
	}
	turn := x.turn(r.ID())
	limited, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-limited.Done():
		return x.behind(ctx, r)
	}
	if T > r.Servable() && !r.Closing(T) {
		err := x.closeAt(limited, r, T)
		if err != nil && limited.Err() == nil && !LeaderGone(err) && !OutcomeOpen(err) {
			return err
		}
	}
	if T > r.Servable() {
		return x.behind(ctx, r)
	}
	return nil
}

// closeAt has the leader close a timestamp, or more (T9), and a replica here learn it.
func (x *Followers) closeAt(ctx context.Context, r *storage.Replica, T txn.Timestamp) error {
	a, err := x.client.Send(ctx, &pb.Request{
		Fragment: uint32(r.ID()), Op: &pb.Request_Close{Close: &pb.CloseRequest{T: uint64(T)}},
	})
	if err == nil {
		closed := a.GetClosed()
		r.LearnClosed(proposer.Closed{T: txn.Timestamp(closed.GetT()), Last: txn.Timestamp(closed.GetLast())})
	}
	return err
}

// behind returns the error of a reader that a replica cannot serve yet, or the statement's own
// error if the statement has ended.
func (x *Followers) behind(ctx context.Context, r *storage.Replica) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return pgerr.New(pgerr.CannotConnectNow,
		"the replica of fragment %s here does not have everything up to the time to be read",
		x.client.FragmentName(r.ID())).
		WithHint("Try again in a moment.")
}

// awaitMoves waits until a follower has applied what its fragment's log says about the buckets that
// the map of an epoch assigns to the fragment. Before a follower has applied that they were ingested,
// it takes itself for the owner of these buckets, without rows, at old timestamps too. It waits for
// each epoch once, and the leader says how far to wait.
func (x *Followers) awaitMoves(ctx context.Context, r *storage.Replica, epoch uint64) error {
	if known, ok := x.moved.Load(r.ID()); epoch <= firstEpoch || ok && known.(uint64) >= epoch {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	T, err := x.client.Snapshot(limited, []shardmap.Share{{Fragment: r.ID()}}, epoch)
	if err == nil {
		err = x.closeTo(limited, r, T)
	}
	if err != nil {
		if limited.Err() != nil || LeaderGone(err) || OutcomeOpen(err) {
			return x.behind(ctx, r)
		}
		return err
	}
	// If a caller with an older epoch overwrites this at the same time, the wait is repeated, no more.
	x.moved.Store(r.ID(), epoch)
	return nil
}

// firstEpoch is the epoch of the map with which a database is created: in that map no bucket has
// come from another fragment.
const firstEpoch = 1

// turn returns the channel that a caller holds while it asks for a fragment to be closed.
func (x *Followers) turn(id txn.FragmentID) chan struct{} {
	c, ok := x.closing.Load(id)
	if !ok {
		c, _ = x.closing.LoadOrStore(id, make(chan struct{}, 1))
	}
	return c.(chan struct{})
}

// refresh asks for a fragment to be closed further before readers of an idle one would have to wait
// for that: when three quarters of the time have passed during which the closed timestamp is recent
// enough.
func (x *Followers) refresh(r *storage.Replica, least txn.Timestamp) {
	now := x.client.cfg.Clock.Wall()
	if want := least.Add(now.Time().Sub(least.Time()) / 4); r.Servable() >= want || r.Closing(want) {
		return
	}
	turn := x.turn(r.ID())
	select {
	case turn <- struct{}{}:
	default:
		return // another caller is asking
	}
	go func() {
		defer func() { <-turn }()
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		_ = x.closeAt(ctx, r, least)
	}()
}
