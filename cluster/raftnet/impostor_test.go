package raftnet

import (
	"bytes"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/cluster/trust"
	"github.com/sherddb/sherd/internal/testcluster"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// impostor is one more process that connects with other certificates.
func (c *trio) impostor(t *testing.T, k *trust.Keeper) *Mux {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := transport.New(transport.Config{
		Keeper: k, Listener: l, Version: testcluster.Version, Logger: slog.New(slog.DiscardHandler),
		Addr: func(node uint32) (string, error) { return c.Nodes[node-1].Addr, nil },
	})
	m := New(d, grpc.NewServer(transport.MemberOptions()...), slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		m.Close()
		d.Close()
	})
	return m
}

// Each part of an append is one by itself: it goes on where the one before ended.
func TestAppendsAreCut(t *testing.T) {
	tr := &Transport{group: 5}
	args := &raft.AppendEntriesRequest{Term: 9, PrevLogEntry: 10, PrevLogTerm: 8, LeaderCommitIndex: 7}
	for i := range 5 {
		args.Entries = append(
			args.Entries,
			&raft.Log{
				Index: uint64(11 + i), Term: 9, Data: bytes.Repeat([]byte{byte(i)}, maxBatch/2+1),
				AppendedAt: time.Unix(7, 0),
			},
		)
	}
	args.Entries = append(args.Entries, &raft.Log{Index: 16, Term: 9})
	parts := tr.encodeAppend(args)
	if len(parts) != 5 {
		t.Fatalf("%d parts", len(parts))
	}
	index, term := uint64(10), uint64(8)
	for _, p := range parts {
		got := decodeRequest(p, "3").(*raft.AppendEntriesRequest)
		if got.PrevLogEntry != index || got.PrevLogTerm != term || got.Term != 9 || got.LeaderCommitIndex != 7 ||
			string(got.Addr) != "3" || p.Group != 5 {
			t.Fatalf("after %d of term %d: %+v", index, term, got.RPCHeader)
		}
		for _, e := range got.Entries {
			if index++; e.Index != index {
				t.Fatalf("entry %d, want %d", e.Index, index)
			}
			term = e.Term
		}
	}
	if index != 16 {
		t.Fatalf("ends at %d", index)
	}
	empty := tr.encodeAppend(&raft.AppendEntriesRequest{Term: 1})
	if len(empty) != 1 || !isHeartbeat(decodeRequest(empty[0], "1").(*raft.AppendEntriesRequest)) {
		t.Fatal("a heartbeat did not arrive as one")
	}
}

func FuzzDecodeRequest(f *testing.F) {
	tr := &Transport{group: 1}
	for _, r := range []*pb.RaftRequest{
		tr.encodeAppend(&raft.AppendEntriesRequest{Term: 1, Entries: []*raft.Log{{Index: 1, Data: []byte("x")}}})[0],
		tr.encodeVote(&raft.RequestVoteRequest{Term: 1}),
		tr.encodePreVote(&raft.RequestPreVoteRequest{Term: 1}),
	} {
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r pb.RaftRequest
		if proto.Unmarshal(data, &r) != nil {
			return
		}
		switch k := decodeRequest(&r, "4").(type) {
		case *raft.AppendEntriesRequest:
			if string(k.ID) != "4" || string(k.Addr) != "4" {
				t.Fatal("RN1: a request names its sender")
			}
		case *raft.RequestVoteRequest:
			if string(k.ID) != "4" || string(k.Addr) != "4" {
				t.Fatal("RN1: a request names its sender")
			}
		}
	})
}
