package ddl

import (
	"maps"
	"slices"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
)

// dropStorage records a job that deletes the data under a storage id of the database.
func (c *change) dropStorage(database catalog.OID, storageID uint32) error {
	id, err := c.Catalog.NewJobID(c.ctx)
	if err != nil {
		return err
	}
	return c.ch.PutJob(catalog.NewDropStorageJob(id, database, storageID, time.Now().UnixMicro()))
}

// dropStored records a job that deletes a table's data, and releases the buckets of its segments.
func (c *change) dropStored(t *catalog.Table) error {
	id, err := c.Catalog.NewJobID(c.ctx)
	if err != nil {
		return err
	}
	return c.ch.PutJob(catalog.NewDropTableJob(id, t, time.Now().UnixMicro()))
}

// dropIndexStorage records a job that deletes the entries of an index.
func (c *change) dropIndexStorage(t *catalog.Table, index uint32) error {
	id, err := c.Catalog.NewJobID(c.ctx)
	if err != nil {
		return err
	}
	return c.ch.PutJob(catalog.NewDropIndexJob(id, t.Database, t.StorageID, index, time.Now().UnixMicro()))
}

// dropTable drops a table and its data.
func (c *change) dropTable(t *catalog.Table) error {
	if t.IsView() {
		c.ch.DropTable(t.OID)
		return nil
	}
	if err := c.dropParts(t); err != nil {
		return err
	}
	c.ch.DropTable(t.OID)
	if t.Forwarding != 0 {
		if err := c.dropEntries(t.Forwarding); err != nil {
			return err
		}
	}
	return c.dropStored(t)
}

// visibleName returns a table's name, with its schema if the bare name would find another relation.
func (c *change) visibleName(t *catalog.Table) string {
	if f, err := c.lookup(&pg_query.RangeVar{Relname: t.Name}); err == nil && f.table == t && f.index == nil {
		return t.Name
	}
	return c.view.Schema(t.Schema).Name + "." + t.Name
}

func (r *runner) drop(n *pg_query.DropStmt) (string, bool, error) {
	tag := "DROP " + kindWord(n.RemoveType)
	switch n.RemoveType {
	case pg_query.ObjectType_OBJECT_TABLE:
		return tag, true, r.dropTables(n)
	case pg_query.ObjectType_OBJECT_SCHEMA:
		return tag, true, r.dropSchemas(n)
	case pg_query.ObjectType_OBJECT_SEQUENCE:
		return tag, true, r.dropSequences(n)
	case pg_query.ObjectType_OBJECT_STATISTIC_EXT:
		return tag, true, dropStatistics(r, n)
	case pg_query.ObjectType_OBJECT_VIEW:
		return tag, true, dropNamedViews(r, n, "view")
	case pg_query.ObjectType_OBJECT_MATVIEW:
		return tag, true, dropNamedViews(r, n, "materialized view")
	case pg_query.ObjectType_OBJECT_TYPE, pg_query.ObjectType_OBJECT_DOMAIN:
		return tag, true, dropTypes(r, n)
	case pg_query.ObjectType_OBJECT_FUNCTION, pg_query.ObjectType_OBJECT_PROCEDURE,
		pg_query.ObjectType_OBJECT_ROUTINE:
		return tag, true, dropRoutines(r, n)
	case pg_query.ObjectType_OBJECT_TRIGGER:
		return tag, true, dropTrigger(r, n)
	case pg_query.ObjectType_OBJECT_POLICY:
		return tag, true, dropRowPolicy(r, n)
	case pg_query.ObjectType_OBJECT_INDEX, pg_query.ObjectType_OBJECT_FOREIGN_TABLE:
		return tag, true, r.dropRelations(n)
	case pg_query.ObjectType_OBJECT_EXTENSION:
		if done, err := r.dropExtension(n); done || err != nil {
			return tag, true, err
		}
	}
	return tag, true, r.dropOther(n, tag)
}

