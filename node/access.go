package node

import (
	"context"
	"net"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/trust"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/txn"
)

// Number is the node's number in the cluster.
func (n *Node) Number() uint32 { return n.dir.NodeID }

// Catalog is the node's replica of the cluster's definitions.
func (n *Node) Catalog() *catalog.Catalog { return n.catalog }

// Store returns the part of the node that is below SQL.
func (n *Node) Store() *store.Store { return n.store }

// Clock is the node's.
func (n *Node) Clock() *txn.Clock { return n.clock }

// NodeAddr returns the address at which the node listens for other nodes.
func (n *Node) NodeAddr() string { return n.port.listener.Addr().String() }

// NewToken makes a token that admits a new node, or the node with this number if it has lost its
// certificate.
func (n *Node) NewToken(ctx context.Context, life time.Duration, node uint32) (trust.Token, error) {
	return n.register.NewToken(ctx, life, node)
}

// SQLAddr returns the address at which the node listens for clients.
func (n *Node) SQLAddr() string { return n.listener.Addr().String() }

// Certificates returns the node's certificate and the authorities that it trusts.
func (n *Node) Certificates() *trust.Keeper { return n.keeper }

// facts returns the parameters that depend on how the node was started; tls reports whether it
// offers TLS to clients.
func (n *Node) facts(tls bool) map[string]string {
	host, port, err := net.SplitHostPort(n.SQLAddr())
	if err != nil {
		return nil
	}
	ssl := "off"
	if tls {
		ssl = "on"
	}
	return map[string]string{"port": port, "listen_addresses": host, "ssl": ssl}
}
