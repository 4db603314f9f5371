package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
)

// MaxReplicationFactor bounds the replicas of a fragment.
const MaxReplicationFactor = 15

// CheckFactor refuses a number of replicas that no fragment can have.
func CheckFactor(n int) error {
	if n < 1 || n > MaxReplicationFactor {
		return pgerr.New(pgerr.InvalidParameterValue, "a fragment cannot have %d replicas", n).
			WithHint("The replication factor is between 1 and %d.", MaxReplicationFactor)
	}
	return nil
}

// SetFactor sets the number of replicas of those fragments of a database that have no number of
// their own.
func (c *Change) SetFactor(database OID, n int, a Author) error {
	if err := CheckFactor(n); err != nil {
		return err
	}
	d := c.current(c.base.Database(database))
	was := d.ReplicationFactor
	if d.ReplicationFactor = n; was == n {
		return nil
	}
	return errors.Join(c.PutDatabase(d), c.note(a, ReplicasRecord, d, d.Name,
		fmt.Sprintf("%d replicas of each fragment instead of %d", n, was)))
}

// SetFragmentFactor sets the number of replicas of a fragment, 0 for the database's number, and the
// only nodes that may have them; if on is empty, any node may.
func (c *Change) SetFragmentFactor(database OID, fragment string, n int, on []uint32, a Author) error {
	d := c.current(c.base.Database(database))
	f, err := d.FragmentNamed(fragment)
	if err != nil {
		return err
	}
	if n != 0 {
		if err := CheckFactor(n); err != nil {
			return err
		}
	}
	on = slices.Clone(on)
	slices.Sort(on)
	on = slices.Compact(on)
	var names []string
	for _, id := range on {
		switch x := c.base.Node(id); {
		case x == nil:
			return pgerr.New(pgerr.UndefinedObject, "node %d does not exist", id)
		case !x.HoldsFragments():
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `node "%s" cannot hold fragments`, x.Name).
				WithDetail("It is a gateway, or is being drained.")
		case !d.RuleOf(f).Allows(x.Labels):
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`node "%s" has not the labels %s, which fragment "%s" is for`, x.Name, d.RuleOf(f), fragment).
				WithHint("sherd.zones lists the nodes that have them; " +
					"sherd.set_fragment_labels and sherd.set_database_labels change the rule.")
		default:
			names = append(names, x.Name)
		}
	}
	if len(on) > 0 && len(on) < n {
		return pgerr.New(pgerr.InvalidParameterValue, "%d replicas cannot be on %d nodes", n, len(on)).
			WithHint("Name at least as many nodes.")
	}
	if f.Replicas == n && slices.Equal(f.On, on) {
		return nil
	}
	f.Replicas, f.On = n, on
	text := fmt.Sprintf("%d replicas", n)
	if n == 0 {
		text = fmt.Sprintf("as many replicas as the database's fragments have, %d", d.ReplicationFactor)
	}
	if len(names) > 0 {
		text += ", on nodes " + strings.Join(names, ", ")
	}
	return errors.Join(c.PutDatabase(d), c.note(a, ReplicasRecord, d, fragment, text))
}
