package raftnet

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
)

// Transport is one group's raft.Transport.
type Transport struct {
	mux      *Mux
	group    uint64
	consumer chan raft.RPC
	inbox    inbox
	term     atomic.Uint64 // the last one in which Raft has answered an append or heartbeat
	progress progress

	mu        sync.Mutex
	heartbeat func(raft.RPC) // guarded by mu

	once   sync.Once
	closed chan struct{}
}

// Consumer implements raft.Transport.
func (t *Transport) Consumer() <-chan raft.RPC { return t.consumer }

// LocalAddr implements raft.Transport.
func (t *Transport) LocalAddr() raft.ServerAddress {
	return raft.ServerAddress(ServerID(t.mux.port.Self().Node))
}

// EncodePeer implements raft.Transport.
func (t *Transport) EncodePeer(id raft.ServerID, _ raft.ServerAddress) []byte { return []byte(id) }

// DecodePeer implements raft.Transport.
func (t *Transport) DecodePeer(b []byte) raft.ServerAddress { return raft.ServerAddress(b) }

// SetHeartbeatHandler implements raft.Transport.
func (t *Transport) SetHeartbeatHandler(fn func(raft.RPC)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heartbeat = fn
}

// Close ends the group's traffic.
func (t *Transport) Close() error {
	t.once.Do(func() {
		t.mux.remove(t)
		close(t.closed)
	})
	return nil
}

// AppendEntries implements raft.Transport.
func (t *Transport) AppendEntries(
	id raft.ServerID, _ raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse,
) error {
	p, err := t.mux.peer(id)
	if err != nil {
		return err
	}
	l := &p.append
	if isHeartbeat(args) {
		l = &p.control
	}
	for _, r := range t.encodeAppend(args) {
		a, err := l.ask(r, t.closed)
		if a != nil {
			decodeAppended(a, id, resp)
		}
		if err != nil || !resp.Success {
			if err == nil {
				t.progress.appended(id, args, resp)
			}
			return err
		}
	}
	t.progress.appended(id, args, resp)
	return nil
}

// RequestVote implements raft.Transport.
func (t *Transport) RequestVote(
	id raft.ServerID, _ raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse,
) error {
	a, err := t.control(id, t.encodeVote(args))
	if a != nil {
		resp.RPCHeader, resp.Term, resp.Granted = header(a.RaftVersion, id), a.Term, a.Success
	}
	return err
}

// RequestPreVote implements raft.WithPreVote.
func (t *Transport) RequestPreVote(
	id raft.ServerID, _ raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse,
) error {
	a, err := t.control(id, t.encodePreVote(args))
	if a != nil {
		resp.RPCHeader, resp.Term, resp.Granted = header(a.RaftVersion, id), a.Term, a.Success
	}
	return err
}

// TimeoutNow implements raft.Transport.
func (t *Transport) TimeoutNow(
	id raft.ServerID, _ raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse,
) error {
	if id == ServerID(t.mux.port.Self().Node) { // the only voter need not wait for its election
		a, err := t.hand(args, nil)
		return errors.Join(err, a.Error)
	}
	r := t.request(args.RPCHeader)
	r.Kind = &pb.RaftRequest_TimeoutNow{TimeoutNow: &pb.TimeoutNow{}}
	a, err := t.control(id, r)
	if a != nil {
		resp.RPCHeader = header(a.RaftVersion, id)
	}
	return err
}

func (t *Transport) control(id raft.ServerID, r *pb.RaftRequest) (*pb.RaftResponse, error) {
	p, err := t.mux.peer(id)
	if err != nil {
		return nil, err
	}
	return p.control.ask(r, t.closed)
}

const snapshotPart = 256 << 10

// InstallSnapshot implements raft.Transport. It returns when the follower has installed the
// snapshot, the connection is lost, or the group is closed.
func (t *Transport) InstallSnapshot(
	id raft.ServerID, _ raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader,
) error {
	p, err := t.mux.peer(id)
	if err != nil {
		return err
	}
	link, err := t.mux.port.Link(p.node, transport.TaskLink)
	if err != nil {
		return err
	}
	ctx, cancel := contextUntil(p.ctx, t.closed)
	defer cancel()
	s, err := pb.NewRaftClient(link).InstallSnapshot(ctx)
	if err != nil {
		return errors.Join(err, link.Err())
	}
	if err := s.Send(&pb.SnapshotPart{Header: t.encodeSnapshot(args)}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	buf := make([]byte, snapshotPart)
	for left := args.Size; left > 0; {
		n, err := io.ReadFull(data, buf[:min(left, snapshotPart)])
		if err != nil {
			return err
		}
		left -= int64(n)
		if err := s.Send(&pb.SnapshotPart{Data: buf[:n]}); errors.Is(err, io.EOF) {
			break // the follower has ended the stream; its answer has the reason
		} else if err != nil {
			return err
		}
	}
	a, err := s.CloseAndRecv()
	if err != nil {
		return err
	}
	resp.RPCHeader, resp.Term, resp.Success = header(a.RaftVersion, id), a.Term, a.Success
	if a.Error != "" {
		return errors.New(a.Error)
	}
	if a.Success {
		t.progress.note(id, args.Term, args.LastLogIndex)
	}
	return nil
}
