package raftgroup

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// gate is a transport in memory that can drop requests and delay answers.
type gate struct {
	*raft.InmemTransport
	mu      sync.Mutex
	changed chan struct{}                       // closed when one of the maps changes; guarded by mu
	cut     map[raft.ServerID]bool              // requests do not arrive; guarded by mu
	hold    map[raft.ServerID]bool              // answers wait; guarded by mu
	held    map[raft.ServerID][]chan<- struct{} // closed to deliver a delayed answer; guarded by mu
	refused map[raft.ServerID]int               // requests that did not arrive; guarded by mu
}

var errCut = errors.New("cut off")

func newGate(id raft.ServerID) *gate {
	_, mem := raft.NewInmemTransportWithTimeout(raft.ServerAddress(id), 2*time.Second)
	mem.Connect(raft.ServerAddress(id), mem) // the first has its election at once
	return &gate{
		InmemTransport: mem, changed: make(chan struct{}), cut: map[raft.ServerID]bool{},
		hold: map[raft.ServerID]bool{},
		held: map[raft.ServerID][]chan<- struct{}{}, refused: map[raft.ServerID]int{},
	}
}

func (g *gate) change(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	close(g.changed)
	g.changed = make(chan struct{})
}

// until waits until f, called under mu, returns true, or stop is closed.
func (g *gate) until(t *testing.T, stop <-chan struct{}, f func() bool) {
	t.Helper()
	for {
		g.mu.Lock()
		done, changed := f(), g.changed
		g.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-stop:
			return
		case <-time.After(testTimeout):
			t.Fatal("waited for too long")
		}
	}
}

// AppendEntries implements raft.Transport.
func (g *gate) AppendEntries(
	id raft.ServerID, addr raft.ServerAddress, req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse,
) error {
	g.mu.Lock()
	cut := g.cut[id]
	g.mu.Unlock()
	if cut {
		g.change(func() { g.refused[id]++ })
		return errCut
	}
	err := g.InmemTransport.AppendEntries(id, addr, req, resp)
	release := make(chan struct{})
	g.change(func() {
		if g.hold[id] {
			g.held[id] = append(g.held[id], release)
		} else {
			close(release)
		}
	})
	<-release
	return err
}

// release delivers the delayed answers.
func (g *gate) release() {
	g.change(func() {
		for id, all := range g.held {
			for _, c := range all {
				close(c)
			}
			delete(g.held, id)
		}
	})
}

// AppendEntriesPipeline makes Raft use AppendEntries.
func (g *gate) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// gated returns the leader of a new group, and its transport: server "a", with the named voters and
// non-voters.
func gated(t *testing.T, election time.Duration, voters, nonvoters []raft.ServerID) (*Group, *gate) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	at := newGate("a")
	all := []*gate{at}
	leader, _ := open(t, t.TempDir(), Options{ID: "a", Transport: at, Election: election})
	for _, id := range append(voters[:len(voters):len(voters)], nonvoters...) {
		w := newGate(id)
		for _, other := range all {
			w.Connect(other.LocalAddr(), other.InmemTransport)
			other.Connect(w.LocalAddr(), w.InmemTransport)
		}
		all = append(all, w)
		g, err := Open(Options{
			Dir: t.TempDir(), Name: "test", FSM: &journal{}, ID: id, Transport: w, Join: true, Election: election,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
	}
	for _, id := range voters {
		if err := leader.AddVoter(ctx, id, raft.ServerAddress(id)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range nonvoters {
		if err := leader.AddNonvoter(ctx, id, raft.ServerAddress(id)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // runs first: Raft waits for its requests when it is closed
		at.change(func() { clear(at.hold) })
		at.release()
		for _, w := range all {
			w.DisconnectAll()
		}
	})
	return leader, at
}

// confirm starts a round, and returns when it has begun.
func confirm(t *testing.T, g *Group) (done <-chan struct{}, result func() error) {
	t.Helper()
	var err error
	ch := make(chan struct{})
	go func() {
		defer close(ch)
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		err = g.Confirm(ctx)
	}()
	begun := func() bool {
		g.round.mu.Lock()
		defer g.round.mu.Unlock()
		return g.round.running && g.round.next == nil
	}
	for !begun() {
		select {
		case <-ch:
			return ch, func() error { return err }
		default:
			runtime.Gosched()
		}
	}
	return ch, func() error { <-ch; return err }
}

// TestRuleT5Confirm suspends a leader: answers to its earlier requests are on their way, no new
// request arrives, and another leader may have been elected. Such answers confirm nothing.
func TestRuleT5Confirm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, at := gated(t, 2*time.Second, []raft.ServerID{"b", "c"}, nil)
		at.change(func() { at.hold["b"], at.hold["c"] = true, true })
		at.until(t, nil, func() bool { return len(at.held["b"]) > 0 && len(at.held["c"]) > 0 })
		at.change(func() {
			at.cut["b"], at.cut["c"] = true, true
			clear(at.hold)
		})
		_, result := confirm(t, a)
		at.release()
		if err := result(); err == nil {
			t.Fatal("T5: confirmed by answers to requests that were sent before the question")
		}
	})
}

// TestConfirmAsksVoters: a majority of the voters decides, whatever the number of servers without a
// vote.
func TestConfirmAsksVoters(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, at := gated(t, 2*time.Second, []raft.ServerID{"b"}, []raft.ServerID{"c", "d"})
		at.change(func() { at.cut["b"] = true })
		_, result := confirm(t, a)
		if err := result(); err == nil {
			t.Fatal("T5: confirmed by servers that have no vote")
		}
	})
}

// TestConfirmWithoutOneVoter: if one of two others does not answer, no round is delayed, and it
// gets no further request of Confirm.
func TestConfirmWithoutOneVoter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, at := gated(t, 8*time.Second, []raft.ServerID{"b", "c"}, nil)
		at.change(func() { at.hold["c"] = true })
		for range 100 {
			_, result := confirm(t, a)
			if err := result(); err != nil {
				t.Fatal(err)
			}
		}
		at.mu.Lock()
		defer at.mu.Unlock()
		if n := len(at.held["c"]); n > 3 { // Raft's heartbeat and append, and one of Confirm
			t.Fatalf("%d requests wait for a server that does not answer", n)
		}
	})
}

// TestConfirmWhileVotersChange removes a voter that does not answer while a round waits for it.
func TestConfirmWhileVotersChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, at := gated(t, 20*time.Second, []raft.ServerID{"b"}, nil)
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		at.change(func() { at.cut["b"] = true })
		done, result := confirm(t, a)
		at.until(t, done, func() bool { return at.refused["b"] > 0 })
		select {
		case <-done:
			t.Fatalf("T5: ended by %v, and b has not answered", result())
		default:
		}
		if err := a.Remove(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		if err := result(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestConfirmOfATermThatIsNotReady: a leader that has not applied an entry of its term does not
// know whether its state is the newest.
func TestConfirmOfATermThatIsNotReady(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, _ := gated(t, 8*time.Second, []raft.ServerID{"b", "c"}, nil)
		a.applied.Store(a.raft.CurrentTerm() - 1)
		if err := a.Confirm(context.Background()); err == nil {
			t.Fatal("confirmed in a term that is not ready")
		}
	})
}
