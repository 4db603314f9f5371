package admin

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/types"
)

// zones has the functions that restrict where data may lie.
var zones = []Function{
	{
		OID: 8100, Signature: "set_fragment_labels(fragment text, labels text, why text DEFAULT ''::text) RETURNS void",
		Call: void(setFragmentLabels),
		Comment: "restricts the replicas of a fragment to nodes with labels, as 'region=eu|us, disk!=hdd', in " +
			"addition to the rule of its database; '' removes the rule",
	},
	{
		OID: 8101, Signature: "set_database_labels(database text, labels text, why text DEFAULT ''::text) RETURNS void",
		Call: void(func(e *Environment, a []types.Datum) error {
			return setLabels(e, "set_database_labels", a[0].S, "", a[1:])
		}),
		Comment: "restricts the replicas of a database's fragments to nodes with labels; '' removes the rule",
	},
	{
		OID: 8102, Signature: "pin_anchors(collection regclass, anchors text[], fragment text, " +
			"wait bool DEFAULT false, why text DEFAULT ''::text) RETURNS int8",
		Call: pinAnchors,
		Comment: "moves the buckets of anchors, with all documents that have them, to a fragment and pins them " +
			"there; returns the number of moves started",
	},
	{
		OID: 8103, Signature: "unpin_anchors(collection regclass, anchors text[], why text DEFAULT ''::text) " +
			"RETURNS int8",
		Call:    unpinAnchors,
		Comment: "removes the pins of pin_anchors; returns the number of buckets that are not pinned any more",
	},
}

func setFragmentLabels(e *Environment, a []types.Datum) error {
	const function = "set_fragment_labels"
	if err := e.reshape(function); err != nil {
		return err
	}
	database, err := databaseOfFragment(a[0].S)
	if err != nil {
		return err
	}
	return setLabels(e, function, database, a[0].S, a[1:])
}

// setLabels restricts the replicas of a fragment, or of all fragments of the database if fragment is
// "". a has the labels and the reason.
func setLabels(e *Environment, function, database, fragment string, a []types.Datum) error {
	rule, err := shardmap.ParseLabelRule(a[0].S)
	if err != nil {
		return err
	}
	err = e.change(function, database, func(d *catalog.Database, c *catalog.Change) error {
		return c.SetLabels(d.OID, fragment, rule, e.author(a[1].S))
	})
	if err != nil {
		return err
	}
	view := e.Catalog.View()
	if d := view.DatabaseByName(database); d != nil {
		for _, n := range view.Shortages(d, fragment) {
			e.Notice(n)
		}
	}
	return nil
}

// anchorsOf returns the buckets of anchors of a table of the session's database.
func anchorsOf(e *Environment, oid catalog.OID, ids []string) (name string, out []catalog.Anchor, err error) {
	t, err := ddl.TableOf(e.View(), e.Names.Database.OID, oid)
	switch {
	case err != nil:
		return "", nil, err
	case len(ids) == 0:
		return "", nil, pgerr.New(pgerr.InvalidParameterValue, "the list of anchors is empty").
			WithHint("Name ids, as in ARRAY['customers/1-A'].")
	case len(ids) > catalog.MaxAnchors:
		return "", nil, pgerr.New(pgerr.ProgramLimitExceeded, "%d anchors are too many at a time", len(ids)).
			WithHint("Pin at most %d with a call.", catalog.MaxAnchors)
	}
	for _, id := range ids {
		if id == "" && t.Anchors { // no document has this id: the server completes it
			return "", nil, errEmptyAnchor()
		}
		b, err := table.BucketOfText(t, id, e.Values)
		if err != nil {
			return "", nil, err
		}
		out = append(out, catalog.Anchor{ID: id, Bucket: b})
	}
	return t.Name, out, nil
}

func pinAnchors(e *Environment, a []types.Datum) (types.Datum, error) {
	const function = "pin_anchors"
	ids, err := textsOf(a[1], "anchors")
	if err != nil {
		return types.Null, err
	}
	if err := e.reshape(function); err != nil {
		return types.Null, err
	}
	name, anchors, err := anchorsOf(e, a[0].Oid(), ids)
	if err != nil {
		return types.Null, err
	}
	first, err := e.Catalog.NewJobIDs(e.Context, len(anchors))
	if err != nil {
		return types.Null, err
	}
	o, moves := moveOptionsOf(a[3:]), 0
	err = e.change(function, e.Names.Database.Name, func(d *catalog.Database, c *catalog.Change) (err error) {
		moves, err = c.PinAnchors(d.OID, name, anchors, a[2].S, first, e.author(o.why))
		return err
	})
	if err != nil {
		return types.Null, err
	}
	if o.wait {
		err = e.waitMoves(first, moves)
	}
	return types.NewInt(int64(moves)), err
}

func unpinAnchors(e *Environment, a []types.Datum) (types.Datum, error) {
	const function = "unpin_anchors"
	ids, err := textsOf(a[1], "anchors")
	if err != nil {
		return types.Null, err
	}
	if err := e.reshape(function); err != nil {
		return types.Null, err
	}
	name, anchors, err := anchorsOf(e, a[0].Oid(), ids)
	if err != nil {
		return types.Null, err
	}
	ended := 0
	err = e.change(function, e.Names.Database.Name, func(d *catalog.Database, c *catalog.Change) (err error) {
		ended, err = c.UnpinAnchors(d.OID, name, anchors, e.author(a[2].S))
		return err
	})
	return types.NewInt(int64(ended)), err
}
