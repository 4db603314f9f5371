package fragment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sherddb/sherd/storage"
)

const (
	handOverTime = 3 * time.Second // after which transactions are waited for
	// between attempts: transactions that are to start elsewhere may start here, and others that
	// wait for them end
	handOverPause = 250 * time.Millisecond
)

// HandOver transfers leadership to other nodes, for the fragments that this node leads, if they can
// take it. Until the timeout, a fragment waits for the transactions that use it: one fragment
// at a time, a little each time, because transactions may need one fragment to be finished with
// another.
func (r *Replicas) HandOver(ctx context.Context, timeout time.Duration) error {
	return r.handOver(ctx, timeout, func(*storage.Replica) {})
}

// Leave is HandOver for a node that is about to stop. The other nodes do not know that, and may
// transfer leadership to it because the catalog wants it to lead: no transaction starts in a
// fragment that was handed over, and the node hands it over again.
func (r *Replicas) Leave(ctx context.Context, timeout time.Duration) error {
	return r.handOver(ctx, timeout, func(x *storage.Replica) { x.Group.Retire() })
}

func (r *Replicas) handOver(ctx context.Context, timeout time.Duration, handed func(*storage.Replica)) error {
	until := time.Now().Add(timeout)
	ctx, cancel := context.WithTimeout(ctx, timeout+handOverTime)
	defer cancel()
	for {
		var errs []error
		leads := false
		for _, x := range r.All() {
			if err := x.Group.HandOver(ctx, !time.Now().Before(until)); err != nil {
				errs = append(errs, fmt.Errorf("fragment %d: %w", x.ID(), err))
			} else {
				handed(x)
			}
		}
		for _, x := range r.All() { // a fragment that was handed over first may be back
			leads = leads || x.Group.Term() != 0 && !x.Group.Alone()
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
