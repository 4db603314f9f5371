package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/catalognet"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/raftnet"
	"github.com/sherddb/sherd/cluster/transport"
)

// port is the node's port for other nodes, with the services on it.
type port struct {
	listener  net.Listener
	transport *transport.Port
	members   *grpc.Server
	joining   *grpc.Server
	mux       *raftnet.Mux
	asks      *catalognet.Net
	served    chan struct{} // closed when the port has closed; nil before it opens
}

// listen listens at the address; it does not accept connections yet.
func (p *port) listen(addr string) (err error) {
	p.listener, err = listen("other nodes", "node-addr", addr)
	return err
}

// build creates the transport, the servers and the Raft transport. It opens nothing.
func (p *port) build(n *Node) {
	p.transport = transport.New(transport.Config{
		Keeper: n.keeper, Listener: p.listener, Version: n.cfg.Knobs.Version,
		Addr: n.addrOf, Dial: n.cfg.Knobs.Dial, Logger: n.cfg.Logger,
		Admit:          n.admit,
		ClusterVersion: n.clusterVersion,
		Known:          func(node uint32) string { addr, _ := n.contacts.Addr(node); return addr },
		KnownAt:        n.suspectDuplicate,
	})
	p.members, p.joining = grpc.NewServer(transport.MemberOptions()...), grpc.NewServer(transport.JoinOptions()...)
	p.mux = raftnet.New(p.transport, p.members, n.cfg.Logger)
	p.asks = catalognet.New(p.transport, p.members)
}

// open starts to serve. All services are registered.
func (p *port) open() {
	p.served = make(chan struct{})
	go func() {
		defer close(p.served)
		p.transport.Serve(p.members, p.joining)
	}()
}

// close stops all traffic. The parts that use the port were closed before.
func (p *port) close() error {
	switch {
	case p.listener == nil:
		return nil
	case p.transport == nil:
		return p.listener.Close()
	}
	p.members.Stop()
	p.joining.Stop()
	err := errors.Join(p.mux.Close(), p.transport.Close())
	if p.served != nil {
		<-p.served
	}
	return err
}

// awaitCatalog waits until this node's catalog is as new as the cluster's. It returns an error if
// other nodes refuse this one, because it was removed or runs another release; otherwise it would
// wait for ever.
func (p *port) awaitCatalog(ctx context.Context, n *Node) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var asking sync.WaitGroup
	defer asking.Wait()
	for _, other := range n.contacts.Nodes() {
		if other == n.dir.NodeID {
			continue
		}
		link, err := p.transport.Link(other, transport.TaskLink)
		if err != nil {
			return err
		}
		asking.Go(func() {
			if refused := refusal(ctx, link); refused != nil {
				stop(fmt.Errorf("the cluster does not let this node in: %w", refused))
				return
			}
			n.tellMoved(ctx, link)
		})
	}
	asking.Go(func() { p.sayWaiting(ctx, n) })
	asking.Go(func() {
		select {
		case duplicate := <-n.removed:
			stop(duplicate)
		case <-ctx.Done():
		}
	})
	err := n.catalog.WaitReady(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	stop(nil)
	return err
}

// refusal connects to another node and returns the reason if that node refuses the connection. It
// returns nil if the connection succeeds or ctx ends.
func refusal(ctx context.Context, link *transport.Link) *transport.Refused {
	for {
		link.Connect()
		state := link.GetState()
		var refused *transport.Refused
		if errors.As(link.Err(), &refused) && refused.Reason != pb.Refusal_BUSY &&
			refused.Reason != pb.Refusal_WRONG_NODE {
			return refused
		}
		if state == connectivity.Ready || !link.WaitForStateChange(ctx, state) {
			return nil
		}
	}
}

// attend keeps what the node knows about others in line with the catalog: their addresses, the
// trusted authorities, removed nodes. It renews the node's certificate when that is due. It ends
// with ctx.
func (n *Node) attend(ctx context.Context) {
	n.background.Go(func() { n.keepRenewed(ctx) })
	n.background.Go(func() { n.keepRotated(ctx) })
	n.background.Go(func() { n.keepUpgraded(ctx) })
	n.background.Add(3)
	go func() {
		defer n.background.Done()
		n.askForIdle(ctx)
	}()
	go func() {
		defer n.background.Done()
		n.deadlocks.Run(ctx)
	}()
	go func() {
		defer n.background.Done()
		gone := map[uint32]bool{}
		n.catalog.Watch(ctx, func(v *catalog.View) error {
			n.note(v, gone)
			return nil
		})
	}()
}

// note applies a view. gone holds the removed and lost nodes whose connections were closed already.
func (n *Node) note(v *catalog.View, gone map[uint32]bool) {
	if err := n.contacts.Follow(v); err != nil {
		n.cfg.Logger.Warn("the addresses of the other nodes were not kept", "error", err)
	}
	if err := n.register.KeepRoots(n.keeper); err != nil {
		n.cfg.Logger.Error("the cluster's authorities were not taken", "error", err)
	}
	n.lost.follow(v)
	for _, id := range append(n.lost.all(), removedNodes(v)...) {
		if !gone[id] && id != n.dir.NodeID {
			gone[id] = true
			n.port.transport.Evict(id)
			n.port.mux.Forget(id)
		}
	}
}

// waitingPause is the interval between log messages while a start waits for the catalog.
const waitingPause = 10 * time.Second

// sayWaiting logs that this node waits for the cluster's definitions, and why, until ctx ends.
func (p *port) sayWaiting(ctx context.Context, n *Node) {
	t := time.NewTicker(waitingPause)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		why := "the nodes answer, and none of them leads the catalog, or its leader has not taken this one in"
		for _, other := range n.contacts.Nodes() {
			if link, err := p.transport.Link(other, transport.TaskLink); other != n.dir.NodeID &&
				err == nil && link.Err() != nil {
				why = fmt.Sprintf("node %d: %s", other, link.Err())
			}
		}
		n.cfg.Logger.Warn("still waiting for the cluster's definitions", "why", why)
	}
}
