package member

import (
	"context"
	"errors"
	"fmt"

	"github.com/sherddb/sherd/catalog"
)

// LostError returns the error with which a node that unsafe recovery declared lost is refused. name
// may be empty.
func LostError(name string, number uint32) error {
	who := fmt.Sprintf("node %d", number)
	if name != "" {
		who = fmt.Sprintf("node %s (number %d)", name, number)
	}
	return fmt.Errorf("%s was declared lost by \"sherd node recover\", and the cluster went on without its data; "+
		"to use the machine again, wipe the "+
		"data directory and start it with a join token: it joins as a new node", who)
}

// DeclareLost notes in the catalog that unsafe recovery continued without some nodes. Nodes that
// are removed or unknown stay as they are.
func (r *Register) DeclareLost(ctx context.Context, nodes []uint32) error {
	_, err := r.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		for _, id := range nodes {
			n := v.Node(id)
			if n == nil || n.State == catalog.NodeLost {
				continue
			}
			author := catalog.Author{Who: "sherd", Why: "sherd node recover", Micros: r.Now().UnixMicro()}
			if err := errors.Join(ch.DeclareLost(n), ch.NoteNode(n, "declared lost", author)); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
