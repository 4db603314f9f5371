package transport

import (
	"context"
	"crypto/x509"
	"net"

	"github.com/sherddb/sherd/cluster/trust"
)

// Identify connects, as the node of keeper, to the process that listens at an address, to learn
// which node it is: the Peer of the connection. The caller closes the connection. dial is as in
// Config.
func Identify(
	ctx context.Context, addr string, keeper *trust.Keeper, version Version,
	dial func(ctx context.Context, addr string) (net.Conn, error),
) (*Conn, error) {
	k := caller{
		version: version, clusterID: keeper.Self().ClusterID, protocol: nodeProtocol, cert: keeper.Certificate(),
		verify: func(chain []*x509.Certificate) (trust.Peer, error) {
			return keeper.Roots().Verify(chain, keeper.Now())
		},
		dial: dialOrTCP(dial),
	}
	return k.connect(ctx, addr)
}

// Accepted reports whether a connection made here has reached this same port.
func (d *Port) Accepted(c *Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for own := range d.open {
		if own.RemoteAddr().String() == c.LocalAddr().String() {
			return true
		}
	}
	return false
}
