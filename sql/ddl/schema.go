package ddl

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/privilege"
)

func (r *runner) createSchema(n *pg_query.CreateSchemaStmt) error {
	name := n.Schemaname
	err := r.update(func(c *change) error {
		owner := c.me
		if n.Authrole != nil {
			var err error
			if owner, err = c.role(n.Authrole); err != nil {
				return err
			}
		}
		if name == "" {
			name = owner.Name
		}
		d := c.view.Database(c.Database)
		if err := c.mayCreateIn(d); err != nil {
			return err
		}
		if !subject(c).Member(owner.OID) {
			return pgerr.New(pgerr.InsufficientPrivilege, `must be member of role "%s"`, owner.Name)
		}
		if err := checkSchemaName(name); err != nil {
			return err
		}
		if catalog.IsBuiltinSchema(name) || c.view.SchemaByName(c.Database, name) != nil {
			err := pgerr.New(pgerr.DuplicateSchema, `schema "%s" already exists`, name)
			if n.IfNotExists {
				c.noticeSkipped(err)
				return nil
			}
			return err
		}
		oid, err := c.newOID()
		if err != nil {
			return err
		}
		if err := c.ch.Require(c.Database); err != nil {
			return err
		}
		s := &catalog.Schema{OID: oid, Database: c.Database, Name: name, Owner: owner.OID}
		s.ACL = defaultACL(c, 'n', owner.OID, 0)
		if s.ACL == nil && privilege.SchemaList(s) != nil { // the first schema of this name has another one
			s.ACL = acl.Default(acl.Schema, owner.OID)
		}
		return c.ch.PutSchema(s)
	})
	if err != nil || len(n.SchemaElts) == 0 {
		return err
	}
	return r.schemaElements(name, n.SchemaElts)
}

// schemaElements creates the elements of CREATE SCHEMA: tables in their order, then views, then
// indexes. Names without a schema are in the new one.
func (r *runner) schemaElements(schema string, elements []*pg_query.Node) error {
	inside := *r.Env
	inside.SearchPath = append([]string{schema}, r.SearchPath...)
	in := &runner{Env: &inside, ctx: r.ctx, source: r.source}
	for pass := range 3 {
		for _, n := range elements {
			of, at := n.GetCreateStmt().GetRelation(), 0
			switch {
			case n.GetViewStmt() != nil:
				of, at = n.GetViewStmt().View, 1
			case n.GetIndexStmt() != nil:
				of, at = n.GetIndexStmt().Relation, 2
			}
			if at != pass {
				continue
			}
			if s := of.GetSchemaname(); s != "" && s != schema {
				return pgerr.New(pgerr.InvalidSchemaDefinition,
					"CREATE specifies a schema (%s) different from the one being created (%s)", s, schema)
			}
			if _, done, err := in.tables(n); err != nil {
				return err
			} else if !done {
				return unsupported(n)
			}
		}
	}
	return nil
}

func checkSchemaName(name string) error {
	if strings.HasPrefix(name, "pg_") {
		return pgerr.New(pgerr.ReservedName, `unacceptable schema name "%s"`, name).
			WithDetail(`The prefix "pg_" is reserved for system schemas.`)
	}
	return nil
}

// schemaNamed finds a schema to change.
func (c *change) schemaNamed(name string) (*catalog.Schema, error) {
	if catalog.IsBuiltinSchema(name) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of schema %s", name).
			WithDetail("The schema is part of the system.")
	}
	s := c.view.SchemaByName(c.Database, name)
	if s == nil {
		return nil, pgerr.New(pgerr.InvalidSchemaName, `schema "%s" does not exist`, name)
	}
	return s, nil
}

func (r *runner) renameSchema(from, to string) error {
	return r.update(func(c *change) error {
		s, err := c.schemaNamed(from)
		if err != nil {
			return err
		}
		if catalog.IsBuiltinSchema(to) || c.view.SchemaByName(c.Database, to) != nil {
			return pgerr.New(pgerr.DuplicateSchema, `schema "%s" already exists`, to)
		}
		if err := c.mustOwnSchema(s); err != nil {
			return err
		}
		if err := c.mayCreateIn(c.view.Database(c.Database)); err != nil {
			return err
		}
		if err := checkSchemaName(to); err != nil {
			return err
		}
		s = s.Clone()
		s.ACL = privilege.SchemaList(s) // which depends on the name
		s.Name = to
		return c.ch.PutSchema(s)
	})
}

