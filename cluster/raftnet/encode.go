package raftnet

import (
	"time"

	"github.com/hashicorp/raft"
	pb "github.com/sherddb/sherd/cluster/nodepb"
)

// isHeartbeat reports whether an append only keeps a leader in office, in the form in which Raft
// makes it.
func isHeartbeat(a *raft.AppendEntriesRequest) bool {
	return a.Term != 0 && a.PrevLogEntry == 0 && a.PrevLogTerm == 0 && len(a.Entries) == 0 && a.LeaderCommitIndex == 0
}

func (t *Transport) request(h raft.RPCHeader) *pb.RaftRequest {
	return &pb.RaftRequest{Group: t.group, RaftVersion: uint32(h.ProtocolVersion)}
}

func (t *Transport) appendRequest(h raft.RPCHeader, part *pb.AppendEntries) *pb.RaftRequest {
	r := t.request(h)
	r.Kind = &pb.RaftRequest_Append{Append: part}
	return r
}

// encodeAppend returns an append as requests of limited size. Each continues where the one before
// ends, so each is a valid append by itself.
func (t *Transport) encodeAppend(a *raft.AppendEntriesRequest) []*pb.RaftRequest {
	var out []*pb.RaftRequest
	part := &pb.AppendEntries{
		Term: a.Term, PrevIndex: a.PrevLogEntry, PrevTerm: a.PrevLogTerm, Commit: a.LeaderCommitIndex,
	}
	size := 0
	for _, e := range a.Entries {
		s := len(e.Data) + len(e.Extensions)
		if size > 0 && size+s > maxBatch {
			out = append(out, t.appendRequest(a.RPCHeader, part))
			last := part.Entries[len(part.Entries)-1]
			part, size = &pb.AppendEntries{
				Term: a.Term, PrevIndex: last.Index, PrevTerm: last.Term, Commit: a.LeaderCommitIndex,
			}, 0
		}
		size += s
		part.Entries = append(part.Entries, encodeEntry(e))
	}
	return append(out, t.appendRequest(a.RPCHeader, part))
}

func encodeEntry(e *raft.Log) *pb.RaftEntry {
	out := &pb.RaftEntry{Index: e.Index, Term: e.Term, Type: uint32(e.Type), Data: e.Data, Extensions: e.Extensions}
	if !e.AppendedAt.IsZero() {
		out.AppendedAt = e.AppendedAt.UnixNano()
	}
	return out
}

func (t *Transport) encodeVote(a *raft.RequestVoteRequest) *pb.RaftRequest {
	r := t.request(a.RPCHeader)
	r.Kind = &pb.RaftRequest_Vote{Vote: &pb.RequestVote{
		Term: a.Term, LastIndex: a.LastLogIndex, LastTerm: a.LastLogTerm, LeadershipTransfer: a.LeadershipTransfer,
	}}
	return r
}

func (t *Transport) encodePreVote(a *raft.RequestPreVoteRequest) *pb.RaftRequest {
	r := t.request(a.RPCHeader)
	r.Kind = &pb.RaftRequest_PreVote{
		PreVote: &pb.RequestVote{Term: a.Term, LastIndex: a.LastLogIndex, LastTerm: a.LastLogTerm},
	}
	return r
}

func (t *Transport) encodeSnapshot(a *raft.InstallSnapshotRequest) *pb.SnapshotHeader {
	return &pb.SnapshotHeader{
		Group: t.group, RaftVersion: uint32(a.ProtocolVersion), SnapshotVersion: uint32(a.SnapshotVersion),
		Term: a.Term, LastIndex: a.LastLogIndex,
		LastTerm: a.LastLogTerm, Configuration: a.Configuration, ConfigurationIndex: a.ConfigurationIndex, Size: a.Size,
	}
}

// header returns the header by which Raft knows the sender of a message.
func header(version uint32, id raft.ServerID) raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: raft.ProtocolVersion(version), ID: []byte(id), Addr: []byte(id)}
}

