package ddl

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/query"
)

func (r *runner) rename(n *pg_query.RenameStmt) (string, bool, error) {
	tag := "ALTER " + kindWord(n.RenameType)
	switch n.RenameType {
	case pg_query.ObjectType_OBJECT_SCHEMA:
		return tag, true, r.renameSchema(n.Subname, n.Newname)
	case pg_query.ObjectType_OBJECT_DATABASE:
		return tag, true, r.renameDatabase(n.Subname, n.Newname)
	case pg_query.ObjectType_OBJECT_ROLE:
		return tag, true, r.renameRole(n.Subname, n.Newname)
	case pg_query.ObjectType_OBJECT_TABLE:
		return tag, true, r.renameRelation(n, "table")
	case pg_query.ObjectType_OBJECT_INDEX:
		return tag, true, r.renameRelation(n, "index")
	case pg_query.ObjectType_OBJECT_SEQUENCE:
		return tag, true, r.renameRelation(n, "sequence")
	case pg_query.ObjectType_OBJECT_VIEW:
		return tag, true, r.renameRelation(n, "view")
	case pg_query.ObjectType_OBJECT_MATVIEW:
		return tag, true, r.renameRelation(n, "materialized view")
	case pg_query.ObjectType_OBJECT_STATISTIC_EXT:
		return tag, true, renameStatistics(r, n)
	case pg_query.ObjectType_OBJECT_TYPE, pg_query.ObjectType_OBJECT_DOMAIN:
		return tag, true, renameType(r, n)
	case pg_query.ObjectType_OBJECT_FUNCTION, pg_query.ObjectType_OBJECT_PROCEDURE,
		pg_query.ObjectType_OBJECT_ROUTINE:
		return tag, true, renameRoutine(r, n)
	case pg_query.ObjectType_OBJECT_TRIGGER:
		return tag, true, renameTrigger(r, n)
	case pg_query.ObjectType_OBJECT_ATTRIBUTE:
		return "ALTER TYPE", true, renameAttribute(r, n)
	case pg_query.ObjectType_OBJECT_POLICY:
		return tag, true, renameRowPolicy(r, n)
	case pg_query.ObjectType_OBJECT_DOMCONSTRAINT:
		return "ALTER DOMAIN", true, renameDomainConstraint(r, n)
	case pg_query.ObjectType_OBJECT_COLUMN, pg_query.ObjectType_OBJECT_TABCONSTRAINT:
		switch {
		case n.RelationType == pg_query.ObjectType_OBJECT_VIEW:
			return "ALTER VIEW", true, r.renamePart(n)
		case n.RelationType == pg_query.ObjectType_OBJECT_MATVIEW:
			return "ALTER MATERIALIZED VIEW", true, r.renamePart(n)
		case n.RenameType == pg_query.ObjectType_OBJECT_TABCONSTRAINT,
			n.RelationType == pg_query.ObjectType_OBJECT_TABLE:
			return "ALTER TABLE", true, r.renamePart(n)
		}
	}
	if n.MissingOk && n.Relation != nil {
		return tag, true, r.missing(n.Relation, tag)
	}
	return tag, true, pgerr.Unsupported("%s is not supported yet", tag).
		WithHint("There are no objects of this kind yet, except those that are built in.")
}