func (r *runner) dropSchemas(n *pg_query.DropStmt) error {
	find := func(c *change) []catalog.OID {
		var out []catalog.OID
		for _, o := range n.Objects {
			if s := c.view.SchemaByName(c.Database, o.GetString_().GetSval()); s != nil {
				for t := range c.view.TablesIn(s.OID) {
					out = append(out, t.OID)
				}
				out = append(out, usersOfTypes(c, slices.Collect(catalog.TypesIn(c.view, s.OID)))...)
				out = append(out, usersOfFunctions(c, slices.Collect(catalog.FunctionsIn(c.view, s.OID)))...)
				for t := range catalog.ExtendedIn(c.view, s.OID) {
					if !slices.Contains(out, t.OID) {
						out = append(out, t.OID)
					}
				}
			}
		}
		return out
	}
	return r.updateExclusive(func(c *change) []catalog.OID { return c.withReferring(find(c), n.Behavior) },
		func(c *change) error {
			var drop []*catalog.Schema
			for _, o := range n.Objects {
				name := o.GetString_().GetSval()
				if catalog.IsBuiltinSchema(name) {
					return pgerr.New(pgerr.DependentObjectsStillExist,
						"cannot drop schema %s because it is required by the database system", name)
				}
				s, err := c.schemaNamed(name)
				if e := pgerr.From(err); e != nil {
					if n.MissingOk && e.Code == pgerr.InvalidSchemaName {
						c.noticeSkipped(e)
						continue
					}
					return err
				}
				if err := c.mustOwnSchema(s); err != nil {
					return err
				}
				drop = append(drop, s)
			}
			return c.dropSchemaList(drop, n.Behavior == pg_query.DropBehavior_DROP_CASCADE)
		})
}

// maxReported is the number of dependent objects that a message lists (MAX_REPORTED_DEPS).
const maxReported = 100

func (c *change) dropSchemaList(list []*catalog.Schema, cascade bool) error {
	var gone, detail []string
	dropped := c.tablesOf(list)
	var outside []*catalog.Table              // views of other schemas that are dropped too
	for _, s := range slices.Backward(list) { // listed as PostgreSQL does
		for _, t := range c.tablesOf([]*catalog.Schema{s}) {
			if err := c.requireLocked(t); err != nil {
				return err
			}
			if !c.ownedAmong(t, dropped) {
				what := found{table: t}.kind() + " " + c.visibleName(t)
				gone, detail = append(gone, what), append(detail, what+" depends on schema "+s.Name)
			}
			refs := c.referrersOf(t, dropped)
			for _, d := range refs {
				gone, detail = append(gone, c.constraintWords(d.Referrer)), append(detail, c.dependsText(d))
			}
			lines, defaults, users := c.sequenceDependentsOf(t, dropped)
			gone, detail = append(gone, defaults...), append(detail, lines...)
			views := dependentViews(c, relationsUsed(c, []*catalog.Table{t}), append(slices.Clone(dropped), outside...))
			lines, defaults = dependentLines(c, views)
			gone, detail = append(gone, defaults...), append(detail, lines...)
			for _, v := range views {
				outside = append(outside, v.view)
			}
			if !cascade {
				continue
			}
			if err := errors.Join(c.recordDroppedKeys(refs), c.dropDefaultsAndKeys(users),
				dropViews(c, views), c.dropTable(t)); err != nil {
				return err
			}
		}
		names, lines, err := statisticsDependents(c, s, dropped, cascade)
		if err != nil {
			return err
		}
		gone, detail = append(gone, names...), append(detail, lines...)
		if names, lines, err = dropTypesOf(c, s, dropped, cascade); err != nil {
			return err
		}
		gone, detail = append(gone, names...), append(detail, lines...)
		if names, lines, err = dropFunctionsOf(c, s, dropped, cascade); err != nil {
			return err
		}
		gone, detail = append(gone, names...), append(detail, lines...)
	}
	if len(gone) > 0 && !cascade {
		what := "schema " + list[0].Name
		if len(list) > 1 {
			what = "desired object(s)"
		}
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on %s", what,
			itOrThem(len(list))).
			WithDetail("%s", reported(detail)).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	c.cascades(gone)
	if err := c.dropRecordedKeys(); err != nil {
		return err
	}
	for _, s := range list {
		c.ch.DropSchema(s.OID)
	}
	return forgetDefaults(c, list)
}

// tablesOf returns the tables of schemas, the oldest first within each.
func (c *change) tablesOf(list []*catalog.Schema) []*catalog.Table {
	var out []*catalog.Table
	for _, s := range list {
		out = append(out, slices.SortedFunc(c.view.TablesIn(s.OID),
			func(a, b *catalog.Table) int { return cmp.Compare(a.OID, b.OID) })...)
	}
	// dropped with their tables
	return slices.DeleteFunc(out, func(t *catalog.Table) bool { return t.Kind == catalog.KindParts })
}

func itOrThem(n int) string {
	if n > 1 {
		return "them"
	}
	return "it"
}

