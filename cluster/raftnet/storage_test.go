package raftnet

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// fragment is a fragment's replicas, by node.
type fragment []*storage.Replica

func (c *trio) fragment(t *testing.T, id txn.FragmentID) fragment {
	t.Helper()
	var all fragment
	for i, n := range c.Nodes {
		r, err := storage.Open(storage.Config{
			Dir: t.TempDir(), Fragment: id, Clock: txn.NewClock(nil, 0), Logger: slog.New(slog.DiscardHandler),
			Group: storage.GroupConfig{
				Node: ServerID(n.Number), Transport: c.mux[i].Transport(uint64(id)), Peers: Servers(1, 2, 3),
				LogSegment: 1 << 20,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		all = append(all, r)
	}
	return all
}

// leader waits until a replica on another node than not returns the newest timestamp: the replica leads,
// and a quorum has confirmed it (T5).
func (f fragment) leader(t *testing.T, not int) (int, txn.Timestamp) {
	t.Helper()
	found, at := 0, txn.Timestamp(0)
	eventually.Holds(t, "a replica that serves", func() bool {
		for i, r := range f {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			T, err := r.Snapshot(ctx)
			cancel()
			if err == nil && i != not {
				found, at = i, T
				return true
			}
		}
		return false
	})
	return found, at
}

func (f fragment) put(t *testing.T, not int, key []byte, value string) {
	t.Helper()
	eventually.Holds(t, "a commit", func() bool {
		i, _ := f.leader(t, not)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		tx := f[i].Tx(txn.NewID())
		if tx.LockNewest(ctx, key) != nil || tx.Put(key, []byte(value)) != nil {
			tx.Rollback()
			return false
		}
		_, err := tx.Commit(ctx, txn.CommitRequest{})
		return err == nil
	})
}

// get reads at the newest timestamp.
func (f fragment) get(t *testing.T, not int, key []byte) string {
	t.Helper()
	value := ""
	eventually.Holds(t, "a read", func() bool {
		i, T := f.leader(t, not)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		v, err := f[i].Tx(txn.NewID()).View(ctx, T)
		if err != nil {
			return false
		}
		defer v.Close()
		b, err := v.Get(ctx, key)
		value = string(b)
		return err == nil
	})
	return value
}

// A fragment of three replicas loses its leader to a partition: what was acknowledged is there at
// the next, the old one hands out no timestamp any more (T5) and has caught up afterwards.
func TestFragmentSurvivesItsLeader(t *testing.T) {
	t.Parallel()
	c := newTrio(t, 0, nil)
	f := c.fragment(t, 9)
	key := func(i int) []byte {
		return append(keyspace.RowPrefix(20000, uint32(i), 1), fmt.Sprintf("row-%d", i)...)
	}
	for i := range 10 {
		f.put(t, -1, key(i), fmt.Sprintf("before %d", i))
	}
	old, _ := f.leader(t, -1)
	var rest []string
	for i := range f {
		if i != old {
			rest = append(rest, testcluster.Host(uint32(i+1)))
		}
	}
	c.Net.Partition([]string{testcluster.Host(uint32(old + 1))}, rest)
	f.put(t, old, key(0), "during")
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if T, err := f[old].Snapshot(ctx); err == nil {
		t.Fatalf("T5: the old leader gave %s as the newest", T)
	}
	if got := f.get(t, old, key(0)); got != "during" {
		t.Fatalf("%q", got)
	}
	if got := f.get(t, old, key(9)); got != "before 9" {
		t.Fatalf("%q", got)
	}
	c.Net.Heal()
	f.put(t, -1, key(1), "after")
	eventually.Holds(t, "the old leader has caught up", func() bool {
		i, T := f.leader(t, -1)
		return i == old || f[old].Applied() >= T
	})
	if got := f.get(t, -1, key(0)); got != "during" {
		t.Fatalf("%q", got)
	}
}
