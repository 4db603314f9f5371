package ddl

import (
	"slices"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// alterLabels is ALTER DATABASE … LABELS 'region=eu': the replicas move, one at a time, to nodes that have the labels. done is false where the statement is
// another.
func (r *runner) alterLabels(n *pg_query.AlterDatabaseStmt) (done bool, err error) {
	i := slices.IndexFunc(n.Options, func(o *pg_query.Node) bool { return o.GetDefElem().GetDefname() == "labels" })
	if i < 0 {
		return false, nil
	}
	e := n.Options[i].GetDefElem()
	if len(n.Options) > 1 {
		return true, pgerr.Unsupported("LABELS cannot be changed together with other options").WithHint("Change one option with each ALTER DATABASE.")
	}
	var t topology
	if err := t.read(e, r.pos(e.Location)); err != nil {
		return true, err
	}
	return true, r.update(func(c *change) error {
		d, err := c.databaseNamed(n.Dbname)
		if err != nil {
			return err
		}
		if err := c.mustOwnDatabase(d); err != nil {
			return err
		}
		a := catalog.Author{Who: c.me.Name, Why: "ALTER DATABASE " + d.Name + " LABELS", Micros: time.Now().UnixMicro()}
		if err := c.ch.SetLabels(d.OID, "", t.labels, a); err != nil {
			return err
		}
		d = d.Clone()
		d.Labels = t.labels
		c.notices = append(c.notices, c.view.Shortages(d, "")...)
		return nil
	})
}
