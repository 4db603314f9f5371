package raftgroup

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestMembersChange adds a second voter to a group of one, hands leadership to it, and removes the
// first.
func TestMembersChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		addrA, transA := raft.NewInmemTransport("a")
		addrB, transB := raft.NewInmemTransport("b")
		transA.Connect(addrB, transB)
		transB.Connect(addrA, transA)
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		a, _ := open(t, t.TempDir(), Options{ID: "a", Transport: transA})
		b, err := Open(Options{Dir: t.TempDir(), Name: "test", FSM: &journal{}, ID: "b", Transport: transB, Join: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		if !a.SoleVoter() || b.SoleVoter() {
			t.Fatal("a is the only voter, and b none")
		}
		if err := a.AddNonvoter(ctx, "b", addrB); err != nil || !a.SoleVoter() || len(a.Members()) != 2 {
			t.Fatalf("%v, %v", err, a.Members())
		}
		if err := a.AddVoter(ctx, "b", addrB); err != nil || a.SoleVoter() {
			t.Fatalf("T5: %v, and a may still take itself for the only voter", err)
		}
		if _, _, err := a.Apply(ctx, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := b.AddVoter(ctx, "c", "c"); err == nil {
			t.Fatal("a follower changed the configuration")
		}
		for b.Term() == 0 { // it may not have all entries yet, and refuse
			if err := a.Transfer(ctx, &raft.Server{ID: "b", Address: addrB}); err != nil && ctx.Err() != nil {
				t.Fatal(err)
			}
			short, done := context.WithTimeout(ctx, time.Second)
			_ = b.WaitLeader(short)
			done()
		}
		for {
			if err := b.Remove(ctx, "a"); err == nil {
				break
			} else if ctx.Err() != nil {
				t.Fatal(err)
			}
		}
		if !b.SoleVoter() {
			t.Fatal("b is the only voter now")
		}
		if _, _, err := b.Apply(ctx, []byte("y")); err != nil {
			t.Fatal(err)
		}
	})
}

// TestAddedAgain: a server that was removed, has deleted its log and is added again in the same term
// gets no vote for what it had answered before.
func TestAddedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		_, mem := raft.NewInmemTransport("a")
		trans := &answers{InmemTransport: mem, at: map[raft.ServerID]time.Time{"b": time.Now()}, match: 1 << 20}
		a, _ := open(t, t.TempDir(), Options{ID: "a", Transport: trans})
		if a.raft.CurrentTerm() != 2 || !a.health("b").upToDate {
			t.Fatalf("term %d, %+v: b was up to date", a.raft.CurrentTerm(), a.health("b"))
		}
		if err := a.AddNonvoter(ctx, "b", "b"); err != nil {
			t.Fatal(err)
		}
		want := Membership{Voters: []raft.ServerID{"a", "b"}}
		if c := nextChange(a.Members(), want, "a", a.health); c.kind != noChange {
			t.Fatalf("%s %s, which has not answered yet", c.kind, c.id)
		}
	})
}
