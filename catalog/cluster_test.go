package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/pgerr"
)

// testTimeout bounds each wait of a test. It is long, because the machine may be busy.
const testTimeout = 2 * time.Minute

// bubble runs a test by a synthetic clock. Time passes only while every goroutine waits, so no leader
// loses its lease because the machine stands still.
func bubble(t *testing.T, f func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // what is still on its way times out
		f(t)
	})
}

// several is a catalog's replicas on nodes of this process.
type several struct {
	t     *testing.T
	dir   string
	mu    sync.Mutex
	nodes map[uint32]*Catalog             // that run; guarded by mu
	wires map[uint32]*raft.InmemTransport // guarded by mu
	lose  int                             // answers that are lost from now on; guarded by mu
	ahead uint64                          // versions by which leaders seem to be ahead of others; guarded by mu
}

func newSeveral(t *testing.T, n int) *several {
	s := &several{t: t, dir: t.TempDir(), nodes: map[uint32]*Catalog{}, wires: map[uint32]*raft.InmemTransport{}}
	t.Cleanup(func() {
		for id := range s.running() {
			s.stop(id)
		}
	})
	first := s.start(1, false)
	s.ready(first)
	o := bootstrapOptions()
	o.Node.NodeAddr = "here:1"
	must[bool](t)(first.Bootstrap(s.ctx(), o))
	for range n - 1 {
		id := must[uint32](t)(first.NewNodeID(s.ctx()))
		must[*View](t)(first.Update(s.ctx(), func(_ *View, ch *Change) error {
			return ch.PutNode(&Node{ID: id, Name: fmt.Sprintf("n%d", id), Block: string(rune('A' + id - 1)), NodeAddr: fmt.Sprintf("here:%d", id)})
		}))
		s.ready(s.start(id, true))
	}
	eventually.Holds(s.t, "all vote", func() bool { return len(first.Voters()) == voterCount(n) })
	return s
}

func (s *several) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	s.t.Cleanup(cancel)
	return ctx
}

func (s *several) ready(c *Catalog) {
	s.t.Helper()
	if err := c.WaitReady(s.ctx()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *several) running() map[uint32]*Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[uint32]*Catalog{}
	for id, c := range s.nodes {
		out[id] = c
	}
	return out
}

func (s *several) start(id uint32, join bool) *Catalog {
	s.t.Helper()
	addr, trans := raft.NewInmemTransport(raft.ServerAddress(serverID(id)))
	trans.Connect(addr, trans)
	s.mu.Lock()
	for other, wire := range s.wires {
		wire.Connect(addr, trans)
		trans.Connect(raft.ServerAddress(serverID(other)), wire)
	}
	s.wires[id] = trans
	s.mu.Unlock()
	c, err := Open(Options{
		Dir: filepath.Join(s.dir, fmt.Sprint(id)), ID: serverID(id), Transport: trans, Join: join, Forward: s.forward, Logger: slog.New(slog.DiscardHandler),
		VoterGrace: time.Second,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.nodes[id] = c
	s.mu.Unlock()
	return c
}

func (s *several) stop(id uint32) {
	s.mu.Lock()
	c := s.nodes[id]
	delete(s.nodes, id)
	delete(s.wires, id)
	for _, wire := range s.wires {
		wire.Disconnect(raft.ServerAddress(serverID(id)))
	}
	s.mu.Unlock()
	if err := c.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *several) forward(ctx context.Context, to raft.ServerID, request []byte) ([]byte, error) {
	c := s.running()[nodeOf(to)]
	if c == nil {
		return nil, errors.New("the node does not answer")
	}
	answer, err := c.Answer(ctx, request)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lose > 0 {
		s.lose--
		return nil, errors.New("the answer is lost")
	}
	if err != nil || s.ahead == 0 {
		return answer, err
	}
	a, err := decodeAnswer(answer)
	a.version += s.ahead
	return encodeAnswer(a, err)
}

// leader gives one that leads and has definitions.
func (s *several) leader() (lead uint32) {
	s.t.Helper()
	eventually.Holds(s.t, "a leader", func() bool {
		for id, c := range s.running() {
			if c.Leads() {
				lead = id
			}
		}
		return lead != 0
	})
	return lead
}

// A change is made on any node, is seen by all, and outlives the node that led.
func TestSeveralNodes(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := newSeveral(t, 3)
		var last *View
		for id, c := range s.running() {
			last = putTable(t, c, newTable(t, c, fmt.Sprintf("t%d", id)))
		}
		gone := s.leader()
		s.stop(gone)
		for id, c := range s.running() {
			last = putTable(t, c, newTable(t, c, fmt.Sprintf("after%d", id)))
		}
		for _, c := range s.running() {
			sameView(t, last, must[*View](t)(c.WaitVersion(s.ctx(), last.Version())))
		}
		back := s.start(gone, true)
		s.ready(back)
		sameView(t, last, back.View())
		for _, c := range s.running() {
			if _, ok := c.Contact(1); ok != c.Leads() {
				t.Error("contacts are known where the catalog is led")
			}
		}
	})
}

