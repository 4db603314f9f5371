package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/cluster/trust"
)

// A copied data directory makes a second process with the same node id and the same votes. The copy
// finds the original at the address where the node was last reached. An original that was down
// meanwhile finds the copy at the address that the catalog has. Only a copy at exactly the same
// address is not detected, but two processes cannot share an address.

// duplicateTimeout is how long the node waits for an answer from its former address. Usually no process
// answers there.
const duplicateTimeout = 3 * time.Second

// refuseDuplicate returns an error if another process answers at an address with this node's identity.
func (n *Node) refuseDuplicate(ctx context.Context, addr string) error {
	if addr == "" || n.isSelf(ctx, addr) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, duplicateTimeout)
	defer cancel()
	c, err := transport.Identify(ctx, addr, n.keeper, n.cfg.Knobs.Version, n.cfg.Knobs.Dial)
	if err != nil {
		return nil
	}
	defer c.Close()
	if c.Peer.Node != n.dir.NodeID || n.port.transport != nil && n.port.transport.Accepted(c) {
		return nil
	}
	return fmt.Errorf("node %d runs already, at %s: the data directory %s, or that one's, is a copy. "+
		"A node has one directory; to have one node more, start it with an "+
		"empty directory and a join token, and if the one at %s is not to be, stop it first",
		n.dir.NodeID, addr, n.dir.Path, addr)
}

// watchDuplicate ends Serve if another process has registered this node's id in the cluster with another
// address. It ends with ctx.
func (n *Node) watchDuplicate(ctx context.Context) {
	before := n.self
	_ = n.catalog.Watch(ctx, func(v *catalog.View) error {
		self := v.Node(n.dir.NodeID)
		if self == nil || self.NodeAddr == before || !n.found.Load() {
			return nil
		}
		if before = self.NodeAddr; before == n.self {
			return nil
		}
		if err := n.refuseDuplicate(ctx, before); err != nil {
			n.end(err)
		}
		return nil
	}) // returns an error only when its context ends
}

// suspectDuplicate records an address at which another node believes this one to be. It does not block.
func (n *Node) suspectDuplicate(addr string) {
	if addr == n.self {
		return
	}
	select {
	case n.suspects <- addr:
	default: // one address is being checked; the next connection reports this one again
	}
}

// findDuplicates ends this node if another process answers with this node's id at an address that
// another node has reported. It ends with ctx.
func (n *Node) findDuplicates(ctx context.Context) {
	for {
		select {
		case addr := <-n.suspects:
			if err := n.refuseDuplicate(ctx, addr); err != nil {
				n.end(err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// end ends Serve, or a start that waits for other nodes.
func (n *Node) end(why error) {
	select {
	case n.removed <- fmt.Errorf("this node ends: %w", why):
	default:
	}
}

// isSelf reports whether this node listens for other nodes at an address.
func (n *Node) isSelf(ctx context.Context, addr string) bool {
	if addr == n.self {
		return true
	}
	listens, ok := n.port.listener.Addr().(*net.TCPAddr)
	host, port, err := net.SplitHostPort(addr)
	if !ok || err != nil || port != fmt.Sprint(listens.Port) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, duplicateTimeout)
	defer cancel()
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return false
	}
	return allSelf(listens.IP, ips)
}

// allSelf reports whether a name with these addresses is an address of this node. One name may
// stand for all nodes of a cluster, this one among them.
func allSelf(listens net.IP, ips []net.IPAddr) bool {
	here := false
	for _, ip := range ips {
		own := isOfThisMachine(ip.IP)
		if !own && !ip.IP.Equal(listens) {
			return false
		}
		here = here || ip.IP.Equal(listens) || own && listens.IsUnspecified()
	}
	return here
}

func isOfThisMachine(ip net.IP) bool {
	if ip.IsLoopback() {
		return true
	}
	addrs, _ := net.InterfaceAddrs() // without addresses nothing is known
	for _, a := range addrs {
		if own, ok := a.(*net.IPNet); ok && own.IP.Equal(ip) {
			return true
		}
	}
	return false
}

// sayElsewhere warns of each address of Join at which another cluster answers: a node with data
// stays in its cluster.
func (n *Node) sayElsewhere(ctx context.Context) {
	for _, addr := range n.cfg.Join {
		c, err := transport.Identify(ctx, addr, n.keeper, n.cfg.Knobs.Version, n.cfg.Knobs.Dial)
		if err == nil {
			c.Close()
			continue
		}
		if errors.Is(err, trust.ErrOtherCluster) {
			n.ignored("join", addr, fmt.Sprintf("this data directory is that of node %d of cluster %s, "+
				"and another cluster answers there", n.dir.NodeID, n.dir.ClusterID),
				"to join that one, start with an empty directory and a join token of it")
		}
	}
}
