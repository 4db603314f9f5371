package admin

import (
	"errors"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

// nodes has the functions that administer the cluster's nodes, which are identified by name.
var nodes = []Function{
	{
		OID: 8030, Signature: "join_token(interval) RETURNS text",
		Call: func(e *Environment, a []types.Datum) (types.Datum, error) { return joinToken(e, a[0], "") },
	},
	{
		OID: 8031, Signature: "join_token(interval, text) RETURNS text", Source: "sherd_join_token_for",
		Call: func(e *Environment, a []types.Datum) (types.Datum, error) { return joinToken(e, a[0], a[1].S) },
	},
	{OID: 8032, Signature: "drain_node(text) RETURNS void", Call: void(drainNode)},
	{OID: 8033, Signature: "resume_node(text) RETURNS void", Call: void(resumeNode)},
	{OID: 8034, Signature: "remove_node(text) RETURNS void", Call: void(removeNode)},
	{OID: 8035, Signature: "finalize_upgrade() RETURNS void", Call: void(finalizeUpgrade)},
	{OID: 8037, Signature: "set_replication_factor(text, int4) RETURNS void", Call: void(setReplicationFactor)},
	{OID: 8038, Signature: "set_replication_factor(text, int4, text) RETURNS void", Call: void(setReplicationFactor)},
	{
		OID: 8039, Signature: "set_replication_factor(database text, n int4, fragment text, nodes text[]) RETURNS void",
		Call: void(setReplicationFactor),
	},
	{OID: 8036, Signature: "rotate_authority() RETURNS void", Call: void(rotateAuthority)},
	{OID: 8086, Signature: "set_node(text, float8) RETURNS void", Call: void(setNode)},
	{OID: 8087, Signature: "set_node(text, float8, int8) RETURNS void", Call: void(setNode)},
}

// nodeNamed finds a node (42704).
func nodeNamed(v *catalog.View, name string) (*catalog.Node, error) {
	if n := v.NodeByName(name); n != nil {
		return n, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, `node "%s" does not exist`, name).WithHint("sherd.nodes lists them.")
}

// nodeName returns the name of a node, or its number if it does not exist any more.
func nodeName(v *catalog.View, id uint32) string {
	if n := v.Node(id); n != nil {
		return n.Name
	}
	return fmt.Sprint(id)
}

// joinToken returns a token with which one new node can join or, if node is set, with which the node of
// that name can replace a lost certificate.
func joinToken(e *Environment, validFor types.Datum, node string) (types.Datum, error) {
	now := types.TimestampOf(time.Now())
	zone := e.Values.Zone
	if zone == nil {
		zone = time.UTC
	}
	end, err := types.TimestampAdd(now, validFor, zone)
	if err != nil {
		return types.Null, err
	}
	if err := e.administrate("join_token"); err != nil {
		return types.Null, err
	}
	if end <= now {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "a join token must hold for some time")
	}
	if e.JoinToken == nil {
		return types.Null, pgerr.Unsupported("nodes cannot join this server")
	}
	number := uint32(0)
	if node != "" {
		n, err := nodeNamed(e.View(), node)
		if err != nil {
			return types.Null, err
		}
		number = n.ID
	}
	token, err := e.JoinToken(e.Context, time.Duration(end-now)*time.Microsecond, number)
	return types.NewText(token), err
}

func rotateAuthority(e *Environment, _ []types.Datum) error {
	if err := e.administrate("rotate_authority"); err != nil {
		return err
	}
	if e.RotateAuthority == nil {
		return pgerr.Unsupported("this server has no certificate authority")
	}
	return e.RotateAuthority(e.Context)
}

// drainNode moves a node's replicas and leaders to other nodes.
func drainNode(e *Environment, a []types.Datum) error {
	if err := e.administrate("drain_node"); err != nil {
		return err
	}
	return e.update(func(v *catalog.View, c *catalog.Change) error {
		n, err := nodeNamed(v, a[0].S)
		switch {
		case err != nil || n.State == catalog.NodeDraining:
			return err
		case n.State == catalog.NodeLost: // its replicas are not counted any more
			return nil
		case !othersHoldFragments(v, n):
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`node "%s" cannot be drained: no other node can hold its fragments`, n.Name).
				WithHint("Add a node first: sherd node token prints how.")
		}
		return setState(e, c, n, catalog.NodeDraining, "draining")
	})
}

