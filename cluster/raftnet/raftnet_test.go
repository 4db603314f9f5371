package raftnet

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/cluster/trust"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/raftgroup"
)

// testTimeout bounds each wait of a test. It is long, because the machine may be busy.
const testTimeout = 3 * time.Minute

// journal is a state machine that remembers what was applied.
type journal struct {
	mu      sync.Mutex
	entries [][]byte // guarded by mu
	sum     uint32   // of all of them; guarded by mu
}

func (j *journal) Apply(l *raft.Log) any {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(bytes.Clone(l.Data))
	return nil
}

func (j *journal) add(data []byte) {
	j.entries = append(j.entries, data)
	j.sum = crc32.Update(j.sum, crc32.IEEETable, data)
}

// state tells replicas apart without a look at megabytes.
func (j *journal) state() (count int, sum uint32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.entries), j.sum
}

func (j *journal) has(prefix string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.entries, func(e []byte) bool { return bytes.HasPrefix(e, []byte(prefix)) })
}

func (j *journal) Snapshot() (raft.FSMSnapshot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return image(bytes.Join(j.entries, []byte("\n"))), nil
}

func (j *journal) Restore(r io.ReadCloser) error {
	defer r.Close()
	b, err := io.ReadAll(r)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries, j.sum = nil, 0
	for _, e := range bytes.Split(b, []byte("\n")) {
		j.add(e)
	}
	return err
}

type image []byte

func (s image) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(s); err != nil {
		return err
	}
	return sink.Close()
}

func (s image) Release() {}

// member is one replica of one group.
type member struct {
	*raftgroup.Group
	*journal
	node uint32
}

// trio is groups over three nodes.
type trio struct {
	*testcluster.Cluster
	mux    []*Mux
	groups [][]member // by group, then node
}

func newTrio(t *testing.T, groups int, change func(*raftgroup.Options)) *trio {
	t.Helper()
	c := &trio{Cluster: testcluster.New(t, 3, nil)}
	for _, n := range c.Nodes {
		m := New(n.Port, n.Members, slog.New(slog.DiscardHandler))
		c.mux = append(c.mux, m)
		t.Cleanup(func() { m.Close() })
		n.Serve()
	}
	for g := range groups {
		var all []member
		for _, n := range c.Nodes {
			all = append(all, c.open(t, uint64(g+1), n.Number, change))
		}
		c.groups = append(c.groups, all)
	}
	// In parallel: a leader waits for the answers that are under way to followers gone before it.
	t.Cleanup(func() {
		var wg sync.WaitGroup
		for _, all := range c.groups {
			for _, m := range all {
				wg.Go(func() { m.Close() })
			}
		}
		wg.Wait()
	})
	return c
}

func (c *trio) open(t *testing.T, group uint64, node uint32, change func(*raftgroup.Options)) member {
	t.Helper()
	j := &journal{}
	o := raftgroup.Options{
		Dir: filepath.Join(t.TempDir(), "group"), Name: fmt.Sprintf("group %d on node %d", group, node), FSM: j,
		RestoreOnStart: true, ID: ServerID(node),
		Transport: c.mux[node-1].Transport(group), Peers: Servers(1, 2, 3), Logger: slog.New(slog.DiscardHandler),
		SegmentSize: 1 << 20,
	}
	if change != nil {
		change(&o)
	}
	g, err := raftgroup.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return member{g, j, node}
}

