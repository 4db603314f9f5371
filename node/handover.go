package node

import (
	"context"
	"time"
)

const (
	// handOverTime is how long the handover waits for transactions of other nodes' clients if Close
	// has no deadline.
	handOverTime = 8 * time.Second
	// endTime is the time for what follows the wait.
	endTime = 5 * time.Second
	// newsTime is how long it usually takes at most until other nodes know the new leader.
	newsTime = 100 * time.Millisecond
)

// drainTime returns the time that ctx leaves to clients.
func drainTime(ctx context.Context) time.Duration {
	if until, ok := ctx.Deadline(); ok {
		return max(0, time.Until(until))
	}
	return handOverTime
}

// handOver transfers leadership to other nodes so that their clients notice little. For timeout it
// waits for transactions that use a fragment led here, and for reads that run here. The node's own
// clients are already disconnected.
func (n *Node) handOver(timeout time.Duration) {
	if n.server == nil {
		return // it never served clients
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout+endTime)
	defer cancel()
	if err := n.store.Replicas.Leave(ctx, timeout); err != nil {
		n.cfg.Logger.Info("leadership was not handed over; the others choose a leader by themselves", "why", err)
	}
	if err := n.catalog.HandOver(ctx); err != nil {
		n.cfg.Logger.Info("the leadership of the catalog was not handed over", "why", err)
	}
	if !n.store.Liveness.Alone() {
		time.Sleep(newsTime)
	}
	n.tasks.Drain(ctx)
}
