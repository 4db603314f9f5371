package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sherddb/sherd/cluster/door"
	"github.com/sherddb/sherd/cluster/member"
	pb "github.com/sherddb/sherd/cluster/nodepb"
)

// removedLook is how often a node looks whether it still is one of the cluster.
const removedLook = 5 * time.Second

// watchRemoval ends Serve when this node was removed from the cluster, or declared lost. It may hear that from the catalog, or only by being refused everywhere: nobody
// tells it anything any more. It ends with ctx.
func (n *Node) watchRemoval(ctx context.Context) {
	t := time.NewTicker(removedLook)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-n.catalog.View().Superseded():
		case <-ctx.Done():
			return
		}
		if err := n.removal(); err != nil {
			n.removed <- fmt.Errorf("this node ends: %w", err)
			return
		}
	}
}

// removal returns how this node knows that it was removed; nil if it does not.
func (n *Node) removal() error {
	if gone := n.catalog.View().RemovedNode(n.dir.NodeID); gone != nil {
		return fmt.Errorf("node %s (number %d) was removed from the cluster", gone.Name, gone.ID)
	}
	if lost := n.catalog.View().LostNode(n.dir.NodeID); lost != nil {
		return member.LostError(lost.Name, lost.ID)
	}
	for _, other := range n.contacts.Nodes() {
		if other == n.dir.NodeID {
			continue
		}
		link, err := n.port.door.Link(other, door.TaskLink)
		if err != nil {
			return nil
		}
		link.Connect()
		var refused *door.Refused
		if errors.As(link.Err(), &refused) && refused.Reason == pb.Refusal_REMOVED {
			return refused
		}
	}
	return nil
}

// Serve takes clients until the node is closed, or was removed from the cluster.
func (n *Node) Serve() error {
	served := make(chan error, 1)
	go func() { served <- n.wire.Serve(n.listener) }()
	select {
	case err := <-served:
		return err
	case err := <-n.removed:
		return err
	}
}
