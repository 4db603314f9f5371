package transport

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/sherddb/sherd/cluster/trust"
	"google.golang.org/grpc"
)

// Config says how a port is made. Keeper, Listener and Version are required.
type Config struct {
	Keeper   *trust.Keeper
	Listener net.Listener
	Version  Version
	// ClusterVersion returns the version of the formats that the cluster writes; nil: the newest
	// that this node speaks. 0 means not known yet, as for a node that has just joined: then the
	// two nodes speak the oldest version that both know, which the cluster has certainly reached,
	// and the version is not reported.
	ClusterVersion func() uint32
	// Admit, if set, refuses a verified node of the cluster, with the reason: it was removed, or
	// declared lost.
	Admit func(trust.Peer) error
	// Addr returns the address of a node.
	Addr func(node uint32) (string, error)
	// Known returns the address at which this node reaches a connecting node; "" if it knows none.
	// The connecting node gets it with the handshake. nil: it gets none.
	Known func(node uint32) string
	// KnownAt is called with the addresses that other nodes report in that way, when a link to them
	// is made. It does not block.
	KnownAt func(addr string)
	// Dial makes the connections of links; nil means TCP.
	Dial   func(ctx context.Context, addr string) (net.Conn, error)
	Logger *slog.Logger // default slog.Default()
}

// Port is a node's port (its transport). All methods may be called concurrently.
type Port struct {
	cfg     Config
	members *queue
	joining *queue
	slots   chan struct{} // handshakes in progress

	mu     sync.Mutex
	closed bool                      // guarded by mu
	open   map[net.Conn]struct{}     // accepted, from the first byte on; guarded by mu
	nodes  map[uint32]map[*Conn]bool // greeted, by node; guarded by mu
	links  map[linkKey]*Link         // guarded by mu

	done sync.WaitGroup
}

const (
	handshakeTime = 10 * time.Second
	maxHandshakes = 128
)

// New creates a Port; Serve opens it.
func New(cfg Config) *Port {
	cfg.Dial = dialOrTCP(cfg.Dial)
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.ClusterVersion == nil {
		cfg.ClusterVersion = func() uint32 { return cfg.Version.To }
	}
	return &Port{
		cfg: cfg, members: newQueue(cfg.Listener.Addr()), joining: newQueue(cfg.Listener.Addr()),
		slots: make(chan struct{}, maxHandshakes),
		open:  map[net.Conn]struct{}{}, nodes: map[uint32]map[*Conn]bool{}, links: map[linkKey]*Link{},
	}
}

// Self is the node whose port it is.
func (d *Port) Self() trust.Peer { return d.cfg.Keeper.Self() }

// Serve accepts connections until the port is closed. One server serves the members, the other the
// nodes that join; nil refuses them.
// The servers are made with MemberOptions and JoinOptions.
func (d *Port) Serve(members, joining *grpc.Server) error {
	for _, s := range []struct {
		server *grpc.Server
		conns  *queue
	}{{members, d.members}, {joining, d.joining}} {
		if s.server == nil {
			s.conns.Close()
			continue
		}
		if !d.spawn(func() {
			if err := s.server.Serve(s.conns); err != nil &&
				!errors.Is(err, grpc.ErrServerStopped) && !errors.Is(err, net.ErrClosed) {
				d.cfg.Logger.Error("node port: server ended", "error", err)
			}
		}) {
			return nil
		}
	}
	for delay := time.Duration(0); ; {
		c, err := d.cfg.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil { // no file descriptors, mostly: they come back
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			d.cfg.Logger.Warn("node port: cannot accept a connection", "error", err)
			time.Sleep(delay)
			continue
		}
		delay = 0
		if !d.enter(c) {
			c.Close()
			continue
		}
		if !d.spawn(func() { d.greet(c) }) {
			c.Close()
		}
	}
}

// spawn runs f in a goroutine that Close waits for. After the port was closed it returns false and
// does not run f.
func (d *Port) spawn(f func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.done.Go(f)
	return true
}

// enter notes an accepted connection.
func (d *Port) enter(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.open[c] = struct{}{}
	return true
}

func (d *Port) leave(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, c)
}

// Evict ends all connections with a node that was removed. Admit keeps it out.
func (d *Port) Evict(node uint32) {
	d.mu.Lock()
	var gone []interface{ Close() error }
	for c := range d.nodes[node] {
		gone = append(gone, c)
	}
	for k, l := range d.links {
		if k.node == node {
			gone = append(gone, l)
			delete(d.links, k)
		}
	}
	d.mu.Unlock()
	for _, c := range gone {
		c.Close()
	}
}

// Close closes the port, all connections and all links. Their owner has stopped the servers before.
func (d *Port) Close() error {
	d.mu.Lock()
	d.closed = true
	var gone []interface{ Close() error }
	for c := range d.open {
		gone = append(gone, c)
	}
	for _, l := range d.links {
		gone = append(gone, l)
	}
	d.links = map[linkKey]*Link{}
	d.mu.Unlock()
	err := d.cfg.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	d.members.Close()
	d.joining.Close()
	for _, c := range gone {
		c.Close() // of connections: that it was closed before is no failure
	}
	d.done.Wait()
	return err
}
