package node

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/member"
	"github.com/sherddb/sherd/cluster/trust"
)

// Unsafe recovery ("sherd node recover") records in the data directory of the surviving node which
// nodes are lost. From its start on, that node refuses them, connects to none of them, and declares
// them lost in the catalog, which keeps that in its log and checkpoints (catalog.NodeLost). After
// that all nodes refuse them.

// lostNodes is the set of nodes that were declared lost, as far as this node knows. All methods may
// be called concurrently.
type lostNodes struct {
	mu    sync.Mutex
	nodes map[uint32]bool // guarded by mu
}

func (l *lostNodes) add(nodes []uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nodes == nil {
		l.nodes = map[uint32]bool{}
	}
	for _, n := range nodes {
		l.nodes[n] = true
	}
}

func (l *lostNodes) has(node uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes[node]
}

func (l *lostNodes) all() []uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.nodes))
}

// follow adds the lost nodes of a view.
func (l *lostNodes) follow(v *catalog.View) {
	var lost []uint32
	for n := range v.Nodes() {
		if n.State == catalog.NodeLost {
			lost = append(lost, n.ID)
		}
	}
	l.add(lost)
}

func removedNodes(v *catalog.View) (out []uint32) {
	for n := range v.RemovedNodes() {
		out = append(out, n.ID)
	}
	return out
}

// admit refuses a node that was removed or declared lost.
func (n *Node) admit(p trust.Peer) error {
	if err := n.register.Admit(p); err != nil || !n.lost.has(p.Node) {
		return err
	}
	return member.LostError("", p.Node) // the catalog does not have it yet
}

// declareLost writes to the catalog which nodes unsafe recovery declared lost. If the catalog has
// no majority, or an upgrade is not final, it continues in the background, and the node serves
// meanwhile.
func (n *Node) declareLost(ctx, background context.Context) error {
	n.lost.follow(n.catalog.View())
	nodes, err := n.dir.LostNodes()
	if err != nil || len(nodes) == 0 {
		return err
	}
	short, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	if err = n.writeLost(short, nodes); err == nil || ctx.Err() != nil {
		return err
	}
	n.cfg.Logger.Warn("the catalog does not say yet which nodes are lost; trying again", "nodes", nodes, "why", err)
	n.background.Go(func() {
		for n.writeLost(background, nodes) != nil {
			select {
			case <-time.After(announcePause):
			case <-background.Done():
				return
			}
		}
	})
	return nil
}

func (n *Node) writeLost(ctx context.Context, nodes []uint32) error {
	if err := n.register.DeclareLost(ctx, nodes); err != nil {
		return err
	}
	return n.dir.ForgetLost()
}