func objectNames(n *pg_query.DropStmt) []*pg_query.RangeVar {
	var out []*pg_query.RangeVar
	for _, o := range n.Objects {
		out = append(out, rangeVarOf(o.GetList().GetItems()))
	}
	return out
}

// relationsToDrop returns the relations of a kind that DROP names, each once. They must be locked.
func relationsToDrop(
	c *change, names []*pg_query.RangeVar, kind string, missingOK bool,
) (list []*catalog.Table, err error) {
	for _, rv := range names {
		f, err := c.toDrop(rv, kind, missingOK)
		if err != nil {
			return nil, err
		}
		if f.table == nil || slices.Contains(list, f.table) {
			continue
		}
		if err := c.requireLocked(f.table); err != nil {
			return nil, err
		}
		list = append(list, f.table)
	}
	return list, nil
}

func (r *runner) dropTables(n *pg_query.DropStmt) error {
	names := objectNames(n)
	find := func(c *change) []catalog.OID { return c.withReferring(withFunctions(c, names), n.Behavior) }
	return r.updateExclusive(find,
		func(c *change) error {
			list, err := relationsToDrop(c, names, "table", n.MissingOk)
			if err != nil {
				return err
			}
			if err := releaseRelations(c, list, n.Behavior); err != nil {
				return err
			}
			if err := c.releaseReferencedTables(list, n.Behavior); err != nil {
				return err
			}
			if err := c.dropWithSequences(list); err != nil {
				return err
			}
			return c.dropRecordedKeys()
		})
}

// toDrop finds a relation to drop. It returns the zero value if the relation is missing and IF
// EXISTS allows it.
func (c *change) toDrop(rv *pg_query.RangeVar, kind string, missingOK bool) (found, error) {
	f, err := c.lookup(rv)
	if e := pgerr.From(err); e != nil {
		if missingOK && e.Code == pgerr.InvalidSchemaName {
			c.noticeSkipped(e)
			return found{}, nil
		}
		return found{}, err
	}
	if f == (found{}) {
		if namesComposite(c, rv) {
			return found{}, pgerr.New(pgerr.WrongObjectType, `"%s" is not %s %s`, rv.Relname, article(kind), kind).
				WithHint("Use DROP TYPE to remove a type.")
		}
		code := pgerr.UndefinedTable
		if kind == "index" {
			code = pgerr.UndefinedObject
		}
		missing := pgerr.New(code, `%s "%s" does not exist`, kind, shownName(rv))
		if missingOK {
			shown := pgerr.New(pgerr.UndefinedTable, `%s "%s" does not exist`, kind, rv.Relname)
			c.noticeSkipped(shown)
			return found{}, nil
		}
		return found{}, missing
	}
	if is := f.kind(); is != kind {
		return found{}, pgerr.New(pgerr.WrongObjectType, `"%s" is not %s %s`, rv.Relname, article(kind), kind).
			WithHint("Use DROP %s to remove %s %s.", map[string]string{"table": "TABLE", "index": "INDEX",
				"view": "VIEW", "sequence": "SEQUENCE", "materialized view": "MATERIALIZED VIEW"}[is], article(is), is)
	}
	if f.system != nil {
		return found{}, systemCatalog(f.system.Name)
	}
	if kind != "index" {
		if err := c.mustOwn(f.table); err != nil {
			return found{}, err
		}
	}
	return f, nil
}

// kind returns the kind of a relation.
func (f found) kind() string {
	switch {
	case f.index != nil:
		return "index"
	case f.table != nil && f.table.Sequence != nil:
		return "sequence"
	case f.table != nil && f.table.IsMaterialized():
		return "materialized view"
	case f.table != nil && f.table.IsView():
		return "view"
	case f.system != nil && f.system.Kind == 'v':
		return "view"
	case f.system != nil && f.system.Kind == 'i':
		return "index"
	}
	return "table"
}