func decodeAppended(a *pb.RaftResponse, id raft.ServerID, resp *raft.AppendEntriesResponse) {
	resp.RPCHeader, resp.Term, resp.LastLog, resp.Success, resp.NoRetryBackoff =
		header(a.RaftVersion, id), a.Term, a.LastLog, a.Success, a.NoRetryBackoff
}

// decodeRequest returns a node's request in the type of Raft's library; nil if it is of an unknown
// kind (RN1).
func decodeRequest(r *pb.RaftRequest, from raft.ServerID) any {
	h := header(r.RaftVersion, from)
	switch k := r.Kind.(type) {
	case *pb.RaftRequest_Append:
		return decodeAppend(h, k.Append)
	case *pb.RaftRequest_Vote:
		v := k.Vote
		return &raft.RequestVoteRequest{
			RPCHeader: h, Term: v.GetTerm(), LastLogIndex: v.GetLastIndex(), LastLogTerm: v.GetLastTerm(),
			LeadershipTransfer: v.GetLeadershipTransfer(),
		}
	case *pb.RaftRequest_PreVote:
		v := k.PreVote
		return &raft.RequestPreVoteRequest{
			RPCHeader: h, Term: v.GetTerm(), LastLogIndex: v.GetLastIndex(), LastLogTerm: v.GetLastTerm(),
		}
	case *pb.RaftRequest_TimeoutNow:
		return &raft.TimeoutNowRequest{RPCHeader: h}
	}
	return nil
}

func decodeAppend(h raft.RPCHeader, a *pb.AppendEntries) *raft.AppendEntriesRequest {
	out := &raft.AppendEntriesRequest{
		RPCHeader: h, Term: a.GetTerm(), PrevLogEntry: a.GetPrevIndex(), PrevLogTerm: a.GetPrevTerm(),
		LeaderCommitIndex: a.GetCommit(),
	}
	for _, e := range a.GetEntries() {
		l := &raft.Log{
			Index: e.GetIndex(), Term: e.GetTerm(), Type: raft.LogType(e.GetType()), Data: e.GetData(),
			Extensions: e.GetExtensions(),
		}
		if e.GetAppendedAt() != 0 {
			l.AppendedAt = time.Unix(0, e.GetAppendedAt())
		}
		out.Entries = append(out.Entries, l)
	}
	return out
}

func decodeSnapshot(h *pb.SnapshotHeader, from raft.ServerID) *raft.InstallSnapshotRequest {
	head := header(h.GetRaftVersion(), from)
	return &raft.InstallSnapshotRequest{
		RPCHeader: head, SnapshotVersion: raft.SnapshotVersion(h.GetSnapshotVersion()), Term: h.GetTerm(),
		LastLogIndex: h.GetLastIndex(),
		LastLogTerm:  h.GetLastTerm(), Configuration: h.GetConfiguration(),
		ConfigurationIndex: h.GetConfigurationIndex(), Size: h.GetSize(),
	}
}

// encodeResponse encodes an answer of Raft.
func encodeResponse(id uint64, r raft.RPCResponse) *pb.RaftResponse {
	out := &pb.RaftResponse{Id: id}
	if r.Error != nil {
		out.Error = r.Error.Error()
	}
	switch a := r.Response.(type) {
	case *raft.AppendEntriesResponse:
		out.RaftVersion, out.Term, out.LastLog, out.Success, out.NoRetryBackoff =
			uint32(a.ProtocolVersion), a.Term, a.LastLog, a.Success, a.NoRetryBackoff
	case *raft.RequestVoteResponse:
		out.RaftVersion, out.Term, out.Success = uint32(a.ProtocolVersion), a.Term, a.Granted
	case *raft.RequestPreVoteResponse:
		out.RaftVersion, out.Term, out.Success = uint32(a.ProtocolVersion), a.Term, a.Granted
	case *raft.InstallSnapshotResponse:
		out.RaftVersion, out.Term, out.Success = uint32(a.ProtocolVersion), a.Term, a.Success
	case *raft.TimeoutNowResponse:
		out.RaftVersion = uint32(a.ProtocolVersion)
	}
	return out
}
