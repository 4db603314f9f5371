package node

import (
	"fmt"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/scramsecret"
)

// Some settings matter only at the first start of a data directory or of a cluster. To repeat them
// later is not an error, because the command line of a service stays the same. But if such a
// setting was changed, the operator gets a warning that it has no effect.

// sayIgnored warns of settings that have no effect because another value was fixed before. fresh
// reports whether this start created the data directory, founded whether it created the cluster.
func (n *Node) sayIgnored(self *catalog.Node, fresh, founded bool) {
	if !fresh && n.given.Name != "" && n.given.Name != self.Name {
		n.ignored("node-name", n.given.Name, "a node has its name from its first start on, "+
			"and this one is "+self.Name, "")
	}
	if founded {
		return
	}
	if d := n.catalog.View().Database(catalog.PostgresDB); d != nil {
		if f := n.given.Fragments; f != 0 && f != len(d.Fragments) {
			n.ignored("fragments", f, fmt.Sprintf("it is for a new cluster, "+
				"and the database postgres of this one has %d", len(d.Fragments)),
				fmt.Sprintf("ALTER DATABASE postgres FRAGMENTS %d changes it online", f))
		}
		if f := n.given.Replication; f != 0 && f != d.ReplicationFactor {
			n.ignored("replication-factor", f, fmt.Sprintf("it is for a new cluster, "+
				"and the database postgres of this one has %d", d.ReplicationFactor),
				fmt.Sprintf("ALTER DATABASE postgres REPLICATION_FACTOR %d changes it online", f))
		}
	}
	if r := n.catalog.View().Role(catalog.BootstrapRole); n.given.Password != "" &&
		r != nil && !scramsecret.Matches(r.Password, n.given.Password) {
		n.cfg.Logger.Warn("the password given for the superuser does nothing: it is for a new cluster, "+
			"and in this one the role has another, or none",
			"hint", "ALTER ROLE "+r.Name+" PASSWORD '…' changes it")
	}
}

// ignored logs that a setting has no effect, and why.
func (n *Node) ignored(setting string, value any, why, hint string) {
	var more []any
	if hint != "" {
		more = append(more, "hint", hint)
	}
	n.cfg.Logger.Warn(fmt.Sprintf("--%s %v does nothing: %s", setting, value, why), more...)
}
