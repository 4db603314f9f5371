package storage

import (
	"slices"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/txn"
)

// cluster is some fragments of one process that can be crashed and reopened together.
type cluster struct {
	t    testing.TB
	dirs []string
	rs   []*Replica
	co   *txn.Coordinator
}

func openCluster(t testing.TB, dirs []string, change ...func(*Config)) *cluster {
	t.Helper()
	peers, clock, dead := NewPeers(), txn.NewClock(nil, 0), txn.NewDetector()
	c := &cluster{t: t, dirs: dirs, co: &txn.Coordinator{Clock: clock}}
	for i, dir := range dirs {
		r := openTest(t, dir, append([]func(*Config){func(c *Config) {
			c.Fragment, c.Clock, c.Deadlock = FragmentID(i+1), clock, dead
			c.Others = Others{Outcome: peers.AskOutcome, Prepared: peers.AskPrepared, Resolve: peers.SendResolve,
				Stands: peers.AskPreparation}
			c.Timing.RecoverAfter = 300 * time.Millisecond
		}}, change...)...)
		peers.Add(r)
		c.rs = append(c.rs, r)
	}
	return c
}

func tempDirs(t testing.TB, n int) (dirs []string) {
	for range n {
		dirs = append(dirs, t.TempDir())
	}
	return dirs
}

// crash reopens copies of the directories as a kill of all processes at one moment would leave
// them. If something was logged during the copying, they are copied again. Otherwise one copy could
// have a decision that came from another fragment, whose earlier copy does not have it.
func (c *cluster) crash(change ...func(*Config)) *cluster {
	to := tempDirs(c.t, len(c.dirs))
	for {
		before := c.logged()
		for i, d := range c.dirs {
			copyTree(c.t, d, to[i])
		}
		if slices.Equal(c.logged(), before) {
			return openCluster(c.t, to, change...)
		}
	}
}

// logged returns the last index of each log.
func (c *cluster) logged() (out []uint64) {
	for _, r := range c.rs {
		out = append(out, r.Group.raft.LastIndex())
	}
	return out
}

// put writes the same row to the buffer in every fragment.
func (c *cluster) put(id txn.ID, key []byte, value string) (parts []txn.Participant) {
	c.t.Helper()
	for _, r := range c.rs {
		tx := r.Tx(id)
		if err := tx.LockNewest(testContext(c.t), key); err != nil {
			c.t.Fatal(err)
		}
		if err := tx.Put(key, []byte(value)); err != nil {
			c.t.Fatal(err)
		}
		parts = append(parts, tx)
	}
	return parts
}

// all reads key in every fragment at one timestamp.
func (c *cluster) all(key []byte) (out []string) {
	c.t.Helper()
	ctx := testContext(c.t)
	var T txn.Timestamp
	for _, r := range c.rs {
		t, err := r.Snapshot(ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		T = max(T, t)
	}
	for _, r := range c.rs {
		v, err := r.Tx(txn.ID{}).View(ctx, T)
		if err != nil {
			c.t.Fatal(err)
		}
		b, err := v.Get(ctx, key)
		v.Close()
		if err != nil {
			c.t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// age has what is prepared be so since long ago: it is asked about.
func (c *cluster) age() {
	for _, r := range c.rs {
		r.txns.mu.Lock()
		for _, p := range r.txns.prepared {
			p.since = p.since.Add(-2 * r.cfg.Timing.RecoverLive)
		}
		r.txns.mu.Unlock()
	}
}

// resolveAll waits until every transaction is resolved everywhere. Copies of several directories
// are not of one moment, so nothing may be forgotten between the first and the last.
func (c *cluster) resolveAll() *cluster {
	c.t.Helper()
	for _, r := range c.rs {
		eventually.Within(c.t, testTimeout, "every transaction is decided",
			func() bool { return r.txns.undecided.Load() == 0 })
	}
	return c
}
