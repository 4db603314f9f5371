package catalog

import "context"

// Raft notifies the other replicas that an entry is committed with the next one, or up to half a
// second later. Nodes would learn of definitions that late, and a client that has changed one
// through another node than the leader would wait for it. So an empty entry follows each change.

// spread has the other replicas told at once of what was applied here; it does not wait.
func (c *Catalog) spread() {
	select {
	case c.applied <- struct{}{}:
	default: // an entry is due already
	}
}

// spreads puts the entries into the log, one for all changes that have come meanwhile, until ctx ends.
func (c *Catalog) spreads(ctx context.Context) {
	for {
		select {
		case <-c.applied:
		case <-ctx.Done():
			return
		}
		if c.group.Term() != 0 && len(c.group.Members()) > 1 {
			_ = c.group.Barrier(ctx) // where it fails another node leads, which begins with such an entry
		}
	}
}
