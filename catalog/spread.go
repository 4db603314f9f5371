package catalog

import "context"

// Raft tells the other replicas that an entry is committed with the next entry, or up to half a
// second later. Nodes would learn of definitions that late, and a client that changed a definition
// through a follower would wait that long. So an empty entry follows each change.

// spread notifies the other replicas of what was applied here, without waiting.
func (c *Catalog) spread() {
	select {
	case c.applied <- struct{}{}:
	default: // an entry is due already
	}
}

// spreads appends these entries to the log, one for all changes since the last one, until ctx ends.
func (c *Catalog) spreads(ctx context.Context) {
	for {
		select {
		case <-c.applied:
		case <-ctx.Done():
			return
		}
		if c.group.Term() != 0 && len(c.group.Members()) > 1 {
			// If it fails, another node leads, and starts with such an entry.
			_ = c.group.Barrier(ctx)
		}
	}
}
