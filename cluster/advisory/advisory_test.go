package advisory

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/eventually"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

var quiet = slog.New(slog.DiscardHandler)

func exclusive(session, object uint32) lock {
	return lock{session: session, tag: locks.Tag{Kind: locks.Advisory, Database: 5, Object: object}, mode: locks.Exclusive}
}

// openLeadership begins a term in which everybody has told what he holds.
func openLeadership(t *testing.T) *leadership {
	x := newLeadership(leaderTerm{1, 1}, time.Now(), locks.NewManager(txn.NewDetector(), quiet))
	t.Cleanup(x.finish)
	close(x.ready)
	return x
}

func (t *leadership) holds(g gateway, k lock) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.sessions[holderID{g, k.session}]
	return h != nil && h.held[k] != 0
}

// silence has a gateway not be heard of for the grace.
func (t *leadership) silence(g gateway) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.lastHeard[g]; ok {
		t.lastHeard[g] = time.Now().Add(-grace)
	}
}

func unknown(uint32) uint64 { return 0 }

// TestGoneAfterItWaited: what was granted to a process that had waited for longer than the grace is let go of too when that is gone.
func TestGoneAfterItWaited(t *testing.T) {
	x, here, there := openLeadership(t), gateway{1, 10}, gateway{2, 20}
	if err := x.take(t.Context(), here, exclusive(7, 1), txn.ID{}, locks.Request{}, 1); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- x.take(t.Context(), there, exclusive(8, 1), txn.ID{}, locks.Request{}, 1) }()
	eventually.Holds(t, "one of two locks is waited for", func() bool { return len(x.manager.Locks()) == 2 })
	x.silence(there)
	x.dropGone(1, unknown)
	x.release(here, []lock{exclusive(7, 1)}, 1)
	if err := <-waiting; err != nil {
		t.Fatal(err)
	}
	x.dropGone(1, unknown)
	if !x.holds(there, exclusive(8, 1)) {
		t.Fatal("the lock was let go of at once")
	}
	x.silence(there)
	x.dropGone(1, unknown)
	if err := x.take(t.Context(), here, exclusive(7, 1), txn.ID{}, locks.Request{NoWait: true}, 2); err != nil {
		t.Errorf("the lock of a process that is gone: %v", err)
	}
}

// TestKeep: what a process does not list is let go of, but for what it has asked for since; what it lists and was not given is missing.
func TestKeep(t *testing.T) {
	x, g := openLeadership(t), gateway{2, 20}
	x.install(g, []lock{exclusive(7, 1), exclusive(7, 2)}, 3)
	if err := x.take(t.Context(), g, exclusive(7, 3), txn.ID{}, locks.Request{}, 4); err != nil {
		t.Fatal(err)
	}
	missing, ok := x.keep(g, []lock{exclusive(7, 9), exclusive(7, 1)}, nil, 3)
	if !ok || len(missing) != 1 || missing[0] != 0 {
		t.Errorf("missing %v, %t", missing, ok)
	}
	for object, want := range map[uint32]bool{1: true, 2: false, 3: true} {
		if got := x.holds(g, exclusive(7, object)); got != want {
			t.Errorf("lock %d is held: %t", object, got)
		}
	}
	if _, ok := x.keep(g, nil, []lock{exclusive(7, 3)}, 4); !ok || x.holds(g, exclusive(7, 1)) || !x.holds(g, exclusive(7, 3)) {
		t.Error("what is asked for was let go of, or what is not listed was kept")
	}
	x.finish()
	if _, ok := x.keep(g, nil, nil, 5); ok {
		t.Error("a term that is over keeps something")
	}
}

// openNet makes the side of a node that is alone, and the lock leader of all.
func openNet(t *testing.T) *Net {
	c, err := catalog.Open(catalog.Options{Dir: t.TempDir(), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Bootstrap(t.Context(), catalog.BootstrapOptions{ClusterID: "c", Fragments: 1, Node: catalog.Node{ID: 1, Name: "n1", Block: "A"}}); err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Self: 1, Incarnation: 10, Catalog: c, Nodes: func() []uint32 { return []uint32{1} }, Detector: txn.NewDetector(), Logger: quiet,
		Leader:  func(txn.FragmentID) (uint32, uint64, bool) { return 1, 1, true },
		Confirm: func(context.Context, txn.FragmentID, uint64) error { return nil }, Incarnations: unknown,
	}, grpc.NewServer())
}

// TestWaitedForIsNotLost: a lock that was waited for is not taken for lost where the lock leader is
// out of reach just after it was granted (A3).
func TestWaitedForIsNotLost(t *testing.T) {
	t.Parallel()
	n := openNet(t)
	tag := locks.Tag{Kind: locks.Advisory, Database: catalog.PostgresDB, Object: 1}
	take := func(pid uint32) error {
		return n.Acquire(t.Context(), locks.AdvisoryRequest{PID: pid, Tag: tag, Request: locks.Request{Mode: locks.Exclusive}})
	}
	if err := take(7); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- take(8) }()
	eventually.Holds(t, "one of two locks is waited for", func() bool { return len(n.Locks()) == 2 })
	<-time.After(tick + tick/10) // for as long as makes it a wait
	released := time.Now()
	n.ReleaseAll([]locks.Kept{{PID: 7, Tag: tag, Mode: locks.Exclusive}})
	if err := <-waiting; err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	sure := n.gates[catalog.PostgresDB].sure
	n.mu.Unlock()
	if sure.Before(released) {
		t.Errorf("who has the lock was sure of it %v before it was free", released.Sub(sure))
	}
}