// resumeNode ends the draining of a node.
func resumeNode(e *Environment, a []types.Datum) error {
	if err := e.administrate("resume_node"); err != nil {
		return err
	}
	return e.update(func(v *catalog.View, c *catalog.Change) error {
		n, err := nodeNamed(v, a[0].S)
		switch {
		case err != nil || n.State == catalog.NodeActive:
			return err
		case n.State == catalog.NodeLost:
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`node "%s" was declared lost and cannot be resumed`, n.Name).
				WithHint("Use SELECT sherd.remove_node(%s). To use its machine again, start it with an empty data "+
					"directory and a join token.", builtin.QuoteLiteral(n.Name))
		}
		return setState(e, c, n, catalog.NodeActive, "resumed")
	})
}

func setState(e *Environment, c *catalog.Change, n *catalog.Node, state catalog.NodeState, what string) error {
	n = n.Clone()
	n.State = state
	return errors.Join(c.PutNode(n), c.NoteNode(n, what, e.author("")))
}

func othersHoldFragments(v *catalog.View, but *catalog.Node) bool {
	for n := range v.Nodes() {
		if n.ID != but.ID && n.HoldsFragments() {
			return true
		}
	}
	return false
}

// removeNode removes a node without fragments from the cluster.
func removeNode(e *Environment, a []types.Datum) error {
	if err := e.administrate("remove_node"); err != nil {
		return err
	}
	return e.update(func(v *catalog.View, c *catalog.Change) error {
		n, err := nodeNamed(v, a[0].S)
		if err != nil {
			return err
		}
		return errors.Join(c.RemoveNode(n), c.NoteNode(n, "removed", e.author("")))
	})
}

// setReplicationFactor sets the number of replicas of a database's fragments, or of one fragment, which
// may also be limited to some nodes. The number is 0 if a fragment shall have as many as the others.
func setReplicationFactor(e *Environment, a []types.Datum) error {
	fragment, names := "", []string(nil)
	if len(a) > 2 {
		if fragment = a[2].S; fragment == "" {
			return pgerr.New(pgerr.InvalidParameterValue, "a fragment has a name").
				WithHint("sherd.fragments lists them.")
		}
	}
	if len(a) > 3 {
		var err error
		if names, err = textsOf(a[3], "names of nodes"); err != nil {
			return err
		}
	}
	if err := e.administrate("set_replication_factor"); err != nil {
		return err
	}
	return e.update(func(v *catalog.View, c *catalog.Change) error {
		d, n := v.DatabaseByName(a[0].S), int(a[1].N)
		if d == nil {
			return noDatabase(a[0].S)
		}
		if fragment == "" {
			return c.SetFactor(d.OID, n, e.author(""))
		}
		var on []uint32
		for _, name := range names {
			x, err := nodeNamed(v, name)
			if err != nil {
				return err
			}
			on = append(on, x.ID)
		}
		return c.SetFragmentFactor(d.OID, fragment, n, on, e.author(""))
	})
}

// finalizeUpgrade raises the cluster's version to the highest that all nodes know, at most that of this
// program. It cannot be undone.
func finalizeUpgrade(e *Environment, _ []types.Datum) error {
	if err := e.administrate("finalize_upgrade"); err != nil {
		return err
	}
	return e.Catalog.FinalizeUpgrade(e.Context, max(e.Version, 1))
}

// setNode sets the weight of a node and, with a third argument, its limit in bytes.
func setNode(e *Environment, a []types.Datum) error {
	var limit *uint64
	if len(a) > 2 {
		if a[2].N < 0 {
			return pgerr.New(pgerr.InvalidParameterValue, "a node cannot have %d bytes at most", a[2].N).
				WithHint("0 is no limit.")
		}
		n := uint64(a[2].N)
		limit = &n
	}
	if err := e.administrate("set_node"); err != nil {
		return err
	}
	weight := a[1].Float()
	return e.update(func(v *catalog.View, c *catalog.Change) error {
		n, err := nodeNamed(v, a[0].S)
		if err != nil {
			return err
		}
		return c.SetNodeShare(n.ID, &weight, limit, e.author(""))
	})
}
