package ddl

import (
	"errors"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap/balance"
	"github.com/sherddb/sherd/sql/settings"
)

// alterSystem is ALTER SYSTEM of the cluster's parameters. They take effect at once on every node.
func (r *runner) alterSystem(n *pg_query.AlterSystemStmt) error {
	return r.update(func(c *change) error {
		if !c.me.Superuser {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to execute ALTER SYSTEM command")
		}
		set := n.Setstmt
		if set.Kind == pg_query.VariableSetKind_VAR_RESET_ALL {
			return errors.Join(c.ch.DropSettings(), c.logSetting(0, "cluster", set))
		}
		d, err := ofCluster(set.Name)
		if err != nil {
			return err
		}
		if set.Kind != pg_query.VariableSetKind_VAR_SET_VALUE {
			return errors.Join(c.ch.DropSetting(d.Name), c.logSetting(0, "cluster", set))
		}
		value, err := settings.Text(set.Name, set.Args)
		if err != nil {
			return err
		}
		if value, err = d.Check(value); err != nil {
			return err
		}
		if _, err := balance.ParseWindows(value); err != nil && d.Name == "sherd.balancer_windows" {
			return pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": "%s"`, d.Name, value).
				WithDetail("%s.", err).
				WithHint("Windows are times in UTC: '22:00-06:00', 'mon-fri 01:00-05:00, sat 00:00-24:00'; empty is " +
					"always.")
		}
		if n, err := strconv.Atoi(value); err == nil && d.Name == "sherd.segment_size" && n > 0 && n < leastSegment {
			return pgerr.New(pgerr.InvalidParameterValue, `invalid value for parameter "%s": %d kB`, d.Name, n).
				WithHint("Segments of less than %d kB cost more than they are worth; 0 splits none.", leastSegment)
		}
		return errors.Join(c.ch.PutSetting(catalog.Setting{Name: d.Name, Value: value}),
			c.logSetting(0, "cluster", set))
	})
}

// leastSegment is the smallest limit for the size of segments, in kB.
const leastSegment = 1024

// ofCluster finds a parameter that ALTER SYSTEM may change.
func ofCluster(name string) (*settings.Definition, error) {
	d, ok := settings.Lookup(name)
	if !ok {
		return nil, pgerr.New(pgerr.UndefinedObject, `unrecognized configuration parameter "%s"`, name)
	}
	if d.ClusterWide() {
		return d, nil
	}
	e := pgerr.Unsupported("ALTER SYSTEM of parameter %s is not supported", d.Name)
	if d.Context == "user" || d.Context == "superuser" {
		e = e.WithHint("ALTER DATABASE … SET and ALTER ROLE … SET say what sessions begin with.")
	}
	return nil, e
}
