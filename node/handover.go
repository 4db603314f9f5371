package node

import (
	"context"
	"time"
)

// handOverTime bounds what a stopping node does so that the others notice little.
const handOverTime = 8 * time.Second

// handOver lets other nodes lead what this one leads. Clients here are gone by now.
func (n *Node) handOver() {
	if n.server == nil {
		return // it never came so far as to serve
	}
	ctx, cancel := context.WithTimeout(context.Background(), handOverTime)
	defer cancel()
	if err := n.host.HandOver(ctx); err != nil {
		n.cfg.Logger.Info("leadership was not handed over; the others choose a leader by themselves", "why", err)
	}
	if err := n.catalog.HandOver(ctx); err != nil {
		n.cfg.Logger.Info("the leadership of the catalog was not handed over", "why", err)
	}
}
