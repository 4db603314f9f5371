package transport

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/sherddb/sherd/cluster/trust"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
)

// Class is the purpose of a link.
type Class byte

// The classes: each has a TCP connection of its own to a node.
const (
	RaftLink Class = iota // messages of consensus
	TaskLink              // everything else
)

type linkKey struct {
	node  uint32
	class Class
}

// Link is a connection to a node. It is made when a call needs it, and again when it was lost.
type Link struct {
	*grpc.ClientConn
	d    *Port
	node uint32

	mu   sync.Mutex
	last error          // why the last attempt failed; nil it did not; guarded by mu
	open map[*Conn]bool // guarded by mu
}

// Flow-control windows: how many unread bytes a stream, and all streams of a connection, may have
// in flight.
const (
	streamWindow = 1 << 20
	connWindow   = 8 << 20
	// MaxMessage bounds a gRPC message: a Raft entry of raftgroup.MaxEntry bytes and its envelope.
	MaxMessage = 20 << 20
)

// Link returns the link to a node.
func (d *Port) Link(node uint32, class Class) (*Link, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, net.ErrClosed
	}
	key := linkKey{node, class}
	if l := d.links[key]; l != nil {
		return l, nil
	}
	l := &Link{d: d, node: node, open: map[*Conn]bool{}}
	cc, err := grpc.NewClient("passthrough:///node",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.dial(ctx) }),
		grpc.WithTransportCredentials(greeted{}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond,
				Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 3 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second}),
		grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connWindow),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithDisableServiceConfig(), grpc.WithNoProxy(),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, err
	}
	l.ClientConn = cc
	d.links[key] = l
	return l, nil
}

func (l *Link) dial(ctx context.Context) (net.Conn, error) {
	c, err := l.connect(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = err
	if err != nil {
		return nil, err
	}
	if l.d.cfg.KnownAt != nil && c.knownAt != "" {
		l.d.cfg.KnownAt(c.knownAt)
	}
	l.open[c] = true
	c.onClose = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, c)
	}
	return c, nil
}

func (l *Link) connect(ctx context.Context) (*Conn, error) {
	if l.d.cfg.Addr == nil {
		return nil, errors.New("no addresses of nodes are known")
	}
	addr, err := l.d.cfg.Addr(l.node)
	if err != nil {
		return nil, err
	}
	keeper := l.d.cfg.Keeper
	k := caller{
		version: l.d.cfg.Version, clusterID: keeper.Self().ClusterID,
		protocol: nodeProtocol, cert: keeper.Certificate(), wants: l.node,
		verify: func(chain []*x509.Certificate) (trust.Peer, error) {
			return keeper.Roots().Verify(chain, keeper.Now())
		},
		dial: l.d.cfg.Dial,
	}
	return k.connect(ctx, addr)
}

// Err returns why the last attempt to connect failed; nil if it did not.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Reset drops the present connection, because its peer does not answer. The next call makes a new
// one.
func (l *Link) Reset() {
	l.mu.Lock()
	gone := make([]*Conn, 0, len(l.open))
	for c := range l.open {
		gone = append(gone, c)
	}
	l.mu.Unlock()
	for _, c := range gone {
		c.Close()
	}
	l.ResetConnectBackoff()
}
