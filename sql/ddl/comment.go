package ddl

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// comment is COMMENT ON; an empty text removes the comment.
func (r *runner) comment(n *pg_query.CommentStmt) error {
	switch n.Objtype {
	case pg_query.ObjectType_OBJECT_SCHEMA, pg_query.ObjectType_OBJECT_DATABASE, pg_query.ObjectType_OBJECT_ROLE:
		name := n.Object.GetString_().GetSval()
		return r.update(func(c *change) error { return c.commentOnNamed(n.Objtype, name, n.Comment) })
	case pg_query.ObjectType_OBJECT_TABLE, pg_query.ObjectType_OBJECT_SEQUENCE, pg_query.ObjectType_OBJECT_VIEW,
		pg_query.ObjectType_OBJECT_INDEX,
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
	case pg_query.ObjectType_OBJECT_DOMCONSTRAINT:
		return commentOnDomainConstraint(r, n)
	}
	return pgerr.Unsupported("COMMENT ON %s is not supported yet", kindWord(n.Objtype)).
		WithHint("Tables, views, columns, constraints, indexes, statistics, types, functions, triggers, schemas, " +
			"databases and roles can have comments.")
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
		case n.Objtype == pg_query.ObjectType_OBJECT_VIEW && (f.index != nil || t.View == nil):
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not a view`, rv.Relname)
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
