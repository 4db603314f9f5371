package node

import (
	"context"
	"time"
)

// upgradeLook is the interval between checks whether an upgrade can be finalized. It must be
// possible at two checks in a row.
const upgradeLook = time.Minute

// keepUpgraded finalizes an upgrade (V4) once all nodes run this release and answer, unless
// sherd.auto_finalize_upgrade is off. The node that leads the catalog does it, and also creates new
// predefined roles. It ends with ctx.
func (n *Node) keepUpgraded(ctx context.Context) {
	t := time.NewTicker(n.cfg.Knobs.UpgradeLook)
	defer t.Stop()
	before := false
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		n.addPredefinedRoles(ctx)
		now := n.canUpgrade()
		if now && before {
			n.upgrade(ctx)
			now = false
		}
		before = now
	}
}

// addPredefinedRoles creates the roles that an older release did not have. Older releases treat
// them as ordinary roles, so this need not wait for the end of the upgrade.
func (n *Node) addPredefinedRoles(ctx context.Context) {
	if !n.catalog.Leads() {
		return
	}
	if err := n.catalog.AddPredefinedRoles(ctx); err != nil {
		n.cfg.Logger.Warn("predefined roles were not made", "error", err)
	}
}

func (n *Node) canUpgrade() bool {
	v := n.catalog.View()
	if !n.catalog.Leads() || !v.CanRaise(n.cfg.Knobs.Version.To) ||
		v.Cluster().Settings["sherd.auto_finalize_upgrade"] == "off" {
		return false
	}
	for _, other := range n.members() {
		if other != n.dir.NodeID && !n.store.Liveness.Alive(other) {
			return false
		}
	}
	return true
}

func (n *Node) upgrade(ctx context.Context) {
	if err := n.catalog.FinalizeUpgrade(ctx, n.cfg.Knobs.Version.To); err != nil {
		n.cfg.Logger.Warn("the upgrade was not finalized", "version", n.cfg.Knobs.Version.To, "error", err)
		return
	}
	n.cfg.Logger.Info(
		"the upgrade is final: all nodes run the new release",
		"release", n.cfg.Knobs.Version.Release, "version", n.cfg.Knobs.Version.To,
	)
}