// leader waits until one of the members leads.
func leader(t *testing.T, of []member) member {
	t.Helper()
	var found member
	eventually.Holds(t, "a leader", func() bool {
		for _, m := range of {
			if m.Term() != 0 {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// write proposes an entry at the leader until that succeeds. If an outcome was unknown, the entry may
// be in the log twice.
func write(t *testing.T, of []member, text string) {
	t.Helper()
	eventually.Holds(t, "a write of "+text[:min(20, len(text))], func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		_, _, err := leader(t, of).Group.Apply(ctx, []byte(text))
		return err == nil
	})
}

// same waits until all members have the same entries, the given ones among them.
func same(t *testing.T, of []member, want ...string) {
	t.Helper()
	eventually.Holds(t, "equal replicas", func() bool {
		count, sum := of[0].state()
		for _, m := range of[1:] {
			if c, s := m.state(); c != count || s != sum {
				return false
			}
		}
		return !slices.ContainsFunc(want, func(w string) bool { return !of[0].has(w) })
	})
}

func others(of []member, not member) []member {
	var out []member
	for _, m := range of {
		if m.node != not.node {
			out = append(out, m)
		}
	}
	return out
}

func hosts(of []member) []string {
	var out []string
	for _, m := range of {
		out = append(out, testcluster.Host(m.node))
	}
	return out
}

// Three groups elect, replicate, and lose the node that leads the first: the majority goes on, the
// old leader answers for nothing, and all are equal when it is back.
func TestPartitionOfTheLeader(t *testing.T) {
	t.Parallel()
	c := newTrio(t, 3, nil)
	for i, g := range c.groups {
		write(t, g, fmt.Sprintf("before %d", i))
		same(t, g, fmt.Sprintf("before %d", i))
	}
	old := leader(t, c.groups[0])
	rest := others(c.groups[0], old)
	c.Net.Partition([]string{testcluster.Host(old.node)}, hosts(rest))
	for i, g := range c.groups {
		write(t, others(g, old), fmt.Sprintf("during %d", i))
	}
	eventually.Holds(t, "the old leader steps down", func() bool { return old.Term() == 0 })
	if err := old.Confirm(context.Background()); err == nil {
		t.Error("T5: cut off from the majority, and confirmed as leader")
	}
	c.Net.Heal()
	for i, g := range c.groups {
		write(t, g, fmt.Sprintf("after %d", i))
		same(t, g, fmt.Sprintf("before %d", i), fmt.Sprintf("during %d", i), fmt.Sprintf("after %d", i))
	}
}

// A leader that is heard and hears nothing, and one that hears and is not heard, are both replaced.
func TestOneWayPartition(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{true, false} {
		t.Run(fmt.Sprintf("deaf=%v", deaf), func(t *testing.T) {
			c := newTrio(t, 1, nil)
			g := c.groups[0]
			write(t, g, "before")
			old := leader(t, g)
			for _, m := range others(g, old) {
				from, to := testcluster.Host(old.node), testcluster.Host(m.node)
				if deaf {
					from, to = to, from
				}
				c.Net.Cut(from, to)
			}
			eventually.Holds(t, "the old leader steps down", func() bool { return old.Term() == 0 })
			write(t, others(g, old), "during")
			c.Net.Heal()
			write(t, g, "after")
			same(t, g, "before", "during", "after")
		})
	}
}

// Slow and lossy links cost time and nothing else.
func TestSlowAndLossyLinks(t *testing.T) {
	t.Parallel()
	c := newTrio(t, 1, nil)
	for _, a := range c.Nodes {
		for _, b := range c.Nodes {
			if a != b {
				c.Net.Slow(
					testcluster.Host(a.Number), testcluster.Host(b.Number), 10*time.Millisecond, 20*time.Millisecond,
				)
				c.Net.Lose(testcluster.Host(a.Number), testcluster.Host(b.Number), 0.05)
			}
		}
	}
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("entry %02d", i))
		write(t, c.groups[0], want[i])
	}
	same(t, c.groups[0], want...)
}

// A follower that was away gets many megabytes, in requests of a bearable size, and is no less a
// voter meanwhile.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	c := newTrio(t, 1, func(o *raftgroup.Options) { o.SegmentSize = 16 << 20 })
	g := c.groups[0]
	write(t, g, "before")
	away := others(g, leader(t, g))[0]
	rest := others(g, away)
	c.Net.Partition([]string{testcluster.Host(away.node)}, hosts(rest))
	size := 3 << 20
	if testing.Short() { // the race detector makes much of megabytes
		size = 256 << 10
	}
	large := bytes.Repeat([]byte{'x'}, size)
	for i := range 3 {
		write(t, rest, fmt.Sprintf("large %d ", i)+string(large))
	}
	c.Net.Heal()
	same(t, g, "large 0 ", "large 2 ")
}

// What is no longer in the log comes as a snapshot.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	c := newTrio(t, 1, func(o *raftgroup.Options) { o.TrailingLogs = 1 })
	g := c.groups[0]
	write(t, g, "before")
	away := others(g, leader(t, g))[0]
	rest := others(g, away)
	c.Net.Partition([]string{testcluster.Host(away.node)}, hosts(rest))
	long := string(bytes.Repeat([]byte{'y'}, 1<<20))
	write(t, rest, "one "+long)
	for i := range 5 {
		write(t, rest, fmt.Sprintf("more %d", i))
	}
	for _, m := range rest {
		if err := m.Group.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	c.Net.Heal()
	same(t, g, "one ", "more 4")
}

// All nodes get certificates of a new authority while a client writes: no connection and no write
// is lost.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	c := newTrio(t, 1, nil)
	g := c.groups[0]
	write(t, g, "before")
	same(t, g, "before")
	conns := func() (n int) {
		for _, a := range c.Nodes {
			for _, b := range c.Nodes {
				n += c.Net.Conns(testcluster.Host(a.Number), testcluster.Host(b.Number))
			}
		}
		return n
	}
	before := conns()
	next, err := trust.NewAuthority(testcluster.ID, time.Now())
	if err == nil {
		err = next.Follow(c.Authority, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	both, err := trust.NewRoots(testcluster.ID, [][]byte{c.Authority.Cert.Raw, next.Cert.Raw})
	if err != nil {
		t.Fatal(err)
	}
	only, err := trust.NewRoots(testcluster.ID, [][]byte{next.Cert.Raw})
	if err != nil {
		t.Fatal(err)
	}
	steps := []func(k *trust.Keeper, node uint32) error{
		func(k *trust.Keeper, _ uint32) error { return k.SetRoots(both) },
		func(k *trust.Keeper, node uint32) error {
			key, chain := testcluster.Issue(t, next, node)
			return k.Renew(key, chain)
		},
		func(k *trust.Keeper, _ uint32) error { return k.SetRoots(only) },
	}
	for i, step := range steps {
		for _, n := range c.Nodes {
			if err := step(n.Keeper, n.Number); err != nil {
				t.Fatal(err)
			}
			write(t, g, fmt.Sprintf("step %d of node %d", i, n.Number))
		}
	}
	if after := conns(); after < before {
		t.Errorf("%d connections before, %d after", before, after)
	}
	// And connections made now are good too.
	old := leader(t, g)
	c.Net.Partition([]string{testcluster.Host(old.node)}, hosts(others(g, old)))
	write(t, others(g, old), "cut")
	c.Net.Heal()
	write(t, g, "healed")
	same(t, g, "before", "step 2 of node 3", "healed")
}

// A node whose certificate is of no authority of the cluster gets no word into a group, though it
// knows everything else.
func TestStrangerIsRefused(t *testing.T) {
	t.Parallel()
	c := newTrio(t, 1, nil)
	write(t, c.groups[0], "before")
	forged, err := trust.NewAuthority(testcluster.ID, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	false3 := c.impostor(t, testcluster.Keeper(t, filepath.Join(t.TempDir(), "c"), forged, c.Authority, 3))
	var resp raft.RequestVoteResponse
	err = false3.Transport(1).RequestVote(ServerID(1), "1", &raft.RequestVoteRequest{Term: 1000}, &resp)
	if err == nil || resp.Granted {
		t.Fatalf("%v, granted %v", err, resp.Granted)
	}
	write(t, c.groups[0], "after")
	if term := leader(t, c.groups[0]).Term(); term >= 1000 {
		t.Fatalf("term %d", term)
	}
}
