// Package faultnet is a network between named hosts that fails on command: links are cut in one
// direction or both, delayed, and lose packets. It uses TCP connections over loopback, so the code
// under test runs as it does in production. Faults are those of IP as TCP shows them: a cut link
// holds bytes back and delivers them when it is restored, as retransmission does, and a lost packet
// arrives later.
//
// It is for tests. The packets to lose are drawn from a seed.
package faultnet

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Network has hosts and the links between them. A link that was not mentioned has no faults. All
// methods may be called concurrently.
type Network struct {
	mu     sync.Mutex
	rand   *rand.Rand       // guarded by mu
	links  map[route]*link  // guarded by mu
	conns  map[*pipe]string // guarded by mu
	closed bool             // guarded by mu
	done   sync.WaitGroup   // counted with mu held
}

type route struct{ from, to string }

// link is one direction between two hosts.
type link struct {
	up     chan struct{} // closed while the link delivers
	cut    bool
	delay  time.Duration
	jitter time.Duration
	loss   float64
}

// retransmit is the delay of a lost packet: the least time after which TCP sends it again.
const retransmit = 200 * time.Millisecond

// New makes a network without faults.
func New(seed uint64) *Network {
	return &Network{rand: rand.New(rand.NewPCG(seed, 1)), links: map[route]*link{}, conns: map[*pipe]string{}}
}

// at returns a link; mu is held.
func (n *Network) at(from, to string) *link {
	l := n.links[route{from, to}]
	if l == nil {
		l = &link{up: make(chan struct{})}
		close(l.up)
		n.links[route{from, to}] = l
	}
	return l
}

// Cut stops packets from one host to another. Packets in the other direction pass.
func (n *Network) Cut(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.at(from, to); !l.cut {
		l.cut, l.up = true, make(chan struct{})
	}
}

// Mend undoes Cut.
func (n *Network) Mend(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mend(n.at(from, to))
}

func (n *Network) mend(l *link) {
	if l.cut {
		l.cut = false
		close(l.up)
	}
}

// Partition cuts, in both directions, every link between the hosts of one side and those of the
// other.
func (n *Network) Partition(one, other []string) {
	for _, a := range one {
		for _, b := range other {
			n.Cut(a, b)
			n.Cut(b, a)
		}
	}
}

// Heal mends all links; delays and losses stay.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		n.mend(l)
	}
}

// Slow delays packets from one host to another by d and up to jitter more.
func (n *Network) Slow(from, to string, d, jitter time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.at(from, to)
	l.delay, l.jitter = d, jitter
}

// Lose loses a share of the packets from one host to another.
func (n *Network) Lose(from, to string, share float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.at(from, to).loss = share
}

// Conns returns how many connections one host has open to another.
func (n *Network) Conns(from, to string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for _, r := range n.conns {
		if r == from+">"+to {
			count++
		}
	}
	return count
}

// draw returns the time that one packet takes.
func (n *Network) draw(from, to string) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.at(from, to)
	d := l.delay
	if l.jitter > 0 {
		d += time.Duration(n.rand.Int64N(int64(l.jitter)))
	}
	for range 5 {
		if l.loss == 0 || n.rand.Float64() >= l.loss {
			break
		}
		d += retransmit
	}
	return d
}

// pass waits until the link from one host to another delivers, or stop is closed.
func (n *Network) pass(from, to string, stop <-chan struct{}) bool {
	for {
		n.mu.Lock()
		l := n.at(from, to)
		up, cut := l.up, l.cut
		n.mu.Unlock()
		if !cut {
			return true
		}
		select {
		case <-up:
		case <-stop:
			return false
		}
	}
}

// Dial connects host from to host to, which listens at addr. It needs both directions.
func (n *Network) Dial(ctx context.Context, from, to, addr string) (net.Conn, error) {
	if !n.pass(from, to, ctx.Done()) || !n.pass(to, from, ctx.Done()) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
	}
	var d net.Dialer
	far, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	app, near, err := pair()
	if err != nil {
		far.Close()
		return nil, err
	}
	p := &pipe{net: n, near: near, far: far, stop: make(chan struct{})}
	if !n.keep(p, from+">"+to) {
		return nil, errors.Join(net.ErrClosed, app.Close(), near.Close(), far.Close())
	}
	go p.carry(far, near, from, to)
	go p.carry(near, far, to, from)
	return app, nil
}

// keep counts a connection, unless the network is closed.
func (n *Network) keep(p *pipe, between string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	n.conns[p] = between
	n.done.Add(2)
	return true
}

// Close ends all connections; there are no others afterwards.
func (n *Network) Close() {
	n.mu.Lock()
	n.closed = true
	for p := range n.conns {
		p.close()
	}
	n.mu.Unlock()
	n.done.Wait()
}

// pair makes two ends of a connection.
func pair() (app, near net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	if app, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	if near, err = l.Accept(); err != nil {
		app.Close()
	}
	return app, near, err
}

// pipe is one connection: near is where its application is, far the listener's end.
type pipe struct {
	net       *Network
	near, far net.Conn
	stop      chan struct{}
	once      sync.Once
	mu        sync.Mutex
	ended     int // directions; guarded by mu
}

func (p *pipe) close() {
	p.once.Do(func() {
		close(p.stop)
		p.near.Close()
		p.far.Close()
	})
}

// packet is bytes under way, and when they arrive at best.
type packet struct {
	data []byte
	due  time.Time
}

// window bounds the packets under way in one direction.
const window = 64

// carry moves bytes of one direction.
func (p *pipe) carry(dst, src net.Conn, from, to string) {
	defer p.net.done.Done()
	way := make(chan packet, window)
	p.net.done.Add(1)
	go func() {
		defer p.net.done.Done()
		p.deliver(dst, way, from, to)
	}()
	defer close(way)
	for {
		buf := make([]byte, 16<<10)
		k, err := src.Read(buf)
		if k > 0 {
			select {
			case way <- packet{buf[:k], time.Now().Add(p.net.draw(from, to))}:
			case <-p.stop:
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.close() // a reset reaches both sides
			}
			return
		}
	}
}

// deliver writes packets when their time has come and the link is up, and the end after them.
func (p *pipe) deliver(dst net.Conn, way <-chan packet, from, to string) {
	defer p.end(dst)
	for k := range way {
		if d := time.Until(k.due); d > 0 {
			select {
			case <-time.After(d):
			case <-p.stop:
				return
			}
		}
		if !p.net.pass(from, to, p.stop) {
			return
		}
		if _, err := dst.Write(k.data); err != nil {
			p.close()
			return
		}
	}
	p.net.pass(from, to, p.stop)
}

// end ends a direction; after the second the connection is gone.
func (p *pipe) end(dst net.Conn) {
	if c, ok := dst.(*net.TCPConn); ok {
		c.CloseWrite()
	}
	p.mu.Lock()
	p.ended++
	both := p.ended == 2
	p.mu.Unlock()
	if both {
		p.close()
		p.net.mu.Lock()
		delete(p.net.conns, p)
		p.net.mu.Unlock()
	}
}
