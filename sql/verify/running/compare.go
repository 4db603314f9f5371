package running

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/txn"
)

// reachLimit is how long a check waits for a replica to reach the leader's state.
const reachLimit = 30 * time.Second

// compared is one replica of a comparison.
type compared struct {
	verify.Replica
	id      uint32
	passing bool // it is joining or leaving
	again   bool // rows arrived while its checksum was computed
	reach   *pb.ReachAnswer
}

// compare has c compare the replicas of a fragment at T. T is a stamp that the leader has applied;
// at or below T nothing is undecided there, and the versions at T are pinned.
func (k *check) compare(ctx context.Context, c *verify.Check, id txn.FragmentID, T txn.Timestamp) error {
	list := k.replicasOf(id)
	if len(list) < 2 {
		return nil
	}
	for attempt := 1; ; attempt++ {
		k.digests(ctx, id, T, list)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		again := slices.ContainsFunc(list, func(x *compared) bool { return x.again })
		if !again || attempt == compareAttempts {
			break
		}
		for _, x := range list {
			*x = compared{id: x.id, passing: x.passing, Replica: verify.Replica{Node: x.Node, Leads: x.Leads}}
		}
	}
	_, now := k.Catalog.View().Fragment(id)
	var out []verify.Replica
	for _, x := range list {
		if now != nil && slices.Contains(now.Nodes, x.id) { // else it has left meanwhile
			out = append(out, x.Replica)
		}
	}
	c.Replicas(id, out)
	return nil
}

// compareAttempts is how often a comparison is repeated because rows arrived at a replica
// meanwhile.
const compareAttempts = 10

// digests has each replica of the list compute its checksum.
func (k *check) digests(ctx context.Context, id txn.FragmentID, T txn.Timestamp, list []*compared) {
	inParallel(list, func(x *compared) { k.reach(ctx, id, T, x) })
	// Rows that are being deleted may be gone here and still present on other replicas; arriving
	// rows, the other way round.
	var skip []*pb.KeySpan
	for _, x := range list {
		skip = append(skip, x.reach.GetDropping()...)
	}
	inParallel(list, func(x *compared) {
		if x.Missed == "" {
			k.digest(ctx, id, T, skip, x)
		}
	})
}

func inParallel(list []*compared, do func(*compared)) {
	var wg sync.WaitGroup
	for _, x := range list {
		wg.Go(func() { do(x) })
	}
	wg.Wait()
}

// replicasOf lists the replicas that a fragment should have.
func (k *check) replicasOf(id txn.FragmentID) (list []*compared) {
	view := k.Catalog.View()
	_, f := view.Fragment(id)
	if f == nil || k.Peers == nil {
		return nil
	}
	leader, _, _ := k.Client.LeaderOf(id)
	for _, n := range f.Nodes {
		x := &compared{id: n, passing: slices.Contains(f.Joining, n) || slices.Contains(f.Leaving, n)}
		x.Node, x.Leads = nodeName(view, n), n == leader
		list = append(list, x)
	}
	return list
}

func nodeName(view *catalog.View, id uint32) string {
	if n := view.Node(id); n != nil {
		return n.Name
	}
	return fmt.Sprint(id)
}

// at returns the sender to the replica. If it cannot be asked, at returns nil and notes the reason
// in x.
func (k *check) at(x *compared) kv.Sender {
	if x.id == k.Node {
		return k.Here
	}
	if !k.Peers.Alive(x.id) {
		x.Missed, x.Excused = "it is away", true
		return nil
	}
	n, err := k.Other(x.id)
	if err != nil {
		k.missed(x, err)
		return nil
	}
	return n
}

// missed records why a replica could not be asked.
func (k *check) missed(x *compared, err error) {
	var silent *kv.NoAnswer
	var unknown *kv.UnknownOperation
	x.Missed, x.Excused = err.Error(), x.passing
	switch {
	case errors.As(err, &unknown):
		x.Missed, x.Excused = "its release compares no replicas", true
	case errors.As(err, &silent) && !k.Peers.Alive(x.id):
		x.Missed, x.Excused = "it is away", true
	}
}

// reach waits for a replica to reach T.
func (k *check) reach(ctx context.Context, id txn.FragmentID, T txn.Timestamp, x *compared) {
	s := k.at(x)
	if s == nil {
		return
	}
	a, err := s.Send(ctx, &pb.Request{Fragment: uint32(id), Op: &pb.Request_Reach{
		Reach: &pb.ReachRequest{T: uint64(T), TimeLeftMicros: uint64(reachLimit.Microseconds())},
	}})
	x.reach = a.GetReach()
	switch {
	case err != nil:
		k.missed(x, err)
	case !x.reach.GetReached():
		applied := txn.Timestamp(x.reach.GetApplied())
		x.Missed = fmt.Sprintf("it does not have everything up to %s within %s; it has applied %s",
			T, reachLimit, applied)
		x.Excused = x.passing
	}
}

// digest has a replica compute its checksum.
func (k *check) digest(ctx context.Context, id txn.FragmentID, T txn.Timestamp, skip []*pb.KeySpan, x *compared) {
	s := k.at(x)
	if s == nil {
		return
	}
	a, err := s.Send(ctx, &pb.Request{Fragment: uint32(id), Op: &pb.Request_Digest{
		Digest: &pb.DigestRequest{T: uint64(T), Skip: skip},
	}})
	if err != nil {
		k.missed(x, err)
		if x.again = pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState); x.again {
			x.Excused = true
		}
		return
	}
	x.Keys, x.Sum = a.GetDigest().GetKeys(), hex.EncodeToString(a.GetDigest().GetSum())
}
