package ddl

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/types"
)

// StartForwarding creates a collection's table of forwarding entries, if it has none. The caller
// waits for sessions that still use the previous definition.
func StartForwarding(ctx context.Context, e *Env, table catalog.OID) error {
	r := &runner{Env: e, ctx: ctx}
	return r.updateReserved(func(*change) []catalog.OID { return []catalog.OID{table} }, func(c *change) error {
		t := c.view.Table(table)
		if t == nil || t.Database != c.Database {
			return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", table)
		}
		if t.Forwarding != 0 {
			return nil
		}
		if err := CanForward(t); err != nil {
			return err
		}
		entries, err := c.entriesTable(t, "")
		if err != nil {
			return err
		}
		if err := c.ch.PutTable(entries); err != nil {
			return err
		}
		t = t.Clone()
		t.Forwarding = entries.OID
		return c.ch.PutTable(t)
	})
}

// CanForward refuses a table whose rows cannot have former ids.
func CanForward(t *catalog.Table) error {
	if !t.Anchors || forward.Key(t) < 0 {
		return pgerr.New(pgerr.WrongObjectType, `"%s" is not a collection`, t.Name).
			WithHint("A collection is a table with one text key column in whose values $ means something.")
	}
	key := t.PrimaryKey().Columns[0]
	for _, k := range t.Constraints {
		if k.Kind == catalog.ForeignKey && slices.Contains(k.Columns, key) {
			return pgerr.Unsupported(
				`documents of "%s" cannot get other ids: foreign key "%s" makes them those of other documents`, t.Name,
				k.Name).
				WithHint("Drop the foreign key first.")
		}
	}
	return nil
}

// optionFormer is the storage parameter by which a dump says that a collection has former ids, and
// names the table of entries.
const optionFormer = "former_ids"

// formerName matches the names of tables of forwarding entries.
var formerName = regexp.MustCompile(`^of_[0-9]{1,20}$`)

// restoreForwarding links a new table to the table of forwarding entries that its options name; the
// dump fills that table.
func (d *draft) restoreForwarding() error {
	name, given := d.options.set[optionFormer]
	switch {
	case !given:
		return nil
	case !formerName.MatchString(name):
		return pgerr.New(pgerr.InvalidParameterValue, `invalid value for option "%s": %s`, optionFormer, name)
	case d.t.PrimaryKey() != nil:
		if err := CanForward(d.t); err != nil {
			return err
		}
	}
	entries, err := d.entriesTable(d.t, name)
	if err != nil {
		return err
	}
	d.t.Forwarding = entries.OID
	return d.ch.PutTable(entries)
}

// entriesTable defines the table of forwarding entries. An entry lies in the bucket of the old id.
// If name is empty, a free name is chosen.
func (c *change) entriesTable(t *catalog.Table, name string) (*catalog.Table, error) {
	schema, err := c.forwardingSchema()
	if err != nil {
		return nil, err
	}
	var oids [5]catalog.OID
	for i := range oids {
		if oids[i], err = c.newOID(); err != nil {
			return nil, err
		}
	}
	taken := func(name string) bool {
		other, _ := c.view.Relation(schema.OID, name)
		return other != nil
	}
	if name != "" && taken(name) {
		return nil, pgerr.New(pgerr.DuplicateTable, `relation "%s.%s" already exists`, forward.SchemaName, name).
			WithDetail("It has the former ids of documents of another table.").
			WithHint("Restore into an empty database.")
	}
	// beyond all OIDs: restored tables have names from another cluster
	for n := uint64(t.OID); name == "" || taken(name); n += 1 << 32 {
		name = fmt.Sprintf("of_%d", n)
	}
	return &catalog.Table{
		OID: oids[0], Database: t.Database, Schema: schema.OID, Name: name, Owner: schema.Owner,
		Kind: catalog.KindTable, StorageID: oids[0], NextAttNum: 3,
		Columns: []catalog.Column{
			{AttNum: 1, Name: "old", Type: types.Text, Typmod: -1, Collation: 100, NotNull: true},
			{AttNum: 2, Name: "new", Type: types.Text, Typmod: -1, Collation: 100, NotNull: true},
		},
		Constraints: []catalog.Constraint{{OID: oids[1], Name: name + "_pkey", Kind: catalog.PrimaryKey,
			Columns: []int16{1}, Valid: true, Index: oids[2]}},
		Indexes: []catalog.Index{
			{OID: oids[2], Name: name + "_pkey", StorageID: 1, Columns: []int16{1}, Unique: true, Primary: true},
			{OID: oids[3], Name: name + "_new", StorageID: oids[4], Columns: []int16{2}, Global: true},
		},
		Anchors: true, FormerIDs: catalog.FormerIDs{ForwardingOf: t.OID},
		Comment: "former ids of documents of " + t.Name,
	}, nil
}

