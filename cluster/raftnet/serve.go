package raftnet

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/raft"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxInbox is how many requests of a group may wait. A leader has inFlight appends under way, and
// there are few candidates.
const maxInbox = 64

// inbox holds a group's requests until Raft takes them. It has a goroutine while it is not empty.
type inbox struct {
	mu      sync.Mutex
	waiting []letter // guarded by mu
	running bool     // guarded by mu
}

// letter is a request and the destination of its answer.
type letter struct {
	id      uint64
	command any
	out     *outbox
}

// Exchange implements the service: requests of one peer's lane.
func (m *Mux) Exchange(s grpc.BidiStreamingServer[pb.RaftRequests, pb.RaftResponses]) error {
	who, ok := transport.PeerOf(s.Context())
	if !ok {
		return status.Error(codes.PermissionDenied, "Raft is for nodes of the cluster")
	}
	from, out := ServerID(who.Node), &outbox{wake: make(chan struct{}, 1)}
	received := make(chan error, 1)
	go func() { // ends with the stream, which ends when this method returns
		for {
			batch, err := s.Recv()
			if err != nil {
				received <- err
				return
			}
			for _, r := range batch.Requests {
				m.deliver(r, from, out)
			}
		}
	}()
	for {
		select {
		case <-out.wake:
			if batch := out.take(); batch != nil {
				if err := s.Send(batch); err != nil {
					return err
				}
			}
		case err := <-received:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-m.stop:
			return status.Error(codes.Unavailable, "the node is stopping")
		}
	}
}

// deliver passes a request to its group.
func (m *Mux) deliver(r *pb.RaftRequest, from raft.ServerID, out *outbox) {
	t := m.transport(r.Group)
	if t == nil {
		out.put(&pb.RaftResponse{Id: r.Id, Error: fmt.Sprintf("group %d is not here", r.Group)})
		return
	}
	command := decodeRequest(r, from)
	if command == nil {
		out.put(&pb.RaftResponse{Id: r.Id, Error: "request of an unknown kind"})
		return
	}
	l := letter{r.Id, command, out}
	if a, ok := command.(*raft.AppendEntriesRequest); ok && isHeartbeat(a) {
		// The first heartbeat of a term changes Raft's term and goes through Raft's loop. The
		// handler runs outside of the loop: if Raft voted in a later term meanwhile, it would
		// return to the term of the heartbeat (RN5).
		if fn := t.heartbeatHandler(); fn != nil && t.term.Load() == a.Term {
			t.beat(fn, l)
			return
		}
	}
	if !t.post(l) {
		out.put(&pb.RaftResponse{Id: r.Id, Error: fmt.Sprintf("group %d has too many requests waiting", r.Group)})
	}
}

func (t *Transport) heartbeatHandler() func(raft.RPC) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heartbeat
}

func (t *Transport) beat(fn func(raft.RPC), l letter) {
	answer := make(chan raft.RPCResponse, 1)
	fn(raft.RPC{Command: l.command, RespChan: answer})
	select {
	case r := <-answer:
		if a, ok := r.Response.(*raft.AppendEntriesResponse); ok {
			t.term.Store(a.Term)
		}
		l.out.put(encodeResponse(l.id, r))
	case <-t.closed:
	}
}

// post puts a letter into the inbox, and returns false if it is full (RN3).
func (t *Transport) post(l letter) bool {
	b := &t.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) >= maxInbox {
		return false
	}
	b.waiting = append(b.waiting, l)
	if !b.running {
		b.running = true
		go t.work()
	}
	return true
}

// work passes letters to Raft one at a time (RN2).
func (t *Transport) work() {
	b := &t.inbox
	for {
		b.mu.Lock()
		if len(b.waiting) == 0 {
			b.running, b.waiting = false, nil
			b.mu.Unlock()
			return
		}
		l := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.mu.Unlock()
		r, err := t.hand(l.command, nil)
		if err != nil {
			r = raft.RPCResponse{Error: err}
		}
		if a, ok := r.Response.(*raft.AppendEntriesResponse); ok {
			t.term.Store(a.Term)
		}
		l.out.put(encodeResponse(l.id, r))
	}
}

// hand passes a request to Raft and waits for its answer.
func (t *Transport) hand(command any, body io.Reader) (raft.RPCResponse, error) {
	answer := make(chan raft.RPCResponse, 1)
	select {
	case t.consumer <- raft.RPC{Command: command, Reader: body, RespChan: answer}:
	case <-t.closed:
		return raft.RPCResponse{}, raft.ErrTransportShutdown
	}
	select {
	case r := <-answer:
		return r, nil
	case <-t.closed:
		return raft.RPCResponse{}, raft.ErrTransportShutdown
	}
}

// outbox collects answers of one stream while another is being written.
type outbox struct {
	wake chan struct{}
	mu   sync.Mutex
	all  []*pb.RaftResponse // guarded by mu
}

func (o *outbox) put(r *pb.RaftResponse) {
	o.mu.Lock()
	o.all = append(o.all, r)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) take() *pb.RaftResponses {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 {
		return nil
	}
	b := &pb.RaftResponses{Responses: o.all}
	o.all = nil
	return b
}

// InstallSnapshot implements the service.
func (m *Mux) InstallSnapshot(s grpc.ClientStreamingServer[pb.SnapshotPart, pb.RaftResponse]) error {
	who, ok := transport.PeerOf(s.Context())
	if !ok {
		return status.Error(codes.PermissionDenied, "Raft is for nodes of the cluster")
	}
	first, err := s.Recv()
	if err != nil {
		return err
	}
	h := first.Header
	if h == nil || h.Size < 0 {
		return status.Error(codes.InvalidArgument, "snapshot without a header")
	}
	t := m.transport(h.Group)
	if t == nil {
		return s.SendAndClose(&pb.RaftResponse{Error: fmt.Sprintf("group %d is not here", h.Group)})
	}
	body := io.LimitReader(&parts{s: s, rest: first.Data}, h.Size)
	r, err := t.hand(decodeSnapshot(h, ServerID(who.Node)), body)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	return s.SendAndClose(encodeResponse(0, r))
}

// parts reads the data of a snapshot's stream.
type parts struct {
	s    grpc.ClientStreamingServer[pb.SnapshotPart, pb.RaftResponse]
	rest []byte
}

// Read implements io.Reader.
func (p *parts) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		m, err := p.s.Recv()
		if err != nil {
			return 0, err
		}
		p.rest = m.Data
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