// reported joins the lines of a DETAIL, at most as many as PostgreSQL lists.
func reported(lines []string) string {
	if more := len(lines) - maxReported; more > 0 {
		lines = append(lines[:maxReported:maxReported], "and "+plural(more, "other object")+
			" (see server log for list)")
	}
	return strings.Join(lines, "\n")
}

// temporarySchema returns the schema of the session's temporary objects for a new object, and
// creates it if the session has none.
func temporarySchema(c *change, rv *pg_query.RangeVar) (*catalog.Schema, error) {
	switch {
	case c.TemporarySchema == "":
		return nil, pgerr.Unsupported("temporary objects cannot be created here").
			WithHint("Create them in a session of a client.")
	case rv.Schemaname != "" && rv.Schemaname != catalog.TemporarySchema && rv.Schemaname != c.TemporarySchema:
		return nil, pgerr.New(pgerr.InvalidTableDefinition,
			"cannot create temporary relation in non-temporary schema").At(c.pos(rv.Location))
	case rv.Relpersistence == "u":
		return nil, pgerr.New(pgerr.InvalidTableDefinition,
			"only temporary relations may be created in temporary schemas").At(c.pos(rv.Location))
	}
	if s := c.view.SchemaByName(c.Database, catalog.TemporarySchema); s != nil {
		return s, nil
	}
	if c.made != nil {
		return c.made, nil
	}
	if d := c.view.Database(c.Database); subject(c).OnDatabase(d, acl.Temporary) == 0 {
		return nil, pgerr.New(pgerr.InsufficientPrivilege,
			`permission denied to create temporary tables in database "%s"`, d.Name)
	}
	oid, err := c.newOID()
	if err != nil {
		return nil, err
	}
	c.made = &catalog.Schema{OID: oid, Database: c.Database, Name: c.TemporarySchema, Owner: c.me.OID, Temporary: true}
	return c.made, catalog.PutTemporarySchema(c.ch, c.made)
}

// keptIn returns what the end of a transaction does with a relation that is no table, in a schema.
func keptIn(c *change, schema catalog.OID) catalog.OnCommit {
	s := c.view.Schema(schema)
	if s != nil && s.Temporary || c.made != nil && c.made.OID == schema {
		return catalog.PreserveRows
	}
	return 0
}

// onCommit returns what ON COMMIT says of a table in a schema.
func onCommit(schema *catalog.Schema, action pg_query.OnCommitAction) (catalog.OnCommit, error) {
	if !schema.Temporary {
		switch action {
		case pg_query.OnCommitAction_ONCOMMIT_NOOP, pg_query.OnCommitAction_ON_COMMIT_ACTION_UNDEFINED:
			return 0, nil
		}
		return 0, pgerr.New(pgerr.InvalidTableDefinition, "ON COMMIT can only be used on temporary tables")
	}
	switch action {
	case pg_query.OnCommitAction_ONCOMMIT_DELETE_ROWS:
		return catalog.DeleteRows, nil
	case pg_query.OnCommitAction_ONCOMMIT_DROP:
		return catalog.DropTable, nil
	}
	return catalog.PreserveRows, nil
}

// samePersistence refuses a foreign key between a temporary table and one that is not.
func samePersistence(t, parent *catalog.Table) error {
	switch {
	case t.IsTemporary() && !parent.IsTemporary():
		return pgerr.New(pgerr.InvalidTableDefinition,
			"constraints on temporary tables may reference only temporary tables")
	case !t.IsTemporary() && parent.IsTemporary():
		return pgerr.New(pgerr.InvalidTableDefinition,
			"constraints on permanent tables may reference only permanent tables")
	}
	return nil
}

// mayMove refuses to move an object into or out of a schema of temporary objects.
func mayMove(c *change, from catalog.OID, to *catalog.Schema) error {
	if s := c.view.Schema(from); s != nil && s.Temporary || to.Temporary {
		return pgerr.Unsupported("cannot move objects into or out of temporary schemas")
	}
	return nil
}

// persistentAs returns the name of a new view: it is temporary if its query reads temporary relations.
func persistentAs(c *change, rv *pg_query.RangeVar, def *analyze.ViewDefinition) *pg_query.RangeVar {
	if rv.Relpersistence == "t" || rv.Schemaname == catalog.TemporarySchema ||
		!slices.ContainsFunc(def.Uses, func(u catalog.Use) bool {
			t := c.view.Table(u.Relation)
			return t != nil && t.IsTemporary()
		}) {
		return rv
	}
	c.notice(pgerr.SuccessfulCompletion, `view "%s" will be a temporary view`, rv.Relname)
	return &pg_query.RangeVar{
		Catalogname: rv.Catalogname, Schemaname: rv.Schemaname, Relname: rv.Relname, Relpersistence: "t",
		Location: rv.Location,
	}
}
