package raftgroup

import (
	"context"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/internal/eventually"
)

// TestRename: the only member of a group, whose id is the group's name, gets its node's number as
// id.
func TestRename(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	first, err := Open(Options{Dir: dir, Name: "test", FSM: &journal{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := first.Apply(ctx, []byte("x")); err != nil {
		if err := first.WaitLeader(ctx); err != nil {
			t.Fatal(err)
		}
		if _, _, err := first.Apply(ctx, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		addr, trans := raft.NewInmemTransport("7")
		trans.Connect(addr, trans)
		g, _ := open(t, dir, Options{ID: "7", Transport: trans})
		if err := g.WaitLeader(ctx); err != nil {
			t.Fatal(err)
		}
		if m := g.Members(); len(m) != 1 || m[0].ID != "7" || !g.SoleVoter() {
			t.Fatal(m)
		}
		if _, _, err := g.Apply(ctx, []byte("y")); err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnsafeRecover: two of three replicas are lost for good. The third continues alone with its data,
// and others may join it.
func TestUnsafeRecover(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		names := []raft.ServerID{"1", "2", "3"}
		var servers []raft.Server
		wires := map[raft.ServerID]*raft.InmemTransport{}
		for _, id := range names {
			_, wires[id] = raft.NewInmemTransport(raft.ServerAddress(id))
			servers = append(servers, raft.Server{ID: id, Address: raft.ServerAddress(id)})
		}
		for a, from := range wires {
			for b, to := range wires {
				if a != b {
					from.Connect(raft.ServerAddress(b), to)
				}
			}
		}
		dirs, groups, journals := map[raft.ServerID]string{}, map[raft.ServerID]*Group{}, map[raft.ServerID]*journal{}
		for _, id := range names {
			dirs[id], journals[id] = t.TempDir(), &journal{}
			g, err := Open(
				Options{Dir: dirs[id], Name: "test", FSM: journals[id], ID: id, Transport: wires[id], Peers: servers},
			)
			if err != nil {
				t.Fatal(err)
			}
			groups[id] = g
		}
		eventually.Holds(t, "an entry is acknowledged", func() bool {
			for _, g := range groups {
				if _, _, err := g.Apply(ctx, []byte("kept")); err == nil {
					return true
				}
			}
			return false
		})
		// The others may have been the majority.
		eventually.Holds(t, "the third has it", func() bool { return journals["3"].has("kept") })
		for _, g := range groups {
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
		o := Options{Dir: dirs["3"], Name: "test", ID: "3"}
		was, err := Look(o)
		if err != nil || len(was.Members) != 3 || was.Last == 0 || was.At.IsZero() {
			t.Fatalf("%+v, %v", was, err)
		}
		if err := UnsafeRecover(o); err != nil {
			t.Fatal(err)
		}
		addr, trans := raft.NewInmemTransport("3")
		trans.Connect(addr, trans)
		alone, j := open(t, dirs["3"], Options{ID: "3", Transport: trans})
		if err := alone.WaitLeader(ctx); err != nil {
			t.Fatal(err)
		}
		if m := alone.Members(); len(m) != 1 || m[0].ID != "3" {
			t.Fatal(m)
		}
		if len(j.entries) == 0 || string(j.entries[0]) != "kept" {
			t.Fatalf("%q", j.entries)
		}
		if err := UnsafeRecover(Options{Dir: t.TempDir(), Name: "test", ID: "3"}); err == nil {
			t.Fatal("a replica that is not there survives")
		}
	})
}
