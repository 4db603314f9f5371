package locks

import (
	"context"

	"github.com/sherddb/sherd/txn"
)

// Advisories keeps advisory locks for the sessions of all nodes.
type Advisories struct {
	// Acquire takes a lock, and may wait for it. The error is ErrNotAvailable, 40P01, 57P03 while
	// no node keeps the locks, or the context's cause.
	Acquire func(ctx context.Context, r AdvisoryRequest) error
	// Release releases locks. It waits a moment for the answer at most.
	Release func([]Kept)
	// Confirm proves that the locks of a session and its transaction are still kept; if not, it
	// returns 40001.
	Confirm func(ctx context.Context, pid uint32, owner txn.ID) error
	// Locks lists the locks that are kept at this node.
	Locks func() []Lock
}

// AdvisoryRequest asks for a lock that is kept for all nodes. Its wait ends with the context:
// Request.Timeout does not count.
type AdvisoryRequest struct {
	PID     uint32
	Owner   txn.ID // the transaction that is to hold it; zero: the session
	Within  txn.ID // the transaction whose statement waits
	Tag     Tag
	Request Request
}
