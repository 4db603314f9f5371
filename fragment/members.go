package fragment

import (
	"context"
	"errors"
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

// joinTime is how long CREATE DATABASE waits for the replicas of its fragments.
const joinTime = 10 * time.Second

// several reports whether fragments may have replicas on other nodes.
func (r *Replicas) several() bool { return r.cfg.Transport != nil }

// places reports whether this node should have a replica.
func (r *Replicas) places(f *catalog.Fragment) bool {
	return !r.several() || slices.Contains(f.Nodes, r.cfg.Node)
}

// group sets how the replica of a fragment is a member of its Raft group.
func (r *Replicas) group(c *storage.Config, view *catalog.View, id txn.FragmentID) {
	if !r.several() {
		return
	}
	c.Group.Node = raft.ServerID(strconv.FormatUint(uint64(r.cfg.Node), 10))
	c.Group.Transport = r.cfg.Transport(uint64(id))
	_, f := view.Fragment(uint32(id))
	c.Group.Join = f == nil || !slices.Equal(without(f.Nodes, f.Joining), []uint32{r.cfg.Node})
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
func (r *Replicas) waitServing(ctx context.Context, x *storage.Replica) error {
	if r.several() && !x.Group.Alone() {
		return nil
	}
	return x.Group.WaitReady(ctx)
}

// reconcile has the group of a fragment follow the catalog (reconcile membership), while this node
// leads it.
func (r *Replicas) reconcile(id txn.FragmentID, x *storage.Replica) {
	if !r.several() {
		return
	}
	x.Group.Follow(func() storage.Placement { return r.placementOf(r.cfg.Catalog.View(), id) },
		func(members []storage.Member) { r.placed(id, members) })
}

// placementOf returns where the catalog wants the replicas of a fragment, and the leader on the
// first node that stays, is not being drained, and is fit to lead.
func (r *Replicas) placementOf(view *catalog.View, id txn.FragmentID) (p storage.Placement) {
	_, f := view.Fragment(uint32(id))
	if f == nil {
		return p
	}
	lost := func(n uint32) bool { return view.LostNode(n) != nil }
	p.Nodes = slices.DeleteFunc(without(f.Nodes, f.Leaving), lost)
	for _, n := range without(p.Nodes, f.Joining) {
		if node := view.Node(n); node != nil && node.State == catalog.NodeActive && r.mayLead(n) {
			p.Leader = n
			break
		}
	}
	return p
}

func (r *Replicas) mayLead(node uint32) bool { return r.cfg.MayLead == nil || r.cfg.MayLead(node) }

// placed records in the catalog which replicas have joined and left.
func (r *Replicas) placed(id txn.FragmentID, members []storage.Member) {
	_, f := r.cfg.Catalog.View().Fragment(uint32(id))
	if f == nil || !arrived(f.Clone(), members) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), joinTime)
	defer cancel()
	_, err := r.cfg.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
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
		r.cfg.Logger.Debug("how far the replicas of a fragment are could not be written down; trying again",
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
func (r *Replicas) look() {
	if !r.several() {
		return
	}
	for _, x := range r.All() {
		x.Group.Look()
	}
}

// WaitFragments waits until all fragments of a database serve.
func (r *Replicas) WaitFragments(ctx context.Context, d *catalog.Database) error {
	for _, f := range d.Fragments {
		for r.places(&f) && r.Get(f.ID) == nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
	}
	r.waitJoined(ctx, d.OID)
	if !r.several() {
		return nil
	}
	for _, f := range d.Fragments {
		if _, err := r.client.Find(ctx, f.ID); err != nil {
			return err
		}
	}
	return nil
}

// waitJoined waits, for a while, until the replicas of a new database's fragments have joined: what
// is written then survives the loss of a node.
func (r *Replicas) waitJoined(ctx context.Context, oid catalog.OID) {
	if !r.several() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	_ = r.cfg.Catalog.Watch(ctx, func(v *catalog.View) error {
		d := v.Database(oid)
		if d == nil || !slices.ContainsFunc(d.Fragments, func(f catalog.Fragment) bool { return len(f.Joining) > 0 }) {
			return errJoined
		}
		return nil
	})
}

var errJoined = errors.New("all have joined")
