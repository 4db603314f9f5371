package admin

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// fragments has the functions that add and remove fragments.
var fragments = []Function{
	{
		OID: 8043, Signature: "isolate_anchor(anchor text, wait bool DEFAULT false, why text DEFAULT ''::text) " +
			"RETURNS text",
		Call: isolateAnchor,
		Comment: "moves the bucket of an anchor, with all documents that have it, to a new fragment of this " +
			"database; returns the fragment's name",
	},
	{
		OID: 8044, Signature: "add_fragment(database text, why text DEFAULT ''::text) RETURNS text",
		Call:    newFragment,
		Comment: "adds a fragment without buckets to a database; returns its name",
	},
	{
		OID: 8045, Signature: "remove_fragment(fragment text, wait bool DEFAULT false, why text DEFAULT ''::text) " +
			"RETURNS int8",
		Call: removeFragment,
		Comment: "moves the buckets of a fragment to the others of its database and then drops it; returns the " +
			"number of the job",
	},
}

// isolateAnchor moves a bucket to a new fragment. The job of the move pins it there at its end.
func isolateAnchor(e *Environment, a []types.Datum) (types.Datum, error) {
	const function = "isolate_anchor"
	id, o := a[0].S, moveOptionsOf(a[1:])
	v, err := bucketOfID(e, id)
	if err == nil {
		err = e.reshape(function)
	}
	if err != nil {
		return types.Null, err
	}
	job, err := e.Catalog.NewJobID(e.Context)
	if err != nil {
		return types.Null, err
	}
	name, err := addFragment(e, function, e.Names.Database.Name,
		func(d catalog.OID, f uint32, nodes []uint32, c *catalog.Change) (string, error) {
			return c.Isolate(d, f, nodes, job, v, id, e.author(o.why))
		})
	if err == nil && o.wait {
		err = e.waitMove(job)
	}
	return types.NewText(name), err
}

func newFragment(e *Environment, a []types.Datum) (types.Datum, error) {
	name, err := addFragment(e, "add_fragment", a[0].S,
		func(d catalog.OID, f uint32, nodes []uint32, c *catalog.Change) (string, error) {
			return c.AddFragment(d, f, nodes, e.author(a[1].S))
		})
	return types.NewText(name), err
}

// fragmentAdder changes the catalog so that a database has a new fragment, with a number, on nodes. It
// returns the fragment's name.
type fragmentAdder func(database catalog.OID, fragment uint32, nodes []uint32, c *catalog.Change) (string, error)

// addFragment adds a fragment and waits until it serves.
func addFragment(e *Environment, function, database string, add fragmentAdder) (name string, err error) {
	if err := e.reshape(function); err != nil {
		return "", err
	}
	ids, err := e.Catalog.NewFragmentIDs(e.Context, 1)
	if err != nil {
		return "", err
	}
	var oid catalog.OID
	err = e.change(function, database, func(d *catalog.Database, c *catalog.Change) (err error) {
		sites := c.Base().Sites()
		for n := range sites {
			sites[n].Silent = e.Fragments.Silent(sites[n].ID)
		}
		oid = d.OID
		nodes := shardmap.FirstPlacement(sites, c.Base().ReplicaSets(), d.ReplicationFactor, d.Labels)
		name, err = add(d.OID, ids[0], nodes, c)
		return err
	})
	if err != nil {
		return "", err
	}
	if d := e.Catalog.View().Database(oid); d != nil {
		err = e.Fragments.WaitFragments(e.Context, d)
	}
	return name, err
}

// databaseOfFragment returns the name of the database in the name of a fragment, as orders$1.
func databaseOfFragment(fragment string) (string, error) {
	at := strings.LastIndexByte(fragment, '$')
	if at <= 0 {
		return "", pgerr.New(pgerr.UndefinedObject, `fragment "%s" does not exist`, fragment).
			WithHint("Fragments are named like orders$1: the database and a number. sherd.fragments lists them.")
	}
	return fragment[:at], nil
}

func removeFragment(e *Environment, a []types.Datum) (types.Datum, error) {
	const function = "remove_fragment"
	fragment, o := a[0].S, moveOptionsOf(a[1:])
	if err := e.reshape(function); err != nil {
		return types.Null, err
	}
	database, err := databaseOfFragment(fragment)
	if err != nil {
		return types.Null, err
	}
	id, err := e.Catalog.NewJobID(e.Context)
	if err != nil {
		return types.Null, err
	}
	err = e.change(function, database, func(d *catalog.Database, c *catalog.Change) error {
		f, err := d.FragmentNamed(fragment)
		if err != nil {
			return err
		}
		return c.RemoveFragment(id, d.OID, f.ID, e.author(o.why))
	})
	if err == nil && o.wait {
		err = e.waitJob(id, e.removalProgress)
	}
	return types.NewInt(int64(id)), err
}

func (e *Environment) removalProgress(j *catalog.Job) string {
	r, err := j.Removal()
	d := e.Catalog.View().Database(j.Database)
	if err != nil || d == nil {
		return ""
	}
	text := fmt.Sprintf("%s has %d buckets left", d.NameOf(r.Fragment), d.Map.Owned(r.Fragment).Len())
	if r.Waits != "" {
		text += ", waits for " + r.Waits
	}
	return text
}
