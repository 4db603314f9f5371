package nodetest

import (
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// versions sets how long nodes keep old versions: a day, except while the test asks for less.
type versions struct{ short atomic.Bool }

func (v *versions) config(cfg *node.Config) {
	cfg.Knobs.VersionsKept = func() time.Duration {
		if v.short.Load() {
			return time.Nanosecond
		}
		return 24 * time.Hour
	}
}

// forget makes the fragments of databases discard old versions, except those of pinned snapshots.
func (v *versions) forget(c *Cluster, databases ...string) {
	c.t.Helper()
	v.short.Store(true)
	defer v.short.Store(false)
	for _, database := range databases {
		for _, id := range fragmentsOf(c, database) {
			at := txn.MaxTimestamp
			eventually.Holds(c.t, "old versions that no transaction needs are forgotten in "+database, func() bool {
				r := led(c, id)
				// The watermark depends on what is applied.
				if r == nil || r.Moves.PassBy(c.Running().Clock().Wall()) != nil {
					return false
				}
				if at == txn.MaxTimestamp {
					at = r.Applied()
				}
				until := at
				if held := r.PinnedSnapshots(); len(held) > 0 {
					until = min(until, held[0])
				}
				return r.Watermark() >= until
			})
		}
	}
}

// held waits until the present leaders of a database's fragments have this number of pinned
// snapshots each.
func held(c *Cluster, database string, snapshots int) {
	c.t.Helper()
	for _, id := range fragmentsOf(c, database) {
		eventually.Holds(c.t, "snapshots are held in "+database, func() bool {
			r := led(c, id)
			return r != nil && len(r.PinnedSnapshots()) >= snapshots
		})
	}
}

func fragmentsOf(c *Cluster, database string) (out []txn.FragmentID) {
	for _, f := range c.Running().Catalog().View().DatabaseByName(database).Fragments {
		out = append(out, f.ID)
	}
	return out
}

// led returns the replica that leads a fragment, nil if there is none.
func led(c *Cluster, id txn.FragmentID) *storage.Replica {
	for _, n := range c.Nodes() {
		if n.Node == nil {
			continue
		}
		if r, err := n.Store().Replicas.Replica(id); err == nil && r.Group.Term() != 0 {
			return r
		}
	}
	return nil
}