func article(kind string) string {
	if kind == "index" {
		return "an"
	}
	return "a"
}

// dropRelations is DROP INDEX. It also handles DROP of kinds of relations that cannot be created
// yet: these do not exist.
func (r *runner) dropRelations(n *pg_query.DropStmt) error {
	kind := map[pg_query.ObjectType]string{
		pg_query.ObjectType_OBJECT_INDEX:         "index",
		pg_query.ObjectType_OBJECT_FOREIGN_TABLE: "foreign table",
	}[n.RemoveType]
	names := objectNames(n)
	return r.updateExclusive(func(c *change) []catalog.OID { return c.withReferring(c.find(names...), n.Behavior) },
		func(c *change) error {
			drafts := map[catalog.OID]*draft{}
			for _, rv := range names {
				f, err := c.toDrop(rv, kind, n.MissingOk)
				if err != nil {
					return err
				}
				if f.index == nil {
					continue
				}
				d := drafts[f.table.OID]
				if d == nil {
					d = &draft{change: c, t: f.table.Clone(), was: f.table}
					drafts[f.table.OID] = d
				}
				if err := d.dropNamedIndex(f.index, n.Behavior); err != nil {
					return err
				}
			}
			own := slices.Collect(maps.Keys(drafts))
			for _, d := range drafts {
				cutParts(d.t, c.cut[d.t.OID])
				if err := d.putTable(); err != nil {
					return err
				}
			}
			return c.dropRecordedKeys(own...)
		})
}

func (d *draft) dropNamedIndex(x *catalog.Index, behavior pg_query.DropBehavior) error {
	if err := d.requireLocked(d.was); err != nil {
		return err
	}
	if err := d.mustOwn(d.was); err != nil {
		return err
	}
	if con := d.t.ConstraintOf(x.OID); con != nil {
		return pgerr.New(pgerr.DependentObjectsStillExist,
			"cannot drop index %s because constraint %s on table %s requires it",
			x.Name, con.Name, d.t.Name).WithHint("You can drop constraint %s on table %s instead.", con.Name, d.t.Name)
	}
	if err := d.releaseKey("index "+x.Name, x.OID, x.Name, false, behavior); err != nil {
		return err
	}
	return d.dropIndex(x.OID)
}

// missingText says which part of an object's name does not exist: its schema, its relation, or the
// object.
func (c *change) missingText(kind pg_query.ObjectType, o *pg_query.Node) string {
	var names []string
	switch x := o.Node.(type) {
	case *pg_query.Node_TypeName:
		names = texts(x.TypeName.Names)
	case *pg_query.Node_ObjectWithArgs:
		names = texts(x.ObjectWithArgs.Objname)
	case *pg_query.Node_List:
		names = texts(x.List.Items)
	}
	relation := ""
	switch kind {
	case pg_query.ObjectType_OBJECT_TRIGGER, pg_query.ObjectType_OBJECT_RULE, pg_query.ObjectType_OBJECT_POLICY:
		if len(names) > 1 {
			names = names[:len(names)-1]
			relation = names[len(names)-1]
		}
	}
	if len(names) > 1 {
		if schema := names[len(names)-2]; !catalog.IsBuiltinSchema(schema) &&
			c.view.SchemaByName(c.Database, schema) == nil {
			return `schema "` + schema + `"`
		}
	}
	if relation != "" {
		rv := &pg_query.RangeVar{Relname: relation}
		if len(names) > 1 {
			rv.Schemaname = names[len(names)-2]
		}
		if f, err := c.lookup(rv); err == nil && f == (found{}) {
			return `relation "` + relation + `"`
		}
	}
	return objectText(kind, o)
}

