package raftnet

import (
	"testing"

	"github.com/hashicorp/raft"
	pb "github.com/sherddb/sherd/cluster/nodepb"
)

// The first heartbeat of a term is for Raft's loop, which also votes; those that follow need not
// wait for it (RN5).
func TestFirstHeartbeatOfATerm(t *testing.T) {
	m := &Mux{groups: map[uint64]*Transport{}}
	tr := m.Transport(5)
	defer tr.Close()
	handled := 0
	tr.SetHeartbeatHandler(func(rpc raft.RPC) {
		handled++
		rpc.Respond(
			&raft.AppendEntriesResponse{Term: rpc.Command.(*raft.AppendEntriesRequest).Term, Success: true}, nil,
		)
	})
	out := &outbox{wake: make(chan struct{}, 1)}
	beat := func(term uint64, viaLoop bool) {
		t.Helper()
		before := handled
		request := &pb.RaftRequest{
			Id: term, Group: 5, Kind: &pb.RaftRequest_Append{Append: &pb.AppendEntries{Term: term}},
		}
		m.deliver(request, "1", out)
		if viaLoop != (handled == before) {
			t.Fatalf("term %d: past Raft's loop: %v", term, handled > before)
		}
		if viaLoop {
			rpc := <-tr.Consumer()
			rpc.Respond(&raft.AppendEntriesResponse{Term: term, Success: true}, nil)
		}
		<-out.wake
		if b := out.take(); len(b.GetResponses()) != 1 || !b.Responses[0].Success || b.Responses[0].Term != term {
			t.Fatalf("term %d: %v", term, b)
		}
	}
	beat(3, true)
	beat(3, false)
	beat(3, false)
	beat(4, true)
	beat(4, false)
}
