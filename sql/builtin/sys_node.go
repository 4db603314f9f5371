package builtin

import (
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/types"
)

// NodeInfo administers the cluster's nodes, which are identified by name.
type NodeInfo interface {
	// JoinToken returns a token with which one new node can join or, if node is set, with which the
	// node of that name can replace a lost certificate.
	JoinToken(life time.Duration, node string) (string, error)
	// RotateAuthority starts the replacement of the authority of the nodes' certificates.
	RotateAuthority() error
	// DrainNode moves a node's replicas and leaders to other nodes, or undoes that.
	DrainNode(node string, drain bool) error
	// RemoveNode removes a node without fragments from the cluster.
	RemoveNode(node string) error
	// SetReplicationFactor sets the number of replicas of a database's fragments, or of one
	// fragment, which may also be limited to some nodes. n is 0 if a fragment shall have as many as
	// the others.
	SetReplicationFactor(database string, n int, fragment string, nodes []string) error
	// FinalizeUpgrade raises the cluster's version to the highest that all nodes know.
	FinalizeUpgrade() error
}

// sysNode has the functions that administer nodes.
var sysNode = map[string]Func{
	"sherd_join_token":       func(c *Ctx, a []types.Datum) (types.Datum, error) { return joinToken(c, a[0], "") },
	"sherd_join_token_for":   func(c *Ctx, a []types.Datum) (types.Datum, error) { return joinToken(c, a[0], a[1].S) },
	"sherd_drain_node":       onNode(func(n NodeInfo, name string) error { return n.DrainNode(name, true) }),
	"sherd_resume_node":      onNode(func(n NodeInfo, name string) error { return n.DrainNode(name, false) }),
	"sherd_remove_node":      onNode(NodeInfo.RemoveNode),
	"sherd_finalize_upgrade": onCluster(NodeInfo.FinalizeUpgrade),
	"sherd_rotate_authority": onCluster(NodeInfo.RotateAuthority),
	"sherd_set_replication_factor": func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		fragment, nodes := "", []string(nil)
		if len(a) > 2 {
			if fragment = a[2].S; fragment == "" {
				return types.Null, pgerr.New(pgerr.InvalidParameterValue, "a fragment has a name").
					WithHint("sherd.fragments lists them.")
			}
		}
		if len(a) > 3 {
			var ok bool
			if nodes, ok = textElements(a[3]); !ok {
				return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "names of nodes must not be null")
			}
		}
		return types.Datum{K: types.KindVoid}, s.SetReplicationFactor(a[0].S, int(a[1].N), fragment, nodes)
	},
}

func joinToken(c *Ctx, life types.Datum, node string) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	now := types.TimestampOf(time.Now())
	end, err := types.TimestampAdd(now, life, c.zone())
	if err != nil {
		return types.Null, err
	}
	token, err := s.JoinToken(time.Duration(end-now)*time.Microsecond, node)
	return types.NewText(token), err
}

func onNode(do func(NodeInfo, string) error) Func {
	return func(c *Ctx, a []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return types.Datum{K: types.KindVoid}, do(s, a[0].S)
	}
}

func onCluster(do func(NodeInfo) error) Func {
	return func(c *Ctx, _ []types.Datum) (types.Datum, error) {
		s, err := c.session()
		if err != nil {
			return types.Null, err
		}
		return types.Datum{K: types.KindVoid}, do(s)
	}
}
