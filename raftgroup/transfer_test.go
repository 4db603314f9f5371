package raftgroup

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// answers is a transport in memory that records when others last answered.
type answers struct {
	*raft.InmemTransport
	mu    sync.Mutex
	at    map[raft.ServerID]time.Time // guarded by mu
	match uint64                      // of those that have answered, in term 2
}

func (a *answers) AppendEntries(
	id raft.ServerID, addr raft.ServerAddress, req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse,
) error {
	err := a.InmemTransport.AppendEntries(id, addr, req, resp)
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.at[id] = time.Now()
	}
	return err
}

func (a *answers) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

func (a *answers) Progress(id raft.ServerID) (match, term uint64, contact time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at[id].IsZero() {
		return 0, 0, time.Time{}
	}
	return a.match, 2, a.at[id]
}

func (a *answers) Forget(id raft.ServerID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.at, id)
}

// TestTransferToTheDead: leadership is not handed to a server that does not answer. The log accepts
// entries all the time, while Raft's library would refuse them until its attempt is over, which
// waits for the replication to the dead server.
func TestTransferToTheDead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		const calm = 8 * time.Second // the leader stays even if the machine pauses for a moment
		var trans []*answers
		for _, id := range []raft.ServerAddress{"a", "b", "c"} {
			_, mem := raft.NewInmemTransportWithTimeout(id, 10*time.Second)
			mem.Connect(id, mem) // the first has its election at once
			for _, other := range trans {
				mem.Connect(other.LocalAddr(), other.InmemTransport)
				other.Connect(id, mem)
			}
			trans = append(trans, &answers{InmemTransport: mem, at: map[raft.ServerID]time.Time{}})
		}
		a, _ := open(t, t.TempDir(), Options{ID: "a", Transport: trans[0], Election: calm})
		groups := map[raft.ServerID]*Group{}
		for i, id := range []raft.ServerID{"b", "c"} {
			g, err := Open(
				Options{
					Dir: t.TempDir(), Name: "test", FSM: &journal{}, ID: id, Transport: trans[i+1], Join: true,
					Election: calm,
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			groups[id] = g
			t.Cleanup(func() { g.Close() })
			if err := a.AddVoter(ctx, id, raft.ServerAddress(id)); err != nil {
				t.Fatal(err)
			}
		}

		apply := func() {
			t.Helper()
			if _, _, err := a.Apply(ctx, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		for a.Progress("c").Contact.IsZero() {
			apply()
		}
		trans[0].Disconnect("c")
		trans[1].Disconnect("c")
		trans[2].DisconnectAll()
		for time.Since(a.Progress("c").Contact) < a.transferContact() {
			apply()
			time.Sleep(time.Second)
		}
		if err := a.Transfer(ctx, &raft.Server{ID: "c", Address: "c"}); !errors.Is(err, ErrNoVoterAnswers) {
			t.Fatalf("handed to a server that does not answer: %v", err)
		}
		apply()

		for { // b has to have answered just now
			err := a.Transfer(ctx, nil)
			if err == nil {
				break
			}
			if !errors.Is(err, ErrNoVoterAnswers) || ctx.Err() != nil {
				t.Fatal(err)
			}
			apply()
		}
		if err := groups["b"].WaitLeader(ctx); err != nil {
			t.Fatal(err)
		}
	})
}
