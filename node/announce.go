package node

import (
	"context"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/pgerr"
)

// Announcements are tried for a while before the node goes on without, and then at intervals.
const (
	announcePatience = 3 * time.Second
	announcePause    = 5 * time.Second
)

// announce has the catalog say where this node is reached. Without a majority of the catalog that waits, and the node serves meanwhile.
func (n *Node) announce(ctx, background context.Context, info *pb.NodeInfo) error {
	short, cancel := context.WithTimeout(ctx, announcePatience)
	defer cancel()
	err := n.register.Announce(short, n.dir.NodeID, info)
	if err == nil || ctx.Err() != nil || short.Err() == nil && !pgerr.Is(err, pgerr.CannotConnectNow) && !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return err
	}
	n.cfg.Logger.Warn("the cluster was not told yet where this node is reached", "why", err)
	n.background.Go(func() {
		for n.register.Announce(background, n.dir.NodeID, info) != nil {
			select {
			case <-time.After(announcePause):
			case <-background.Done():
				return
			}
		}
	})
	return nil
}
