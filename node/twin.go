package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/door"
	"github.com/sherddb/sherd/cluster/trust"
)

// A data directory that was copied makes a second process that is the same node, with the same number and the same votes. The copy finds the original where
// the node was last reached; an original that was down meanwhile finds the copy where the catalog says the node is now. What cannot be found in these ways is
// a copy at the very same address, which cannot be reached by two.

// twinPatience bounds the wait for an answer from where this node was before: mostly nothing
// answers there.
const twinPatience = 3 * time.Second

// refuseTwin refuses to go on where another process answers at an address as this node.
func (n *Node) refuseTwin(ctx context.Context, addr string) error {
	if addr == "" || n.isSelf(ctx, addr) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, twinPatience)
	defer cancel()
	c, err := door.Who(ctx, addr, n.keeper, n.cfg.Knobs.Version, n.cfg.Knobs.Dial)
	if err != nil {
		return nil
	}
	defer c.Close()
	if c.Peer.Node != n.dir.NodeID || n.port.door != nil && n.port.door.Accepted(c) {
		return nil
	}
	return fmt.Errorf("node %d runs already, at %s: the data directory %s, or that one's, is a copy. A node has one directory; to have one node more, start it with an "+
		"empty directory and a join token, and if the one at %s is not to be, stop it first", n.dir.NodeID, addr, n.dir.Path, addr)
}

// watchTwin ends Serve when another process has told the cluster that it is this node. It ends with ctx.
func (n *Node) watchTwin(ctx context.Context) {
	before := n.self
	_ = n.catalog.Watch(ctx, func(v *catalog.View) error {
		self := v.Node(n.dir.NodeID)
		if self == nil || self.NodeAddr == before || !n.found.Load() {
			return nil
		}
		if before = self.NodeAddr; before == n.self {
			return nil
		}
		if err := n.refuseTwin(ctx, before); err != nil {
			n.end(err)
		}
		return nil
	}) // it ends with its context
}

// suspectTwin notes an address where another node knows this one to be reached. It does not block.
func (n *Node) suspectTwin(addr string) {
	if addr == n.self {
		return
	}
	select {
	case n.suspects <- addr:
	default: // one is being looked at, and the next connection says it again
	}
}

// findTwins ends this node if another process answers where others know this one to be. It ends with ctx.
func (n *Node) findTwins(ctx context.Context) {
	for {
		select {
		case addr := <-n.suspects:
			if err := n.refuseTwin(ctx, addr); err != nil {
				n.end(err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// end ends Serve, or a start that waits for others.
func (n *Node) end(why error) {
	select {
	case n.removed <- fmt.Errorf("this node ends: %w", why):
	default:
	}
}

// isSelf reports whether an address is where this node listens for others.
func (n *Node) isSelf(ctx context.Context, addr string) bool {
	if addr == n.self {
		return true
	}
	listens, ok := n.port.listener.Addr().(*net.TCPAddr)
	host, port, err := net.SplitHostPort(addr)
	if !ok || err != nil || port != fmt.Sprint(listens.Port) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, twinPatience)
	defer cancel()
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return false
	}
	return allSelf(listens.IP, ips)
}

// allSelf reports whether a name with these addresses is where this node listens. One name may
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
	addrs, _ := net.InterfaceAddrs() // without them nothing is known
	for _, a := range addrs {
		if own, ok := a.(*net.IPNet); ok && own.IP.Equal(ip) {
			return true
		}
	}
	return false
}

// sayElsewhere says of each address of Join that it is of another cluster: a node that has data is of the one it was.
func (n *Node) sayElsewhere(ctx context.Context) {
	for _, addr := range n.cfg.Join {
		c, err := door.Who(ctx, addr, n.keeper, n.cfg.Knobs.Version, n.cfg.Knobs.Dial)
		if err == nil {
			c.Close()
			continue
		}
		if errors.Is(err, trust.ErrOtherCluster) {
			n.ignored("join", addr, fmt.Sprintf("this data directory is that of node %d of cluster %s, and another cluster answers there", n.dir.NodeID, n.dir.ClusterID),
				"to join that one, start with an empty directory and a join token of it")
		}
	}
}
