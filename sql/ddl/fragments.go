package ddl

import (
	"fmt"
	"slices"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// alterFragments is ALTER DATABASE … FRAGMENTS n. New fragments get their share of the buckets by a
// plan that runs in the background. If there are fewer, the last fragments move their buckets to
// the others and are dropped. done is false for other statements.
func (r *runner) alterFragments(n *pg_query.AlterDatabaseStmt) (done bool, err error) {
	i := slices.IndexFunc(n.Options, func(o *pg_query.Node) bool { return o.GetDefElem().GetDefname() == "fragments" })
	if i < 0 {
		return false, nil
	}
	e := n.Options[i].GetDefElem()
	if len(n.Options) > 1 {
		return true, pgerr.Unsupported("FRAGMENTS cannot be changed together with other options").
			WithHint("Change one option with each ALTER DATABASE.")
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
		return c.resize(d, t.fragments)
	})
}

// resize changes the number of a database's fragments to n.
func (c *change) resize(d *catalog.Database, n int) error {
	var staying []catalog.Fragment
	for _, f := range d.Fragments {
		if !f.Draining {
			staying = append(staying, f)
		}
	}
	if len(staying) == n {
		return nil
	}
	a := catalog.Author{Who: c.me.Name, Why: fmt.Sprintf("ALTER DATABASE %s FRAGMENTS %d", d.Name, n),
		Micros: time.Now().UnixMicro()}
	if n > len(staying) {
		return c.grow(d, n-len(staying), a)
	}
	slices.SortFunc(staying, func(x, y catalog.Fragment) int { return y.Ordinal - x.Ordinal })
	for _, f := range staying[:len(staying)-n] {
		id, err := c.Catalog.NewJobID(c.ctx)
		if err != nil {
			return err
		}
		if err := c.ch.RemoveFragment(id, d.OID, f.ID, a); err != nil {
			return err
		}
	}
	c.notifyWork("the buckets of %d fragments of database \"%s\" move to the others, then these fragments go",
		len(staying)-n, d.Name)
	return nil
}

// grow adds fragments and a plan that fills them.
func (c *change) grow(d *catalog.Database, more int, a catalog.Author) error {
	ids, err := c.Catalog.NewFragmentIDs(c.ctx, more)
	if err != nil {
		return err
	}
	grown := d.Clone()
	sites, sets := c.sites(), c.view.ReplicaSets()
	ordinal := 0
	for _, f := range d.Fragments {
		ordinal = max(ordinal, f.Ordinal+1)
	}
	for i, id := range ids {
		nodes := shardmap.FirstPlacement(sites, sets, d.ReplicationFactor, d.Labels)
		if _, err := c.ch.AddFragment(d.OID, id, nodes, a); err != nil {
			return err
		}
		sets = append(sets, shardmap.ReplicaSet{Fragment: id, Nodes: nodes})
		grown.Fragments = append(grown.Fragments, catalog.Fragment{ID: id, Ordinal: ordinal + i, Nodes: nodes,
			Added: true})
	}
	plan, err := c.FillFragments(c.ctx, d, grown)
	if err != nil {
		return err
	}
	id, err := c.Catalog.NewJobID(c.ctx)
	if err != nil {
		return err
	}
	if err := c.ch.BeginPlan(id, d.OID, plan, a); err != nil {
		return err
	}
	c.notifyWork("plan %d moves buckets to the new fragments of database \"%s\"", id, d.Name)
	return nil
}

// notifyWork adds a notice about work that continues in the background.
func (c *change) notifyWork(format string, args ...any) {
	c.notices = append(c.notices, &pgerr.Error{
		Severity: "NOTICE", Code: pgerr.SuccessfulCompletion, Message: fmt.Sprintf(format, args...),
		Detail: "sherd.plans shows its progress, as do sherd.moves and sherd.jobs in that database.",
	})
}

// alterLabels is ALTER DATABASE … LABELS 'region=eu': the replicas move, one at a time, to nodes
// that have the labels. done is false for other statements.
func (r *runner) alterLabels(n *pg_query.AlterDatabaseStmt) (done bool, err error) {
	i := slices.IndexFunc(n.Options, func(o *pg_query.Node) bool { return o.GetDefElem().GetDefname() == "labels" })
	if i < 0 {
		return false, nil
	}
	e := n.Options[i].GetDefElem()
	if len(n.Options) > 1 {
		return true, pgerr.Unsupported("LABELS cannot be changed together with other options").
			WithHint("Change one option with each ALTER DATABASE.")
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
