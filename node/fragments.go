package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/cluster/advisory"
	"github.com/sherddb/sherd/cluster/deadlock"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/tablelock"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/fragment/placement"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/rebalance"
	"github.com/sherddb/sherd/shardmap/balance"
	"github.com/sherddb/sherd/sql/distexec"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/monitor/activity"
	"github.com/sherddb/sherd/sql/notify/relay"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/taskserver"
	"github.com/sherddb/sherd/sql/verify/running"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/rowcache"
	"github.com/sherddb/sherd/txn"
)

const (
	idleBuffer = 30 * time.Second // after which a gateway is asked whether its transaction is over
	idleLock   = 5 * time.Second
	idleTick   = 10 * time.Second
)

// buildFragments builds the parts that serve fragments to local sessions and to other nodes. It
// opens nothing.
func (n *Node) buildFragments() {
	n.clock = txn.NewClock(n.cfg.Knobs.Now, maxClockAhead)
	n.store = store.New(store.Config{
		Dir: n.dir.Join("fragments"), LogDir: n.dir.Join("log"),
		Node: n.dir.NodeID, Catalog: n.catalog, Clock: n.clock, Logger: n.cfg.Logger,
		Port: n.port.transport, Transport: func(group uint64) raft.Transport { return n.port.mux.Transport(group) },
		LogFailed: func(err error) { n.end(fmt.Errorf("its log device has failed: %w", err)) },
		Heat:      n.heat, KeyText: sysview.SegmentText, Schema: table.Schema(),
		AtMove: n.cfg.Knobs.AtMove, RebalanceLook: n.cfg.Knobs.RebalanceLook,
		Storage: storage.Config{
			Rows:   rowcache.New(n.cfg.RowCache),
			Group:  storage.GroupConfig{Election: n.cfg.Knobs.Election},
			Timing: storage.Timing{VersionsKept: n.cfg.Knobs.VersionsKept},
			Knobs:  storage.Knobs{Fault: n.cfg.Knobs.AtStep},
		},
	})
	n.tasks = taskserver.New(taskserver.Config{
		Gateway: distexec.New(distexec.Config{
			Node: n.dir.NodeID, Catalog: n.catalog, Client: n.store.Client, Here: n.store.Fragments,
			Nodes: n.store.Nodes,
		}),
		Fragments: n.store.Fragments, Deadlocks: n.store.Deadlocks, Catalog: n.catalog,
		Clock: n.clock, Logger: n.cfg.Logger, TempDir: n.dir.Join("temp"),
	})
	n.locks = tablelock.New(tablelock.Config{
		Self: n.dir.NodeID, Incarnation: n.store.Liveness.Incarnation(),
		Catalog: n.catalog, Port: n.port.transport, Liveness: n.store.Liveness, Nodes: n.members,
		Logger: n.cfg.Logger, NodeTimeout: n.cfg.Knobs.LockNodeTimeout,
	}, n.port.members)
	n.advisory = advisory.New(advisory.Config{
		Self: n.dir.NodeID, Incarnation: n.store.Liveness.Incarnation(), Catalog: n.catalog, Port: n.port.transport,
		Nodes: n.members, Detector: n.store.Deadlocks, Logger: n.cfg.Logger, Leader: n.store.Client.LeaderOf,
		Confirm: n.store.Replicas.ConfirmTerm, Incarnations: n.incarnation,
	}, n.port.members)
	n.store.Liveness.OnLost(n.locks.DropGateway)
	n.store.Register(n.port.members)
	pb.RegisterTasksServer(n.port.members, n.tasks)
	n.deadlocks = deadlock.New(deadlock.Config{
		Self: n.dir.NodeID, Waits: n.store.Deadlocks, Port: n.port.transport, Nodes: n.others, Logger: n.cfg.Logger,
	}, n.port.members)
	n.notices = relay.New(relay.Config{Self: n.dir.NodeID, Port: n.port.transport, Nodes: n.members}, n.port.members)
	n.activity = activity.New(activity.Config{
		Self: n.dir.NodeID, Port: n.port.transport, Nodes: n.members,
		Silent: n.store.Liveness.Silent, Gone: n.store.Liveness.Forgotten, Name: n.nameOf,
		Exists: func(node uint32) bool { return n.catalog.View().Node(node) != nil },
	}, n.port.members)
}

// fragments is what sessions use of the fragments of the cluster.
type fragments struct {
	*distexec.Gateway
	*rebalance.Rebalancer
	*running.Checker
	*fragment.Replicas
	*placement.Placer
}

func fragmentsOf(n *Node) fragments {
	return fragments{n.tasks.Gateway(), n.store.Rebalancer, running.New(running.Config{
		Node: n.dir.NodeID, Catalog: n.catalog, Client: n.store.Client, Here: n.store.Fragments,
		Peers: n.store.Liveness, Other: func(node uint32) (kv.Sender, error) { return n.store.Nodes.Node(node) },
	}), n.store.Replicas, n.store.Placer}
}

// health returns what is known about the other nodes, for system views.
func (n *Node) health() []sysview.Health {
	var out []sysview.Health
	for _, h := range n.store.Liveness.Health() {
		out = append(out, sysview.Health{Node: h.Node, Alive: h.Alive,
			LastSeen: h.LastSeen, Ahead: h.Offset, RTT: h.RTT})
	}
	return out
}

// others returns the other nodes except those that had time to answer a heartbeat and did not. A
// node that had no time yet is included, because it may have sessions.
func (n *Node) others() []uint32 {
	p := n.store.Liveness
	return slices.DeleteFunc(n.members(), func(x uint32) bool { return x == n.dir.NodeID || p.Silent(x) })
}

// incarnation returns the number of a node's present process, 0 if it is unknown.
func (n *Node) incarnation(node uint32) uint64 {
	for _, h := range n.store.Liveness.Health() {
		if h.Node == node {
			return h.Incarnation
		}
	}
	return 0
}

// nameOf returns the name of a node for messages.
func (n *Node) nameOf(node uint32) string {
	if x := n.catalog.View().Node(node); x != nil {
		return x.Name
	}
	return fmt.Sprintf("number %d", node)
}

// askForIdle asks other nodes about their transactions that still have locks or buffered writes
// here and seem to be over. It ends with ctx.
func (n *Node) askForIdle(ctx context.Context) {
	t := time.NewTicker(idleTick)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			n.locks.AskForIdle(ctx, idleLock)
			for node, ids := range n.store.Fragments.Idle(idleBuffer) {
				n.store.Liveness.AskAlive(node, ids)
			}
		case <-ctx.Done():
			return
		}
	}
}

// heat returns how often all fragments are used, for the balancer. Nodes that do not answer are left
// out.
func (n *Node) heat(ctx context.Context) []balance.Heat {
	all := n.tasks.Gateway().ListHeat()
	reports, _ := n.activity.Reports(ctx, monitor.WantHeat)
	for _, r := range reports {
		all = append(all, r.Heat...)
	}
	return distexec.BucketHeat(all)
}
