package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/internal/pgerr"
)

// The start waits for the announcement for announceTimeout; after that it is repeated in the
// background.
const (
	announceTimeout = 3 * time.Second
	announcePause   = 5 * time.Second
)

// announce writes this node's addresses to the catalog. If the catalog has no majority, it
// continues in the background, and the node serves meanwhile.
func (n *Node) announce(ctx, background context.Context, info *pb.NodeInfo) error {
	short, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	err := n.register.Announce(short, n.dir.NodeID, info)
	n.found.Store(err == nil)
	if err == nil || ctx.Err() != nil || short.Err() == nil &&
		!pgerr.Is(err, pgerr.CannotConnectNow) && !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return err
	}
	n.cfg.Logger.Warn("the cluster was not told yet where this node is reached", "why", err)
	n.background.Go(func() {
		for n.register.Announce(background, n.dir.NodeID, info) != nil && !n.tellAnyone(background, info) {
			select {
			case <-time.After(announcePause):
			case <-background.Done():
				return
			}
		}
		n.found.Store(true)
	})
	return nil
}

// tellAnyone asks the other nodes, one after another, to write this node's addresses to the
// catalog.
func (n *Node) tellAnyone(ctx context.Context, info *pb.NodeInfo) bool {
	for _, other := range n.contacts.Nodes() {
		if other == n.dir.NodeID {
			continue
		}
		if link, err := n.port.transport.Link(other, transport.TaskLink); err == nil && tell(ctx, link, info) == nil {
			return true
		}
	}
	return false
}

func tell(ctx context.Context, link *transport.Link, info *pb.NodeInfo) error {
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	_, err := pb.NewMembershipClient(link).Announce(ctx, info)
	return err
}

// tellMoved tells another node this node's address if it has changed: the catalog's leader still
// tries the old address, and this node does not know the leader before the leader reaches it.
func (n *Node) tellMoved(ctx context.Context, link *transport.Link) {
	info, err := n.info()
	if before, _ := n.contacts.Addr(n.dir.NodeID); err != nil || before == info.GetNodeAddr() {
		return
	}
	for ctx.Err() == nil {
		if tell(ctx, link, info) == nil {
			return
		}
		select {
		case <-time.After(announcePause / 10):
		case <-ctx.Done():
		}
	}
}

// addrOf returns an address of another node. Until the cluster knows this node's address, addrOf
// also tries the addresses of --join in turn: all nodes may have moved, so that none knows where
// the others are. The node that answers proves its identity.
func (n *Node) addrOf(node uint32) (string, error) {
	if n.lost.has(node) {
		return "", fmt.Errorf("node %d was declared lost", node)
	}
	known, err := n.contacts.Addr(node)
	if n.found.Load() || len(n.cfg.Join) == 0 {
		return known, err
	}
	candidates := slices.Clone(n.cfg.Join)
	if err == nil {
		candidates = append(candidates, known)
	}
	return candidates[n.tries.Add(1)%uint32(len(candidates))], nil
}
