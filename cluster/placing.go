package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// The catalog says where a fragment's replicas should be (catalog.Fragment). Each node opens and
// drops its own; the fragment's leader reconciles the membership of the Raft group with the desired
// one, one replica at a time, and records the progress in the catalog:
//	catalog                        group of the fragment
//	nodes 1 2 3 4, 4 joining,      1 2 3      4 is added, filled, and made a voter
//	    3 leaving                  1 2 3 4
//	nodes 1 2 3 4, 3 leaving       1 2 4      3 is taken out
//	nodes 1 2 4                               node 3 drops its replica
//
// A fragment's first replica, the only one that does not join, founds the group; the others are
// added. A node that has lost its data does not found the group again, because by then the catalog
// names other replicas.

const (
	handOverTime = 3 * time.Second // after which transactions are waited for
	// between attempts: transactions that are to start elsewhere may start here, and others that
	// wait for them end
	handOverPause = 250 * time.Millisecond
	joinTime      = 10 * time.Second // how long CREATE DATABASE waits for the replicas of its fragments
)

// several reports whether fragments may have replicas on other nodes.
func (h *Host) several() bool { return h.cfg.Transport != nil }

// places reports whether this node should have a replica.
func (h *Host) places(f *catalog.Fragment) bool {
	return !h.several() || slices.Contains(f.Nodes, h.cfg.Node)
}

// group sets how the replica of a fragment is a member of its Raft group.
func (h *Host) group(c *storage.Config, view *catalog.View, id txn.FragmentID) {
	if !h.several() {
		return
	}
	c.Group.Node = raft.ServerID(strconv.FormatUint(uint64(h.cfg.Node), 10))
	c.Group.Transport = h.cfg.Transport(uint64(id))
	_, f := view.Fragment(uint32(id))
	c.Group.Join = f == nil || !slices.Equal(without(f.Nodes, f.Joining), []uint32{h.cfg.Node})
}

func without(nodes, some []uint32) (out []uint32) {
	for _, n := range nodes {
		if !slices.Contains(some, n) {
			out = append(out, n)
		}
	}
	return out
}

// waitServing waits for a replica that no other node can lead; other replicas serve when a majority
// is there.
func (h *Host) waitServing(ctx context.Context, r *storage.Replica) error {
	if h.several() && !r.Group.Alone() {
		return nil
	}
	return r.Group.WaitReady(ctx)
}

// reconcile has the group of a fragment follow the catalog (reconcile membership), while this node
// leads it.
func (h *Host) reconcile(id txn.FragmentID, r *storage.Replica) {
	if !h.several() {
		return
	}
	r.Group.Follow(func() storage.Placement { return h.placementOf(h.cfg.Catalog.View(), id) },
		func(members []storage.Member) { h.placed(id, members) })
}

// placementOf returns where the catalog wants the replicas of a fragment, and the leader on the
// first node that stays, is not being drained, and is fit to lead.
func (h *Host) placementOf(view *catalog.View, id txn.FragmentID) (p storage.Placement) {
	_, f := view.Fragment(uint32(id))
	if f == nil {
		return p
	}
	lost := func(n uint32) bool { return view.LostNode(n) != nil }
	p.Nodes = slices.DeleteFunc(without(f.Nodes, f.Leaving), lost)
	for _, n := range without(p.Nodes, f.Joining) {
		if node := view.Node(n); node != nil && node.State == catalog.NodeActive && h.fit(n) {
			p.Leader = n
			break
		}
	}
	return p
}

// placed records in the catalog which replicas have joined and left.
func (h *Host) placed(id txn.FragmentID, members []storage.Member) {
	_, f := h.cfg.Catalog.View().Fragment(uint32(id))
	if f == nil || !arrived(f.Clone(), members) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), joinTime)
	defer cancel()
	_, err := h.cfg.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		d, f := v.Fragment(uint32(id))
		if f == nil {
			return nil
		}
		d = d.Clone()
		if !arrived(d.FragmentByID(uint32(id)), members) {
			return nil
		}
		return ch.PutDatabase(d)
	})
	if err != nil {
		h.cfg.Logger.Debug("how far the replicas of a fragment are could not be written down; trying again",
			"fragment", id, "error", err)
	}
}

// arrived changes f to the state that its group has reached, and reports whether that is a change.
func arrived(f *catalog.Fragment, members []storage.Member) bool {
	votes := map[uint32]bool{}
	for _, m := range members {
		votes[m.Node] = m.Voter
	}
	joining := slices.DeleteFunc(slices.Clone(f.Joining), func(n uint32) bool { return votes[n] })
	left := slices.DeleteFunc(slices.Clone(f.Leaving), func(n uint32) bool {
		_, there := votes[n]
		return there
	})
	if len(joining) == len(f.Joining) && len(left) == 0 || len(members) == 0 {
		return false
	}
	f.Joining, f.Nodes, f.Leaving = joining, without(f.Nodes, left), without(f.Leaving, left)
	return true
}

// look has all replicas that are led here check their desired placement.
func (h *Host) look() {
	if !h.several() {
		return
	}
	for _, r := range h.all() {
		r.Group.Look()
	}
}

// HandOver transfers leadership to other nodes, for the fragments that this node leads, if they can
// take it. Until the timeout, a fragment waits for the transactions that use it: one fragment
// at a time, a little each time, because transactions may need one fragment to be finished with
// another.
func (h *Host) HandOver(ctx context.Context, timeout time.Duration) error {
	return h.handOver(ctx, timeout, func(*storage.Replica) {})
}

// Leave is HandOver for a node that is about to stop. The other nodes do not know that, and may
// transfer leadership to it because the catalog wants it to lead: no transaction starts in a
// fragment that was handed over, and the node hands it over again.
func (h *Host) Leave(ctx context.Context, timeout time.Duration) error {
	return h.handOver(ctx, timeout, func(r *storage.Replica) { r.Group.Retire() })
}

func (h *Host) handOver(ctx context.Context, timeout time.Duration, handed func(*storage.Replica)) error {
	until := time.Now().Add(timeout)
	ctx, cancel := context.WithTimeout(ctx, timeout+handOverTime)
	defer cancel()
	for {
		var errs []error
		leads := false
		for _, r := range h.all() {
			if err := r.Group.HandOver(ctx, !time.Now().Before(until)); err != nil {
				errs = append(errs, fmt.Errorf("fragment %d: %w", r.ID(), err))
			} else {
				handed(r)
			}
		}
		for _, r := range h.all() { // a fragment that was handed over first may be back
			leads = leads || r.Group.Term() != 0 && !r.Group.Alone()
		}
		if !leads || ctx.Err() != nil {
			return errors.Join(errs...)
		}
		select {
		case <-time.After(handOverPause):
		case <-ctx.Done():
		}
	}
}

// waitJoined waits, for a while, until the replicas of a new database's fragments have joined: what
// is written then survives the loss of a node.
func (h *Host) waitJoined(ctx context.Context, oid catalog.OID) {
	if !h.several() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	_ = h.cfg.Catalog.Watch(ctx, func(v *catalog.View) error {
		d := v.Database(oid)
		if d == nil || !slices.ContainsFunc(d.Fragments, func(f catalog.Fragment) bool { return len(f.Joining) > 0 }) {
			return errJoined
		}
		return nil
	})
}

var errJoined = errors.New("all have joined")
