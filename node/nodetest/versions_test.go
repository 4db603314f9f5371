package nodetest

import (
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/node"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// versions is for how long nodes keep old versions: a day, but for moments of the test's choice.
type versions struct{ short atomic.Bool }

func (v *versions) config(cfg *node.Config) {
	cfg.Knobs.VersionsKept = func() time.Duration {
		if v.short.Load() {
			return time.Nanosecond
		}
		return 24 * time.Hour
	}
}

// forget has the fragments of databases keep no old versions but those of snapshots that are held.
func (v *versions) forget(c *Cluster, databases ...string) {
	c.t.Helper()
	v.short.Store(true)
	defer v.short.Store(false)
	for _, database := range databases {
		for _, id := range fragmentsOf(c, database) {
			at := txn.MaxTimestamp
			eventually.Holds(c.t, "old versions that no transaction needs are forgotten in "+database, func() bool {
				r := led(c, id)
				if r == nil || r.PassBy(c.Running().Clock().Wall()) != nil { // the watermark goes by what is applied
					return false
				}
				if at == txn.MaxTimestamp {
					at = r.Applied()
				}
				until := at
				if held := r.HeldSnapshots(); len(held) > 0 {
					until = min(until, held[0])
				}
				return r.Watermark() >= until
			})
		}
	}
}

// held waits until so many snapshots are held in each fragment of a database, by the leaders of now.
func held(c *Cluster, database string, snapshots int) {
	c.t.Helper()
	for _, id := range fragmentsOf(c, database) {
		eventually.Holds(c.t, "snapshots are held in "+database, func() bool {
			r := led(c, id)
			return r != nil && len(r.HeldSnapshots()) >= snapshots
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
		if r, err := n.Host().Replica(id); err == nil && r.Term() != 0 {
			return r
		}
	}
	return nil
}