// renameRelation renames a table, or the index of a primary key with its constraint. ALTER TABLE
// accepts the name of an index too.
func (r *runner) renameRelation(n *pg_query.RenameStmt, kind string) error {
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(n.Relation) }, func(c *change) error {
		f, err := c.relationToRename(n.Relation)
		if n.MissingOk && c.skipsMissing(err, n.Relation) {
			return nil
		}
		if err != nil {
			return err
		}
		if kind == "index" && f.index == nil {
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not an index`, n.Relation.Relname)
		}
		if kind == "sequence" && (f.index != nil || f.table.Sequence == nil) {
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not a sequence`, n.Relation.Relname)
		}
		if (kind == "view" || kind == "materialized view") && f.kind() != kind {
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not a %s`, n.Relation.Relname, kind)
		}
		if err := mayCreateInSchema(subject(c), c.view.Schema(f.table.Schema)); err != nil {
			return err
		}
		if other, _ := c.view.Relation(f.table.Schema, n.Newname); other != nil {
			return relationExists(n.Newname)
		}
		t := f.table.Clone()
		if f.index == nil {
			d := &draft{change: c, t: t, was: f.table}
			if err := d.renameInExpressions(func(v *query.Var) bool { return v.Col == query.ColWholeRow },
				n.Newname); err != nil {
				return err
			}
			if err := checkTypeName(c, t.Schema, n.Newname); err != nil && t.Sequence == nil {
				return err
			}
			t.Name = n.Newname
			return c.ch.PutTable(t)
		}
		if con := t.ConstraintOf(f.index.OID); con != nil {
			return c.renameConstraint(t, con.Name, n.Newname)
		}
		t.Index(f.index.OID).Name = n.Newname
		return c.ch.PutTable(t)
	})
}

func (c *change) relationToRename(rv *pg_query.RangeVar) (found, error) {
	f, err := c.lookup(rv)
	switch {
	case err != nil:
		return f, err
	case f.system != nil:
		return f, systemCatalog(f.system.Name)
	case f.table == nil:
		return f, undefinedRelation(rv)
	}
	if err := c.mustOwn(f.table); err != nil {
		return f, err
	}
	return f, c.requireLocked(f.table)
}

// renameConstraint renames a constraint, and the index of a primary key with it.
func (c *change) renameConstraint(t *catalog.Table, from, to string) error {
	k := t.Constraint(from)
	if isPlaced(k) || k == nil && from == shardmap.ConstraintName && t.Policy != nil {
		return pgerr.New(pgerr.WrongObjectType,
			`constraint "%s" of relation "%s" is its sharding policy and cannot be renamed`, from, t.Name)
	}
	if k == nil {
		return pgerr.New(pgerr.UndefinedObject, `constraint "%s" for table "%s" does not exist`, from, t.Name)
	}
	if hasConstraint(t, to) {
		return duplicateConstraint(t, to)
	}
	if k.Index != 0 {
		if other, _ := c.view.Relation(t.Schema, to); other != nil {
			return relationExists(to)
		}
		for i := range t.Indexes {
			if t.Indexes[i].OID == k.Index {
				t.Indexes[i].Name = to
			}
		}
	}
	k.Name = to
	return c.ch.PutTable(t)
}

// renamePart renames a column or a constraint.
func (r *runner) renamePart(n *pg_query.RenameStmt) error {
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(n.Relation) }, func(c *change) error {
		kind := viewKind(c, n.RelationType, n.Relation)
		if kind != "" && n.RenameType == pg_query.ObjectType_OBJECT_COLUMN {
			return renameViewColumn(c, n, kind)
		}
		t, err := c.table(n.Relation)
		if n.MissingOk && c.skipsMissing(err, n.Relation) {
			return nil
		}
		if err != nil {
			return err
		}
		if n.RenameType == pg_query.ObjectType_OBJECT_TABCONSTRAINT {
			return c.renameConstraint(t.Clone(), n.Subname, n.Newname)
		}
		d := &draft{change: c, t: t.Clone(), was: t}
		if err := d.renameColumn(n.Subname, n.Newname); err != nil {
			return err
		}
		return c.ch.PutTable(d.t)
	})
}

// renameColumn renames a column and every reference to it: constraints, generated columns,
// parameters, the sharding policy.
func (d *draft) renameColumn(from, to string) error {
	if systemColumns[from] {
		return pgerr.Unsupported(`cannot rename system column "%s"`, from)
	}
	col := d.t.Column(from)
	if col == nil {
		return pgerr.New(pgerr.UndefinedColumn, `column "%s" does not exist`, from)
	}
	if systemColumns[to] {
		return pgerr.New(pgerr.DuplicateColumn, `column name "%s" conflicts with a system column name`, to)
	}
	if d.t.Column(to) != nil {
		return pgerr.New(pgerr.DuplicateColumn, `column "%s" of relation "%s" already exists`, to, d.t.Name)
	}
	if err := d.checkNewName(to); err != nil {
		return err
	}
	if err := d.renameInExpressions(func(v *query.Var) bool { return v.Name == from && v.Col >= 0 }, to); err != nil {
		return err
	}
	if d.t.Options[optionDocument] == from {
		d.t.Options[optionDocument] = to
	}
	if err := d.renameInAnchor(from, to); err != nil {
		return err
	}
	if err := d.renameInPolicy(from, to); err != nil {
		return err
	}
	col.Name = to
	return nil
}

// renameInExpressions deparses stored expressions with a new name for the variables that satisfy
// which.
func (d *draft) renameInExpressions(which func(*query.Var) bool, to string) error {
	over := d.columns()
	renamed := func(e query.Expr) string {
		return deparse.Expr(query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
			if v, ok := x.(*query.Var); ok && which(v) {
				w := *v
				w.Name = to
				return &w, true
			}
			return x, false
		}))
	}
	for i := range d.t.Constraints {
		k := &d.t.Constraints[i]
		if k.Kind != catalog.Check {
			continue
		}
		src, err := analyze.ParseExpression(k.Check)
		if err != nil {
			return err
		}
		e, err := analyze.Check(d.analysis(), src, d.t.Name, over)
		if err != nil {
			return err
		}
		k.Check = renamed(e)
	}
	for i := range d.t.Columns {
		c := &d.t.Columns[i]
		if c.Dropped || c.Generated == "" {
			continue
		}
		src, err := analyze.ParseExpression(c.Generated)
		if err != nil {
			return err
		}
		e, err := analyze.Generated(d.analysis(), src, over[i], d.t.Name, over)
		if err != nil {
			return err
		}
		c.Generated = renamed(e)
	}
	for i := range d.t.Indexes {
		err := d.indexExpressions(&d.t.Indexes[i], func(_ string, e query.Expr) (string, error) {
			return renamed(e), nil
		})
		if err != nil {
			return err
		}
	}
	if err := renameInTriggers(d, which, to); err != nil {
		return err
	}
	for i := range d.t.Statistics {
		err := statisticsExpressions(d, &d.t.Statistics[i],
			func(e query.Expr) (string, error) { return renamed(e), nil })
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) renameInAnchor(from, to string) error {
	if d.t.AnchorBy == "" {
		return nil
	}
	f, err := shardmap.ParseField(d.t.AnchorBy)
	if err != nil || len(f.Path) != 1 || f.Path[0] != from {
		return err
	}
	f.Path = []string{to}
	d.t.AnchorBy = f.PathString()
	d.t.Options[optionAnchorBy] = d.t.AnchorBy
	return nil
}

func (d *draft) renameInPolicy(from, to string) error {
	p := d.t.Policy
	if p == nil {
		return d.renamePending(from, to)
	}
	if !d.isPolicyColumn(&catalog.Column{Name: from}) {
		return nil
	}
	q, err := renamedField(p, from, to)
	if err != nil {
		return err
	}
	d.t.Policy = q
	d.keepOptions()
	return nil
}

// renamedField returns the policy with the column from renamed to.
func renamedField(p *shardmap.Policy, from, to string) (*shardmap.Policy, error) {
	fields := slices.Clone(p.Fields)
	for i, f := range fields {
		if len(f.Path) == 1 && f.Path[0] == from {
			fields[i].Path = []string{to}
		}
	}
	return shardmap.NewPolicy(fields, int64(p.Range), p.Mutable)
}

// comment is COMMENT ON; an empty text removes the comment.
func (r *runner) comment(n *pg_query.CommentStmt) error {
	switch n.Objtype {
	case pg_query.ObjectType_OBJECT_SCHEMA, pg_query.ObjectType_OBJECT_DATABASE, pg_query.ObjectType_OBJECT_ROLE:
		name := n.Object.GetString_().GetSval()
		return r.update(func(c *change) error { return c.commentOnNamed(n.Objtype, name, n.Comment) })
	case pg_query.ObjectType_OBJECT_TABLE, pg_query.ObjectType_OBJECT_SEQUENCE, pg_query.ObjectType_OBJECT_VIEW,
		pg_query.ObjectType_OBJECT_INDEX, pg_query.ObjectType_OBJECT_MATVIEW,
		pg_query.ObjectType_OBJECT_COLUMN, pg_query.ObjectType_OBJECT_TABCONSTRAINT:
		return r.commentOnRelation(n)
	case pg_query.ObjectType_OBJECT_STATISTIC_EXT:
		return commentOnStatistics(r, n)
	case pg_query.ObjectType_OBJECT_TYPE, pg_query.ObjectType_OBJECT_DOMAIN:
		return commentOnType(r, n)
	case pg_query.ObjectType_OBJECT_FUNCTION, pg_query.ObjectType_OBJECT_PROCEDURE,
		pg_query.ObjectType_OBJECT_ROUTINE:
		return commentOnRoutine(r, n)
	case pg_query.ObjectType_OBJECT_TRIGGER:
		return commentOnTrigger(r, n)
	case pg_query.ObjectType_OBJECT_POLICY:
		return commentOnRowPolicy(r, n)
	case pg_query.ObjectType_OBJECT_DOMCONSTRAINT:
		return commentOnDomainConstraint(r, n)
	}
	return pgerr.Unsupported("COMMENT ON %s is not supported yet", kindWord(n.Objtype)).
		WithHint("Tables, views, columns, constraints, indexes, statistics, types, functions, triggers, row " +
			"policies, schemas, databases and roles can have comments.")
}

func (c *change) commentOnNamed(kind pg_query.ObjectType, name, text string) error {
	switch kind {
	case pg_query.ObjectType_OBJECT_SCHEMA:
		s, err := c.schemaNamed(name)
		if err != nil {
			return err
		}
		if err := c.mustOwnSchema(s); err != nil {
			return err
		}
		s = s.Clone()
		s.Comment = text
		return c.ch.PutSchema(s)
	case pg_query.ObjectType_OBJECT_DATABASE:
		d, err := c.databaseNamed(name)
		if err != nil {
			n := *pgerr.From(err) // a dump comments on databases that may have other names here
			n.Severity = "WARNING"
			c.notices = append(c.notices, &n)
			return nil
		}
		if err := c.mustOwnDatabase(d); err != nil {
			return err
		}
		d = d.Clone()
		d.Comment = text
		return c.ch.PutDatabase(d)
	}
	role := c.view.RoleByName(name)
	switch {
	case role == nil:
		return pgerr.New(pgerr.UndefinedObject, `role "%s" does not exist`, name)
	case !c.me.Superuser && role.Superuser:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser")
	case !c.me.Superuser && !c.me.CreateRole:
		return pgerr.New(pgerr.InsufficientPrivilege, "must have CREATEROLE privilege")
	}
	role = role.Clone()
	role.Comment = text
	return c.ch.PutRole(role)
}

func (r *runner) commentOnRelation(n *pg_query.CommentStmt) error {
	names := n.Object.GetList().GetItems()
	part := ""
	if n.Objtype == pg_query.ObjectType_OBJECT_COLUMN || n.Objtype == pg_query.ObjectType_OBJECT_TABCONSTRAINT {
		if len(names) < 2 {
			return pgerr.New(pgerr.SyntaxError, "column name must be qualified")
		}
		part = texts(names)[len(names)-1]
		names = names[:len(names)-1]
	}
	rv := rangeVarOf(names)
	if n.Objtype == pg_query.ObjectType_OBJECT_COLUMN && namesComposite(&change{runner: r, view: r.View()}, rv) {
		return commentOnAttribute(r, rv, part, n.Comment)
	}
	return r.updateReserved(func(c *change) []catalog.OID { return c.find(rv) }, func(c *change) error {
		f, err := c.relationToRename(rv)
		if err != nil {
			return err
		}
		t := f.table.Clone()
		switch {
		case n.Objtype == pg_query.ObjectType_OBJECT_INDEX && f.index == nil:
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not an index`, rv.Relname)
		case n.Objtype == pg_query.ObjectType_OBJECT_SEQUENCE && (f.index != nil || t.Sequence == nil):
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not a sequence`, rv.Relname)
		case n.Objtype == pg_query.ObjectType_OBJECT_VIEW && f.kind() != "view":
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not a view`, rv.Relname)
		case n.Objtype == pg_query.ObjectType_OBJECT_MATVIEW && f.kind() != "materialized view":
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not a materialized view`, rv.Relname)
		case n.Objtype == pg_query.ObjectType_OBJECT_TABLE && t.View != nil:
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not a table`, rv.Relname)
		case n.Objtype != pg_query.ObjectType_OBJECT_INDEX && n.Objtype != pg_query.ObjectType_OBJECT_SEQUENCE &&
			(f.index != nil || t.Sequence != nil):
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not a table`, rv.Relname)
		}
		if err := setComment(t, f.index, n.Objtype, part, n.Comment); err != nil {
			return err
		}
		return c.ch.PutTable(t)
	})
}

func setComment(t *catalog.Table, index *catalog.Index, kind pg_query.ObjectType, part, text string) error {
	switch kind {
	case pg_query.ObjectType_OBJECT_INDEX:
		for i := range t.Indexes {
			if t.Indexes[i].OID == index.OID {
				t.Indexes[i].Comment = text
			}
		}
	case pg_query.ObjectType_OBJECT_COLUMN:
		col := t.Column(part)
		if col == nil {
			return undefinedColumn(t, part)
		}
		if t.ColumnComments == nil {
			t.ColumnComments = map[int16]string{}
		}
		t.ColumnComments[col.AttNum] = text
		if text == "" {
			delete(t.ColumnComments, col.AttNum)
		}
	case pg_query.ObjectType_OBJECT_TABCONSTRAINT:
		k := t.Constraint(part)
		if k == nil {
			return pgerr.New(pgerr.UndefinedObject, `constraint "%s" for table "%s" does not exist`, part, t.Name)
		}
		k.Comment = text
	default:
		t.Comment = text
	}
	return nil
}
