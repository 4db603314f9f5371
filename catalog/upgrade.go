package catalog

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
)

// FinalizeUpgrade raises the version of the cluster (V4). It returns 55000 if a node runs a release
// that does not know that version.
func (c *Catalog) FinalizeUpgrade(ctx context.Context, to uint32) error {
	_, err := c.Update(ctx, func(v *View, ch *Change) error {
		if k := v.Cluster(); k != nil && k.Format >= to {
			return nil
		}
		if n := v.behind(to); n != nil {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`the upgrade to version %d cannot be finalized: node "%s" knows version %d only`, to, n.Name, max(
					n.Speaks, 1)).
				WithDetail("It last started with %s.", releaseOf(n)).
				WithHint("Start it with the new release, or remove it if it is lost for good.")
		}
		return ch.RaiseFormat(to)
	})
	return err
}

// CanRaise reports whether the version of the cluster is lower than to and all nodes know to.
func (v *View) CanRaise(to uint32) bool {
	k := v.Cluster()
	return k != nil && k.Format < to && v.behind(to) == nil
}

// behind returns a node that does not know a version, nil if all do. A node whose version is
// unknown is assumed to know only the first one.
func (v *View) behind(to uint32) *Node {
	for n := range v.Nodes() {
		if max(n.Speaks, 1) < to {
			return n
		}
	}
	return nil
}

func releaseOf(n *Node) string {
	if n.Release == "" {
		return "an unknown release"
	}
	return "Sherd " + n.Release
}