// An answer that is lost does not make a change twice, and refusals are the same from elsewhere.
func TestForwardOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := newSeveral(t, 2)
		other := s.running()[3-s.leader()]
		s.mu.Lock()
		s.lose = 2
		s.mu.Unlock()
		table := newTable(t, other, "orders")
		v := putTable(t, other, table)
		if v.Table(table.OID) == nil {
			t.Fatal("the table is missing")
		}
		_, err := other.Update(s.ctx(), func(v *View, ch *Change) error {
			x := newTable(t, other, "orders")
			return ch.PutTable(x)
		})
		if !pgerr.Is(err, pgerr.DuplicateTable) {
			t.Fatal(err)
		}
		base := other.View()
		ch := base.Plan()
		must[uint64](t)(other.Apply(s.ctx(), touch(t, base.Plan(), base.Table(table.OID))))
		if _, err := other.Apply(s.ctx(), touch(t, ch, base.Table(table.OID))); !IsConflict(err) {
			t.Fatal(err)
		}
		id := TransactionID{7}
		must[uint64](t)(other.Commit(s.ctx(), id, 1<<40, touch(t, other.View().Plan(), other.View().Table(table.OID))))
		if _, ok, err := other.CommitOf(s.ctx(), id); !ok || err != nil {
			t.Fatal(ok, err)
		}
	})
}

// A node whose view does not follow the leader's in time says so. A view that lacks what was
// acknowledged would pass for one that shows that something is not there.
func TestBarrierWaitsForTheView(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := newSeveral(t, 2)
		other := s.running()[3-s.leader()]
		behind := func(versions uint64) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ahead = versions
		}
		behind(1)
		for what, ask := range map[string]func() error{
			"Current":  func() error { _, err := other.Current(s.ctx()); return err },
			"CatchUp":  func() error { return other.CatchUp(s.ctx(), time.Second) },
			"CommitOf": func() error { _, _, err := other.CommitOf(s.ctx(), TransactionID{9}); return err },
		} {
			if err := ask(); !pgerr.Is(err, pgerr.CannotConnectNow) {
				t.Errorf("%s of a view that is behind: %v", what, err)
			}
		}
		behind(0)
		must[*View](t)(other.Current(s.ctx()))
	})
}

func touch(t *testing.T, ch *Change, table *Table) *Change {
	t.Helper()
	n := table.Clone()
	n.Version++
	if err := ch.PutTable(n); err != nil {
		t.Fatal(err)
	}
	return ch
}

// A node starts without the others from what is on its disk, and says why definitions cannot be changed.
func TestStartWithoutMajority(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		s := newSeveral(t, 3)
		c := s.running()[2]
		putTable(t, c, newTable(t, c, "orders"))
		if err := c.Snapshot(); err != nil {
			t.Fatal(err)
		}
		before := putTable(t, c, newTable(t, c, "items"))
		for _, id := range []uint32{1, 3, 2} {
			s.stop(id)
		}
		alone := s.start(2, true)
		s.ready(alone)
		sameView(t, before, alone.View())
		_, err := alone.NewJobID(s.ctx())
		if !pgerr.Is(err, pgerr.CannotConnectNow) || !strings.Contains(pgerr.From(err).Detail, "2 of the 3 nodes n1, n2, n3") {
			t.Fatalf("%v: %+v", err, pgerr.From(err))
		}
		s.start(3, true)
		if _, err := alone.NewJobID(s.ctx()); err != nil {
			eventually.Holds(s.t, "definitions can be changed again", func() bool { _, err := alone.NewJobID(s.ctx()); return err == nil })
		}
	})
}

func TestChooseVoters(t *testing.T) {
	node := func(id uint32, zone string, votes, there bool) candidate {
		return candidate{id: id, zone: zone, votes: votes, there: there, may: true}
	}
	for _, c := range []struct {
		name  string
		nodes []candidate
		want  []uint32
	}{
		{"one", []candidate{node(1, "", true, true)}, []uint32{1}},
		{"two", []candidate{node(1, "", true, true), node(2, "", false, true)}, []uint32{1, 2}},
		{"four are three", []candidate{node(1, "", true, true), node(2, "", false, true), node(3, "", false, true), node(4, "", false, true)}, []uint32{1, 2, 3}},
		{"zones first", []candidate{node(1, "a", true, true), node(2, "a", false, true), node(3, "b", false, true), node(4, "c", false, true)}, []uint32{1, 3, 4}},
		{"one is lost", []candidate{node(1, "", true, true), node(2, "", true, false), node(3, "", true, true), node(4, "", false, true)}, []uint32{1, 3, 4}},
		{"nobody to take it", []candidate{node(1, "", true, true), node(2, "", true, false), node(3, "", true, true)}, []uint32{1, 2, 3}},
		{"back again", []candidate{node(1, "", true, true), node(2, "", false, true), node(3, "", true, true), node(4, "", true, true)}, []uint32{1, 3, 4}},
		{"gateways do not", []candidate{node(1, "", true, true), {id: 2, there: true}, node(3, "", false, true)}, []uint32{1, 3}},
	} {
		if got := chooseVoters(c.nodes); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
