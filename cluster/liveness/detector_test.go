package liveness

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/internal/testcluster"
	"github.com/sherddb/sherd/txn"
)

// attendant is a node of a test.
type attendant struct {
	*Detector
	mu    sync.Mutex
	leads map[txn.FragmentID]uint64 // guarded by mu
	lost  []uint64                  // incarnations; guarded by mu
	ended []txn.ID                  // guarded by mu
	over  txn.ID
}

func (a *attendant) lead(f txn.FragmentID, term uint64) {
	a.mu.Lock()
	if term == 0 {
		delete(a.leads, f)
	} else {
		a.leads[f] = term
	}
	a.mu.Unlock()
	a.Wake()
}

func start(t *testing.T, n int) (*testcluster.Cluster, []*attendant) {
	t.Helper()
	c := testcluster.New(t, n, nil)
	var nodes []uint32
	for _, x := range c.Nodes {
		nodes = append(nodes, x.Number)
	}
	var all []*attendant
	for _, x := range c.Nodes {
		a := &attendant{leads: map[txn.FragmentID]uint64{}, over: txn.NewID()}
		a.Detector = New(Config{
			Self: x.Number, Incarnation: uint64(x.Number) * 100, Clock: txn.NewClock(nil, 0), Port: x.Port, Heartbeat: 50 * time.Millisecond,
			Nodes: func() []uint32 { return nodes },
			Leads: func() map[txn.FragmentID]uint64 {
				a.mu.Lock()
				defer a.mu.Unlock()
				out := map[txn.FragmentID]uint64{}
				for f, term := range a.leads {
					out[f] = term
				}
				return out
			},
			Over: func(id txn.ID) bool { return id == a.over },
			Ended: func(_ uint32, ids []txn.ID) {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.ended = append(a.ended, ids...)
			},
			Logger: slog.New(slog.DiscardHandler),
		})
		a.OnLost(func(_ uint32, incarnation uint64) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.lost = append(a.lost, incarnation)
		})
		pb.RegisterPresenceServer(x.Members, a.Detector)
		all = append(all, a)
	}
	for i, x := range c.Nodes {
		x.Serve()
		all[i].Start()
		t.Cleanup(all[i].Close)
	}
	return c, all
}

func TestLeadersAreKnown(t *testing.T) {
	_, all := start(t, 3)
	knows := func(a *attendant, want Leadership) func() bool {
		return func() bool {
			l, ok := a.Leader(7)
			return ok == (want.Node != 0) && (!ok || l == want)
		}
	}
	all[0].lead(7, 3)
	eventually.Holds(t, "nobody tells node 2", knows(all[1], Leadership{1, 3}))
	eventually.Holds(t, "nobody tells node 3", knows(all[2], Leadership{1, 3}))
	all[1].lead(7, 4) // the old leader does not know yet
	eventually.Holds(t, "a newer term does not count", knows(all[2], Leadership{2, 4}))
	all[0].lead(7, 0)
	eventually.Holds(t, "node 1 does not know the new leader", knows(all[0], Leadership{2, 4}))
	all[1].lead(7, 0)
	eventually.Holds(t, "a leader that was is one still", knows(all[2], Leadership{}))
}

func TestTransactionsThatAreOver(t *testing.T) {
	_, all := start(t, 2)
	all[0].AskAlive(2, []txn.ID{txn.NewID(), all[1].over})
	eventually.Holds(t, "no answer", func() bool {
		all[0].mu.Lock()
		defer all[0].mu.Unlock()
		return len(all[0].ended) == 1 && all[0].ended[0] == all[1].over
	})
}

func TestStrangersAreNotCounted(t *testing.T) {
	_, all := start(t, 2)
	eventually.Holds(t, "they do not meet", func() bool { return all[0].Alive(2) })
	all[0].AskAlive(9, []txn.ID{txn.NewID()}) // as of a node that has left the cluster meanwhile
	all[0].ReportEnd(9, txn.NewID())
	if h := all[0].Health(); len(h) != 1 || h[0].Node != 2 {
		t.Errorf("the others are %+v", h)
	}
}

func TestSilentNodeIsDead(t *testing.T) {
	c, all := start(t, 2)
	all[0].lead(7, 1)
	eventually.Holds(t, "they do not meet", func() bool { _, ok := all[1].Leader(7); return ok && all[0].Alive(2) })
	c.Net.Cut("1", "2")
	eventually.Holds(t, "nobody notices", func() bool { _, ok := all[1].Leader(7); return !ok && !all[0].Alive(2) && !all[1].Alive(1) })
	eventually.Holds(t, "the write buffers of a silent gateway stay", func() bool {
		all[1].mu.Lock()
		defer all[1].mu.Unlock()
		return len(all[1].lost) > 0 && all[1].lost[0] == 100
	})
	c.Net.Heal()
	eventually.Holds(t, "they do not meet again", func() bool { _, ok := all[1].Leader(7); return ok && all[0].Alive(2) })
}
