package transport

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/trust"
)

// The protocols behind TLS, by ALPN.
const (
	nodeProtocol = "sherd-node"
	joinProtocol = "sherd-join"
)

// Conn is a connection after the handshake.
type Conn struct {
	*tls.Conn
	Peer   trust.Peer // zero: a node that joins
	Speaks uint32
	Addr   string // the dialled address; empty if accepted

	knownAt string // where the peer believes that this node can be reached

	onClose func()
	once    sync.Once
}

// Close closes the connection without waiting for a peer that may not read any more.
func (c *Conn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		if c.onClose != nil {
			c.onClose()
		}
		err = c.NetConn().Close()
	})
	return err
}

// greet passes an accepted connection to its server, or refuses it.
func (d *Port) greet(raw net.Conn) {
	if !d.admit(raw) {
		raw.Close()
		d.leave(raw)
	}
}

func (d *Port) admit(raw net.Conn) bool {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	default:
		d.cfg.Logger.Warn("node port: too many connections at once", "from", raw.RemoteAddr())
		return false
	}
	raw.SetDeadline(time.Now().Add(handshakeTime))
	t := tls.Server(raw, d.serverTLS())
	if err := t.Handshake(); err != nil {
		d.cfg.Logger.Debug("node port: no TLS handshake", "from", raw.RemoteAddr(), "error", err)
		return false
	}
	c := &Conn{Conn: t}
	welcome := d.examine(c)
	if welcome.Refusal != nil {
		d.cfg.Logger.Warn("node port: connection refused", "from", raw.RemoteAddr(), "reason", welcome.Refusal.Text)
	}
	if err := writeHandshake(t, welcome); err != nil || welcome.Refusal != nil {
		return false
	}
	raw.SetDeadline(time.Time{})
	c.onClose = func() { d.forget(c, raw) }
	d.mu.Lock()
	if node := c.Peer.Node; node != 0 {
		if d.nodes[node] == nil {
			d.nodes[node] = map[*Conn]bool{}
		}
		d.nodes[node][c] = true
	}
	d.mu.Unlock()
	to := d.joining
	if t.ConnectionState().NegotiatedProtocol == nodeProtocol {
		to = d.members
	}
	if !to.put(c) {
		c.Close()
	}
	return true
}

func (d *Port) forget(c *Conn, raw net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, raw)
	delete(d.nodes[c.Peer.Node], c)
	if len(d.nodes[c.Peer.Node]) == 0 {
		delete(d.nodes, c.Peer.Node)
	}
}

// serverTLS returns the configuration of one handshake, with the present certificate.
func (d *Port) serverTLS() *tls.Config {
	base := tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return d.cfg.Keeper.Certificate(), nil },
	}
	outer := base.Clone()
	outer.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if len(hello.SupportedProtos) != 1 {
			return nil, errors.New("a client that is no node of Sherd's")
		}
		conf := base.Clone()
		switch p := hello.SupportedProtos[0]; p {
		case nodeProtocol:
			conf.ClientAuth = tls.RequireAnyClientCert // examine verifies it, because it can return the reason
			fallthrough
		case joinProtocol:
			conf.NextProtos = []string{p}
			return conf, nil
		default:
			return nil, errors.New("a client that is no node of Sherd's")
		}
	}
	return outer
}

// examine reads the handshake and returns the answer; it sets the peer of c.
func (d *Port) examine(c *Conn) *pb.Welcome {
	refused := func(reason pb.Refusal_Reason, format string, args ...any) *pb.Welcome {
		return &pb.Welcome{Refusal: refusal(reason, format, args...), Release: d.cfg.Version.Release}
	}
	var hello pb.Hello
	if err := readHandshake(c.Conn, &hello); err != nil {
		return refused(pb.Refusal_MALFORMED, "the handshake cannot be read: %s", err)
	}
	self := d.Self()
	state := c.ConnectionState()
	if state.NegotiatedProtocol == nodeProtocol {
		peer, err := d.cfg.Keeper.Roots().Verify(state.PeerCertificates, d.cfg.Keeper.Now())
		if err != nil {
			return refused(reasonOf(err), "this is %s: %s", self, err)
		}
		if d.cfg.Admit != nil {
			if err := d.cfg.Admit(peer); err != nil {
				return refused(pb.Refusal_REMOVED, "%s", err)
			}
		}
		c.Peer = peer
	}
	if hello.ClusterId != self.ClusterID {
		return refused(pb.Refusal_OTHER_CLUSTER, "this is %s, and cluster %s was asked for", self, hello.ClusterId)
	}
	if hello.WantsNode != 0 && hello.WantsNode != self.Node {
		return refused(pb.Refusal_WRONG_NODE, "this is %s, and node %d was asked for", self, hello.WantsNode)
	}
	cluster := d.cfg.ClusterVersion()
	speaks, err := agree(d.cfg.Version, Version{hello.Release, hello.SpeaksFrom, hello.SpeaksTo}, cluster)
	if err != nil {
		return refused(pb.Refusal_VERSION, "%s", err)
	}
	c.Speaks = speaks
	welcome := &pb.Welcome{Speaks: speaks, Release: d.cfg.Version.Release, ClusterVersion: cluster}
	if d.cfg.Known != nil && c.Peer.Node != 0 {
		welcome.KnownAt = d.cfg.Known(c.Peer.Node)
	}
	return welcome
}

func reasonOf(err error) pb.Refusal_Reason {
	switch {
	case errors.Is(err, trust.ErrOtherCluster):
		return pb.Refusal_OTHER_CLUSTER
	case errors.Is(err, trust.ErrExpired):
		return pb.Refusal_EXPIRED
	}
	return pb.Refusal_STRANGER
}

// queue passes greeted connections to a server, as a net.Listener.
type queue struct {
	addr  net.Addr
	conns chan *Conn
	done  chan struct{}
	once  sync.Once
}

func newQueue(addr net.Addr) *queue {
	return &queue{addr: addr, conns: make(chan *Conn), done: make(chan struct{})}
}

func (q *queue) put(c *Conn) bool {
	select {
	case q.conns <- c:
		return true
	case <-q.done:
		return false
	}
}

// Accept implements net.Listener.
func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (q *queue) Close() error {
	q.once.Do(func() { close(q.done) })
	return nil
}

// Addr implements net.Listener.
func (q *queue) Addr() net.Addr { return q.addr }