// dropOther handles DROP of kinds of objects that cannot be created yet.
func (r *runner) dropOther(n *pg_query.DropStmt, tag string) error {
	if !n.MissingOk {
		return pgerr.Unsupported("%s is not supported yet", tag).
			WithHint("There are no objects of this kind yet, except those that are built in.")
	}
	return r.update(func(c *change) error {
		for _, o := range n.Objects {
			c.notice(pgerr.SuccessfulCompletion, `%s does not exist, skipping`, c.missingText(n.RemoveType, o))
		}
		return nil
	})
}

func (r *runner) truncate(n *pg_query.TruncateStmt) error {
	var names []*pg_query.RangeVar
	for _, o := range n.Relations {
		names = append(names, o.GetRangeVar())
	}
	find := func(c *change) []catalog.OID { return c.allReferring(c.find(names...), n.Behavior) }
	var fire []catalog.OID // tables with triggers on TRUNCATE
	err := r.updateExclusive(find, func(c *change) error {
		list, err := tablesToTruncate(c, names, n.Behavior)
		fire = nil
		for _, t := range list {
			if slices.ContainsFunc(t.Triggers, func(x catalog.Trigger) bool { return x.Is(catalog.TriggerTruncate) }) {
				fire = append(fire, t.OID)
			}
		}
		if err != nil || len(fire) > 0 {
			c.notices = nil
			return err
		}
		return truncateTables(c, list, n.RestartSeqs)
	})
	if err != nil || len(fire) == 0 {
		return err
	}
	if err := r.Truncating(r.ctx, catalog.TriggerBefore, fire); err != nil {
		return err
	}
	err = r.updateExclusive(find, func(c *change) error {
		list, err := tablesToTruncate(c, names, n.Behavior)
		if err != nil {
			return err
		}
		return truncateTables(c, list, n.RestartSeqs)
	})
	if err != nil {
		return err
	}
	return r.Truncating(r.ctx, 0, fire)
}

// tablesToTruncate returns the tables that TRUNCATE empties.
func tablesToTruncate(
	c *change, names []*pg_query.RangeVar, behavior pg_query.DropBehavior,
) ([]*catalog.Table, error) {
	var list []*catalog.Table
	for _, rv := range names {
		t, err := c.tableToTruncate(rv)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return c.truncated(list, behavior)
}

// truncateTables empties tables.
func truncateTables(c *change, list []*catalog.Table, restart bool) error {
	for _, t := range list {
		if err := c.emptyTable(t); err != nil {
			return err
		}
	}
	if !restart {
		return nil
	}
	owned, err := c.ownedBy(list)
	if err != nil {
		return err
	}
	for _, s := range owned {
		if err := c.restartSequence(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) tableToTruncate(rv *pg_query.RangeVar) (*catalog.Table, error) {
	f, err := c.lookup(rv)
	switch {
	case err != nil:
		return nil, err
	case f.system != nil:
		return nil, systemCatalog(f.system.Name)
	case f.table == nil:
		return nil, undefinedRelation(rv)
	case f.index != nil || f.table.Kind != catalog.KindTable:
		return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not a table`, rv.Relname)
	}
	if err := mayUse(c, f.table, acl.Truncate); err != nil {
		return nil, err
	}
	return f.table, c.requireLocked(f.table)
}

// emptyTable assigns a table a new storage id: its rows are invisible at once and deleted later.
// Without rows, the policy counts as validated.
func (c *change) emptyTable(t *catalog.Table) error {
	id, err := c.newOID()
	if err != nil {
		return err
	}
	if err := c.dropStorage(t.Database, t.StorageID); err != nil {
		return err
	}
	if err := c.dropParts(t); err != nil {
		return err
	}
	t = t.Clone()
	t.StorageID, t.Hot = id, nil
	t.PolicyValidated = t.Policy != nil && !t.Policy.Mutable
	if err := c.ch.PutTable(t); err != nil || t.Forwarding == 0 || c.view.Table(t.Forwarding) == nil {
		return err
	}
	return c.emptyTable(c.view.Table(t.Forwarding))
}