func (c *change) forwardingSchema() (*catalog.Schema, error) {
	if s := c.view.SchemaByName(c.Database, forward.SchemaName); s != nil {
		return s, nil
	}
	oid, err := c.newOID()
	if err != nil {
		return nil, err
	}
	if err := c.ch.Require(c.Database); err != nil {
		return nil, err
	}
	s := &catalog.Schema{OID: oid, Database: c.Database, Name: forward.SchemaName, Owner: catalog.BootstrapRole,
		Comment: "former ids of documents"}
	return s, c.ch.PutSchema(s)
}

// DropForwarding removes the former ids of a collection. They do not find documents any more.
func DropForwarding(ctx context.Context, e *Env, table catalog.OID) error {
	r := &runner{Env: e, ctx: ctx}
	return r.updateExclusive(func(*change) []catalog.OID { return []catalog.OID{table} }, func(c *change) error {
		t, err := TableOf(c.view, c.Database, table)
		if err != nil {
			return err
		}
		if !c.owns(t.Owner) {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
		}
		if t.Forwarding == 0 {
			return pgerr.New(pgerr.UndefinedObject, `documents of "%s" have no former ids`, t.Name)
		}
		for j := range c.view.Jobs() {
			if j.Table == t.OID && j.AboutIDs() && (j.State == catalog.JobRunning || j.State == catalog.JobPaused) {
				return pgerr.New(pgerr.ObjectInUse,
					`job %d gives documents of "%s" new ids, or mends references to them`, j.ID, t.Name).
					WithHint("Wait for it, or end it with SELECT sherd.cancel_job(%d).", j.ID)
			}
		}
		entries := t.Forwarding
		t = t.Clone()
		t.Forwarding = 0
		if err := c.ch.PutTable(t); err != nil {
			return err
		}
		return c.dropEntries(entries)
	})
}

// dropEntries drops a table of forwarding entries.
func (c *change) dropEntries(oid catalog.OID) error {
	e := c.view.Table(oid)
	if e == nil {
		return nil
	}
	c.ch.DropTable(e.OID)
	return c.dropStorage(e.Database, e.StorageID)
}

// checkForwarding refuses a definition that would make a collection's former ids meaningless.
func (d *draft) checkForwarding() error {
	t, was := d.t, d.was
	if was == nil || t.Forwarding == 0 {
		return nil
	}
	pk, old := t.PrimaryKey(), was.PrimaryKey()
	if pk == nil || old == nil && t.Anchors {
		if pk != nil {
			return CanForward(t)
		}
		return nil // a dump drops the key first and adds it last
	}
	same := old != nil && slices.Equal(pk.Columns, old.Columns) && t.Anchors && t.ColumnByNum(pk.Columns[0]).
		Type == types.Text
	if !same {
		return pgerr.Unsupported(`the key of "%s" cannot be changed while documents have former ids`, t.Name).
			WithHint("End them first: SELECT sherd.drop_forwarding(%s).",
				builtin.QuoteLiteral(builtin.QuoteIdent(t.Name)))
	}
	return CanForward(t)
}
