package raftnet

import (
	"fmt"
	"log/slog"
	"strconv"
	"sync"

	"github.com/hashicorp/raft"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/transport"
	"google.golang.org/grpc"
)

// ServerID returns the id by which Raft knows a node.
func ServerID(node uint32) raft.ServerID {
	return raft.ServerID(strconv.FormatUint(uint64(node), 10))
}

// Servers returns voters for the first configuration of a group.
func Servers(nodes ...uint32) []raft.Server {
	out := make([]raft.Server, len(nodes))
	for i, n := range nodes {
		out[i] = raft.Server{Suffrage: raft.Voter, ID: ServerID(n), Address: raft.ServerAddress(ServerID(n))}
	}
	return out
}

// NodeOf returns the node that Raft knows by an id.
func NodeOf(id raft.ServerID) (uint32, error) {
	n, err := strconv.ParseUint(string(id), 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("raft server %q is not a node's number", id)
	}
	return uint32(n), nil
}

// Mux is the Raft side of a node's port. All methods may be called concurrently.
type Mux struct {
	pb.UnimplementedRaftServer
	port *transport.Port
	log  *slog.Logger
	stop chan struct{}

	mu     sync.RWMutex
	closed bool                  // guarded by mu
	groups map[uint64]*Transport // guarded by mu
	peers  map[uint32]*peer      // guarded by mu
	done   sync.WaitGroup
}

// New makes the mux of a port and registers its service with the server of the members.
func New(d *transport.Port, members grpc.ServiceRegistrar, log *slog.Logger) *Mux {
	m := &Mux{port: d, log: log, stop: make(chan struct{}), groups: map[uint64]*Transport{}, peers: map[uint32]*peer{}}
	pb.RegisterRaftServer(members, m)
	return m
}

// Transport returns a group's transport; raftgroup closes it with the group. A group has only one
// at a time.
func (m *Mux) Transport(group uint64) *Transport {
	t := &Transport{mux: m, group: group, consumer: make(chan raft.RPC), closed: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.groups[group] = t
	return t
}

func (m *Mux) transport(group uint64) *Transport {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.groups[group]
}

func (m *Mux) remove(t *Transport) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups[t.group] == t {
		delete(m.groups, t.group)
	}
}

// peer returns the peer for a node.
func (m *Mux) peer(id raft.ServerID) (*peer, error) {
	node, err := NodeOf(id)
	if err != nil {
		return nil, err
	}
	m.mu.RLock()
	p, closed := m.peers[node], m.closed
	m.mu.RUnlock()
	if closed {
		return nil, raft.ErrTransportShutdown
	}
	if p != nil {
		return p, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, raft.ErrTransportShutdown
	}
	if p = m.peers[node]; p == nil {
		p = newPeer(m, node)
		m.peers[node] = p
	}
	return p, nil
}

// Forget stops sending to a node that was removed.
func (m *Mux) Forget(node uint32) {
	m.mu.Lock()
	p := m.peers[node]
	delete(m.peers, node)
	m.mu.Unlock()
	if p != nil {
		p.close()
	}
}

// Close ends all traffic. Groups are closed before.
func (m *Mux) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	peers := m.peers
	m.peers = nil
	m.mu.Unlock()
	close(m.stop)
	for _, p := range peers {
		p.close()
	}
	m.done.Wait()
	return nil
}
