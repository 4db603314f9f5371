package node

import (
	"context"
	"time"
)

const (
	// handOverTime is how long transactions of other nodes' clients are waited for where nobody has said how long this node may take to end.
	handOverTime = 8 * time.Second
	// endTime bounds what comes after that.
	endTime = 5 * time.Second
	// newsTime is how long it takes, at most mostly, until other nodes have heard who leads now.
	newsTime = 100 * time.Millisecond
)

// drainTime returns the time that ctx leaves to clients.
func drainTime(ctx context.Context) time.Duration {
	if until, ok := ctx.Deadline(); ok {
		return max(0, time.Until(until))
	}
	return handOverTime
}

// handOver lets other nodes lead what this one leads, so that their clients notice little: for a while it waits for the transactions that use a fragment
// here, and for what reads there still. Clients here are gone by now.
func (n *Node) handOver(patience time.Duration) {
	if n.server == nil {
		return // it never came so far as to serve
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience+endTime)
	defer cancel()
	if err := n.host.Leave(ctx, patience); err != nil {
		n.cfg.Logger.Info("leadership was not handed over; the others choose a leader by themselves", "why", err)
	}
	if err := n.catalog.HandOver(ctx); err != nil {
		n.cfg.Logger.Info("the leadership of the catalog was not handed over", "why", err)
	}
	if !n.host.Presence().Alone() {
		time.Sleep(newsTime)
	}
	n.tasks.Drain(ctx)
}
