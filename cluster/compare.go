package cluster

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// reachLimit is how long a check waits for a replica to reach the leader's state.
const reachLimit = 30 * time.Second

var errNotOpen = pgerr.New(pgerr.ObjectNotInPrerequisiteState, "the replica is not open")

// reach is how far a replica has come.
type reach struct {
	applied   txn.Timestamp
	all       bool // it has everything that is visible at the requested timestamp
	unsettled []txn.Span
}

// reached waits for a replica to reach T.
func reached(ctx context.Context, r *storage.Replica, T txn.Timestamp, limit time.Duration) (reach, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	unsettled, err := r.Reach(limited, T)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return reach{applied: r.Applied()}, nil
	}
	return reach{r.Applied(), err == nil, unsettled}, err
}

// compared is one replica of a comparison.
type compared struct {
	verify.Replica
	id      uint32
	passing bool // it is joining or leaving
	again   bool // rows arrived while its checksum was computed
	reach   reach
}

// compare has c compare the replicas of a fragment at T. T is a stamp that the leader has applied; at or
// below T nothing is undecided there, and the versions at T are pinned.
func (k *checker) compare(ctx context.Context, c *verify.Check, id txn.FragmentID, T txn.Timestamp) error {
	list := k.host.replicasOf(id)
	if len(list) < 2 {
		return nil
	}
	for attempt := 1; ; attempt++ {
		k.host.digests(ctx, id, T, list)
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
	_, now := k.host.cfg.Catalog.View().Fragment(id)
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
func (h *Host) digests(ctx context.Context, id txn.FragmentID, T txn.Timestamp, list []*compared) {
	inParallel(list, func(x *compared) { h.reach(ctx, id, T, x) })
	// Rows that are being deleted may be gone here and still present on other replicas; arriving
	// rows, the other way round.
	var skip []txn.Span
	for _, x := range list {
		skip = append(skip, x.reach.unsettled...)
	}
	inParallel(list, func(x *compared) {
		if x.Missed == "" {
			h.digest(ctx, id, T, skip, x)
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
func (h *Host) replicasOf(id txn.FragmentID) (list []*compared) {
	view := h.cfg.Catalog.View()
	_, f := view.Fragment(id)
	if f == nil || h.links == nil {
		return nil
	}
	var leader uint32
	if p, ok := h.leading(id); ok {
		if leader = h.cfg.Node; p.node != nil {
			leader = p.node.ID()
		}
	}
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

// at returns the replica here, or the remote node that has it. If it cannot be asked, at returns
// neither and notes the reason in x.
func (h *Host) at(id txn.FragmentID, x *compared) (*storage.Replica, *remote.Node) {
	if x.id == h.cfg.Node {
		r := h.replica(id)
		if r == nil {
			h.missed(x, errNotOpen)
		}
		return r, nil
	}
	if !h.links.presence.Alive(x.id) {
		x.Missed, x.Excused = "it is away", true
		return nil, nil
	}
	n, err := h.links.nodes.Node(x.id)
	if err != nil {
		h.missed(x, err)
		return nil, nil
	}
	return nil, n
}

// missed records why a replica could not be asked.
func (h *Host) missed(x *compared, err error) {
	var silent *remote.NoAnswer
	x.Missed, x.Excused = err.Error(), x.passing
	if !errors.As(err, &silent) {
		return
	}
	switch {
	case status.Code(silent.Err) == codes.Unimplemented:
		x.Missed, x.Excused = "its release compares no replicas", true
	case !h.links.presence.Alive(x.id):
		x.Missed, x.Excused = "it is away", true
	}
}

// reach waits for a replica to reach T.
func (h *Host) reach(ctx context.Context, id txn.FragmentID, T txn.Timestamp, x *compared) {
	r, n := h.at(id, x)
	var err error
	switch {
	case r != nil:
		x.reach, err = reached(ctx, r, T, reachLimit)
	case n != nil:
		x.reach.applied, x.reach.all, x.reach.unsettled, err = n.Reach(ctx, id, T, reachLimit)
	default:
		return
	}
	switch {
	case err != nil:
		h.missed(x, err)
	case !x.reach.all:
		x.Missed = fmt.Sprintf("it does not have everything up to %s within %s; it has applied %s", T, reachLimit, x.reach.applied)
		x.Excused = x.passing
	}
}

// digest has a replica compute its checksum.
func (h *Host) digest(ctx context.Context, id txn.FragmentID, T txn.Timestamp, skip []txn.Span, x *compared) {
	r, n := h.at(id, x)
	var d storage.Digest
	var err error
	switch {
	case r != nil:
		d, err = r.Digest(ctx, T, skip)
	case n != nil:
		d, err = n.Digest(ctx, id, T, skip)
	default:
		return
	}
	if err != nil {
		h.missed(x, err)
		if x.again = pgerr.Is(err, pgerr.ObjectNotInPrerequisiteState); x.again {
			x.Excused = true
		}
		return
	}
	x.Keys, x.Sum = d.Keys, hex.EncodeToString(d.Sum[:])
}
