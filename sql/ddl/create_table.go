package ddl

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

func (r *runner) createTable(n *pg_query.CreateStmt) error {
	if err := checkCreateClauses(n); err != nil {
		return err
	}
	if err := r.restorePrefixes(n.Options); err != nil {
		return err
	}
	return r.referring(func(*change) []catalog.OID { return nil }, referred(slices.Concat(n.TableElts, n.Constraints)),
		func(c *change) error {
			schema, err := c.target(n.Relation)
			if err != nil {
				return err
			}
			if other, _ := c.view.Relation(schema.OID, n.Relation.Relname); other != nil && n.IfNotExists {
				c.noticeSkipped(relationExists(n.Relation.Relname))
				return nil
			}
			if isComposite(c, schema.OID, n.Relation.Relname) {
				return relationExists(n.Relation.Relname)
			}
			t, err := c.newTable(n, schema)
			if err != nil {
				return err
			}
			return c.ch.PutTable(t)
		})
}

const hintTypeName = "A relation has an associated type of the same name, so you must use a name that doesn't " +
	"conflict with any existing type."

func relationExists(name string) *pgerr.Error {
	return pgerr.New(pgerr.DuplicateTable, `relation "%s" already exists`, name)
}

// checkCreateClauses refuses clauses that CREATE TABLE does not support yet.
func checkCreateClauses(n *pg_query.CreateStmt) error {
	switch {
	case len(n.InhRelations) > 0 && n.Partbound != nil:
		return pgerr.Unsupported("PARTITION OF is not supported").
			WithHint("Rows are spread over fragments by their key; see shard_by.")
	case len(n.InhRelations) > 0:
		return pgerr.Unsupported("INHERITS is not supported").WithHint("Repeat the columns.")
	case n.Partspec != nil:
		return pgerr.Unsupported("PARTITION BY is not supported").
			WithHint("Rows are spread over fragments by their key; see shard_by.")
	case n.OfTypename != nil:
		return pgerr.Unsupported("CREATE TABLE OF is not supported yet").WithHint("Write the columns out.")
	case n.Tablespacename != "" && n.Tablespacename != "pg_default":
		return pgerr.New(pgerr.UndefinedObject, `tablespace "%s" does not exist`, n.Tablespacename)
	case n.AccessMethod != "" && n.AccessMethod != "heap":
		return pgerr.New(pgerr.UndefinedObject, `access method "%s" does not exist`, n.AccessMethod)
	}
	return nil
}

// newTable builds the definition of a new table.
func (c *change) newTable(n *pg_query.CreateStmt, schema *catalog.Schema) (*catalog.Table, error) {
	oid, err := c.newOID()
	if err != nil {
		return nil, err
	}
	d := &draft{change: c, filled: func() (bool, error) { return false, nil }}
	d.t = &catalog.Table{
		OID: oid, Database: c.Database, Schema: schema.OID, Name: n.Relation.Relname, Owner: c.me.OID,
		Kind: catalog.KindTable, StorageID: oid, NextAttNum: 1,
	}
	d.t.ACL = defaultACL(c, 'r', c.me.OID, schema.OID)
	if d.t.OnCommit, err = onCommit(schema, n.Oncommit); err != nil {
		return nil, err
	}
	if err := d.elements(n); err != nil {
		return nil, err
	}
	if err := d.checkColumns(0); err != nil {
		return nil, err
	}
	if other, _ := c.view.Relation(schema.OID, d.t.Name); other != nil {
		return nil, relationExists(d.t.Name)
	}
	if err := checkTypeName(c, schema.OID, d.t.Name); err != nil {
		return nil, err.WithHint(hintTypeName)
	}
	if d.options, err = d.readOptions(n.Options, false); err != nil {
		return nil, err
	}
	if err := d.analyzeExpressions(); err != nil {
		return nil, err
	}
	if err := d.addPrimaryKey(); err != nil {
		return nil, err
	}
	if err := d.applyOptions(true); err != nil {
		return nil, err
	}
	if err := d.restoreForwarding(); err != nil {
		return nil, err
	}
	if err := d.addUniques(); err != nil {
		return nil, err
	}
	if err := d.copyIndexes(); err != nil {
		return nil, err
	}
	return d.t, d.addForeignKeys()
}

func (d *draft) elements(n *pg_query.CreateStmt) error {
	for _, e := range n.TableElts {
		switch x := e.Node.(type) {
		case *pg_query.Node_ColumnDef:
			if err := d.column(x.ColumnDef, false); err != nil {
				return err
			}
		case *pg_query.Node_Constraint:
			if err := d.constraint(x.Constraint, ""); err != nil {
				return err
			}
		case *pg_query.Node_TableLikeClause:
			if err := d.like(x.TableLikeClause); err != nil {
				return err
			}
		default:
			return pgerr.Unsupported("this element of CREATE TABLE is not supported yet")
		}
	}
	for _, k := range n.Constraints {
		if err := d.constraint(k.GetConstraint(), ""); err != nil {
			return err
		}
	}
	return nil
}
