package sql

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
)

// SetFragmentLabels implements builtin.ZoneInfo.
func (i info) SetFragmentLabels(fragment, labels, why string) error {
	const function = "set_fragment_labels"
	if err := i.reshape(function); err != nil {
		return err
	}
	database, err := databaseOfFragment(fragment)
	if err != nil {
		return err
	}
	return i.setLabels(function, database, fragment, labels, why)
}

// SetDatabaseLabels implements builtin.ZoneInfo.
func (i info) SetDatabaseLabels(database, labels, why string) error {
	return i.setLabels("set_database_labels", database, "", labels, why)
}

func (i info) setLabels(function, database, fragment, labels, why string) error {
	rule, err := shardmap.ParseLabelRule(labels)
	if err != nil {
		return err
	}
	err = i.topology(function, database, func(d *catalog.Database, c *catalog.Change) error {
		return c.SetLabels(d.OID, fragment, rule, i.author(why))
	})
	if err != nil {
		return err
	}
	view := i.db.cfg.Catalog.View()
	if d := view.DatabaseByName(database); d != nil {
		for _, n := range view.Shortages(d, fragment) {
			i.notice(n)
		}
	}
	return nil
}

// anchorsOf gives the buckets of anchors of a table of the session's database.
func (i info) anchorsOf(table uint32, ids []string) (name string, out []catalog.Anchor, err error) {
	names := i.names()
	t, err := ddl.TableOf(names.View, i.database, table)
	switch {
	case err != nil:
		return "", nil, err
	case len(ids) == 0:
		return "", nil, pgerr.New(pgerr.InvalidParameterValue, "the list of anchors is empty").WithHint("Name ids, as in ARRAY['customers/1-A'].")
	case len(ids) > catalog.MaxAnchors:
		return "", nil, pgerr.New(pgerr.ProgramLimitExceeded, "%d anchors are too many at a time", len(ids)).
			WithHint("Pin at most %d with a call.", catalog.MaxAnchors)
	}
	for _, id := range ids {
		if id == "" && t.Anchors { // no document has this id: the server gives those that ask for it another
			return "", nil, errEmptyAnchor()
		}
		b, err := exec.BucketOfText(t, id, i.Env())
		if err != nil {
			return "", nil, err
		}
		out = append(out, catalog.Anchor{ID: id, Bucket: b})
	}
	return t.Name, out, nil
}

// PinAnchors implements builtin.ZoneInfo.
func (i info) PinAnchors(table uint32, ids []string, fragment string, o builtin.MoveOptions) (int64, error) {
	const function = "pin_anchors"
	if err := i.reshape(function); err != nil {
		return 0, err
	}
	name, anchors, err := i.anchorsOf(table, ids)
	if err != nil {
		return 0, err
	}
	first, err := i.db.cfg.Catalog.NewJobIDs(i.ctx, len(anchors))
	if err != nil {
		return 0, err
	}
	moves := 0
	err = i.topology(function, i.CurrentDatabase(), func(d *catalog.Database, c *catalog.Change) (err error) {
		moves, err = c.PinAnchors(d.OID, name, anchors, fragment, first, i.author(o.Why))
		return err
	})
	if err != nil {
		return 0, err
	}
	for n := 0; n < moves && o.Wait; n++ {
		if err := i.waitMove(first + uint64(n)); err != nil {
			return 0, err
		}
	}
	return int64(moves), nil
}

// UnpinAnchors implements builtin.ZoneInfo.
func (i info) UnpinAnchors(table uint32, ids []string, why string) (ended int64, err error) {
	const function = "unpin_anchors"
	if err := i.reshape(function); err != nil {
		return 0, err
	}
	name, anchors, err := i.anchorsOf(table, ids)
	if err != nil {
		return 0, err
	}
	err = i.topology(function, i.CurrentDatabase(), func(d *catalog.Database, c *catalog.Change) error {
		n, err := c.UnpinAnchors(d.OID, name, anchors, i.author(why))
		ended = int64(n)
		return err
	})
	return ended, err
}
