package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sherddb/sherd/cluster/member"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
)

// removedLook is the interval at which a node checks whether it is still a member of the cluster.
const removedLook = 5 * time.Second

// watchRemoval ends Serve if this node was removed from the cluster or declared lost. The node
// learns that from the catalog or, because it may get no more updates, from the refusals of all
// other nodes. It ends with ctx.
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

// removal returns the evidence that this node was removed or declared lost, nil if there is none.
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
		link, err := n.port.transport.Link(other, transport.TaskLink)
		if err != nil {
			return nil
		}
		link.Connect()
		var refused *transport.Refused
		if errors.As(link.Err(), &refused) && refused.Reason == pb.Refusal_REMOVED {
			return refused
		}
	}
	return nil
}

// Serve accepts clients until the node is closed or was removed from the cluster.
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
