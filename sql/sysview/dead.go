package sysview

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
)

// deadAfter is sherd.dead_node_after where nobody has set it.
const deadAfter = 10 * time.Minute

// deadNodes proposes to replace the replicas of nodes that have been silent for sherd.dead_node_after, where that is left to a person.
func deadNodes(b *builder) error {
	k := b.env.View.Cluster()
	if k == nil || k.Settings["sherd.replace_dead_nodes"] != "advise" || b.env.Health == nil {
		return nil
	}
	after := deadAfter
	if n, err := strconv.Atoi(k.Settings["sherd.dead_node_after"]); err == nil {
		after = time.Duration(n) * time.Second
	}
	for _, h := range b.env.Health() {
		n := b.env.View.Node(h.Node)
		if n == nil || n.State != catalog.NodeActive || h.Alive || after == 0 || h.LastSeen.IsZero() {
			continue
		}
		silent, held := time.Since(h.LastSeen), b.env.heldBy(h.Node)
		if silent < after || held == 0 {
			continue
		}
		err := b.row().text("subject", "node "+n.Name).
			text("advice", fmt.Sprintf("replace its %d replicas: it has been silent for %s", held, silent.Round(time.Second))).
			text("remedy", fmt.Sprintf("SELECT sherd.drain_node(%s)", builtin.QuoteLiteral(n.Name))).send()
		if err != nil {
			return err
		}
	}
	return nil
}

// heldBy counts the replicas that a node has.
func (e *Env) heldBy(node uint32) (n int) {
	for d := range e.View.Databases() {
		for _, f := range d.Fragments {
			if slices.Contains(f.Nodes, node) {
				n++
			}
		}
	}
	return n
}
