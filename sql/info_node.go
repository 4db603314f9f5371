package sql

import (
	"errors"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/sysview"
)

// administrate refuses who may not administrate the cluster's nodes.
func (i info) administrate(function string) error {
	if me := i.view().Role(i.role); me == nil || !me.Superuser {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function %s", function).
			WithHint("Only superusers may administrate the cluster's nodes.")
	}
	if i.ctx == nil {
		return pgerr.Unsupported("sherd.%s() cannot run here", function)
	}
	return i.mayWrite(function)
}

// nodeNamed finds a node (42704).
func nodeNamed(v *catalog.View, name string) (*catalog.Node, error) {
	if n := v.NodeByName(name); n != nil {
		return n, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, `node "%s" does not exist`, name).WithHint("sherd.nodes lists them.")
}

// JoinToken implements builtin.NodeInfo.
func (i info) JoinToken(life time.Duration, node string) (string, error) {
	if err := i.administrate("join_token"); err != nil {
		return "", err
	}
	if life <= 0 {
		return "", pgerr.New(pgerr.InvalidParameterValue, "a join token must hold for some time")
	}
	if i.db.cfg.JoinToken == nil {
		return "", pgerr.Unsupported("nodes cannot join this server")
	}
	number := uint32(0)
	if node != "" {
		n, err := nodeNamed(i.view(), node)
		if err != nil {
			return "", err
		}
		number = n.ID
	}
	return i.db.cfg.JoinToken(i.ctx, life, number)
}

// RotateAuthority implements builtin.NodeInfo.
func (i info) RotateAuthority() error {
	if err := i.administrate("rotate_authority"); err != nil {
		return err
	}
	if i.db.cfg.RotateAuthority == nil {
		return pgerr.Unsupported("this server has no certificate authority")
	}
	return i.db.cfg.RotateAuthority(i.ctx)
}

// authorities lists the authorities of the nodes' certificates.
func (s *Session) authorities() ([]sysview.Authority, error) {
	if s.db.cfg.Authorities == nil {
		return nil, nil
	}
	return s.db.cfg.Authorities(s.running)
}

// DrainNode implements builtin.NodeInfo.
func (i info) DrainNode(name string, drain bool) error {
	function, state, change := "resume_node", catalog.NodeActive, "resumed"
	if drain {
		function, state, change = "drain_node", catalog.NodeDraining, "draining"
	}
	if err := i.administrate(function); err != nil {
		return err
	}
	_, err := i.db.cfg.Catalog.Update(i.ctx, func(v *catalog.View, ch *catalog.Change) error {
		n, err := nodeNamed(v, name)
		switch {
		case err != nil || n.State == state:
			return err
		case n.State == catalog.NodeLost && drain: // its replicas are given up already
			return nil
		case n.State == catalog.NodeLost:
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `node "%s" was declared lost and cannot be resumed`, name).
				WithHint("Use SELECT sherd.remove_node(%s). To use its machine again, start it with an empty data directory and a join token.", builtin.QuoteLiteral(name))
		}
		if drain && !othersHoldFragments(v, n) {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `node "%s" cannot be drained: no other node can hold its fragments`, name).
				WithHint("Add a node first: sherd node token prints how.")
		}
		n = n.Clone()
		n.State = state
		return errors.Join(ch.PutNode(n), ch.NoteNode(n, change, i.author("")))
	})
	return err
}

func othersHoldFragments(v *catalog.View, but *catalog.Node) bool {
	for n := range v.Nodes() {
		if n.ID != but.ID && n.HoldsFragments() {
			return true
		}
	}
	return false
}

// RemoveNode implements builtin.NodeInfo.
func (i info) RemoveNode(name string) error {
	if err := i.administrate("remove_node"); err != nil {
		return err
	}
	_, err := i.db.cfg.Catalog.Update(i.ctx, func(v *catalog.View, ch *catalog.Change) error {
		n, err := nodeNamed(v, name)
		if err != nil {
			return err
		}
		return errors.Join(ch.RemoveNode(n), ch.NoteNode(n, "removed", i.author("")))
	})
	return err
}

// SetReplicationFactor implements builtin.NodeInfo.
func (i info) SetReplicationFactor(database string, n int, fragment string, nodes []string) error {
	if err := i.administrate("set_replication_factor"); err != nil {
		return err
	}
	_, err := i.db.cfg.Catalog.Update(i.ctx, func(v *catalog.View, ch *catalog.Change) error {
		d := v.DatabaseByName(database)
		if d == nil {
			return pgerr.New(pgerr.InvalidCatalogName, `database "%s" does not exist`, database)
		}
		if fragment == "" {
			return ch.SetFactor(d.OID, n, i.author(""))
		}
		var on []uint32
		for _, name := range nodes {
			x, err := nodeNamed(v, name)
			if err != nil {
				return err
			}
			on = append(on, x.ID)
		}
		return ch.SetFragmentFactor(d.OID, fragment, n, on, i.author(""))
	})
	return err
}

// FinalizeUpgrade implements builtin.NodeInfo. The version is that of the program that serves the session; there is no way back from it.
func (i info) FinalizeUpgrade() error {
	if err := i.administrate("finalize_upgrade"); err != nil {
		return err
	}
	return i.db.cfg.Catalog.FinalizeUpgrade(i.ctx, max(i.db.cfg.Speaks, 1))
}
