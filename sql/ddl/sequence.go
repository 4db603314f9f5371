package ddl

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

func (r *runner) createSequence(n *pg_query.CreateSeqStmt) error {
	owner := ownerOption(n.Options)
	return r.updateReserved(func(c *change) []catalog.OID { return c.find(owner...) }, func(c *change) error {
		schema, err := c.target(n.Sequence)
		if err != nil {
			if e := pgerr.From(err); pgerr.Is(err, pgerr.InvalidSchemaName) {
				e.Position = 0 // PostgreSQL reports no position here
			}
			return err
		}
		if other, _ := c.view.Relation(schema.OID, n.Sequence.Relname); other != nil {
			if n.IfNotExists {
				c.noticeSkipped(relationExists(n.Sequence.Relname))
				return nil
			}
			return relationExists(n.Sequence.Relname)
		}
		x, err := c.sequenceOptions(n.Options, nil, n.ForIdentity)
		if err != nil {
			return err
		}
		t, err := c.newSequence(schema.OID, n.Sequence.Relname, c.me.OID, x.to)
		if err != nil {
			return err
		}
		if x.owner != nil {
			if err := c.ownSequence(t, x.owner); err != nil {
				return err
			}
		}
		return c.ch.PutTable(t)
	})
}

// newSequence makes the relation of a sequence.
func (c *change) newSequence(schema catalog.OID, name string, owner catalog.OID,
	s catalog.Sequence) (*catalog.Table, error) {
	oid, err := c.newOID()
	if err != nil {
		return nil, err
	}
	key, err := c.newOID()
	if err != nil {
		return nil, err
	}
	t := catalog.NewSequenceTable(oid, key, s)
	t.Database, t.Schema, t.Name, t.Owner = c.Database, schema, name, owner
	t.ACL = defaultACL(c, 'S', owner, schema)
	t.OnCommit = keptIn(c, schema)
	return t, nil
}

func (r *runner) alterSequence(n *pg_query.AlterSeqStmt) error {
	owner := ownerOption(n.Options)
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(append(owner, n.Sequence)...) },
		func(c *change) error {
			t, err := c.sequence(n.Sequence)
			if n.MissingOk && c.skipsMissing(err, n.Sequence) {
				return nil
			}
			if err != nil {
				return err
			}
			return c.changeSequence(t, n.Options, n.ForIdentity)
		})
}

// changeSequence is ALTER SEQUENCE of a locked sequence. A new state goes to a new storage, so that
// the change can be rolled back; the lock keeps other transactions from taking values of the old
// one.
func (c *change) changeSequence(t *catalog.Table, options []*pg_query.Node, identity bool) error {
	next, err := c.changedSequence(t, options, identity)
	if err != nil {
		return err
	}
	return c.ch.PutTable(next)
}

// changedSequence returns the definition of a sequence after options are applied.
func (c *change) changedSequence(t *catalog.Table, options []*pg_query.Node, identity bool) (*catalog.Table, error) {
	x, err := c.sequenceOptions(options, t, identity)
	if err != nil {
		return nil, err
	}
	next := t.Clone()
	*next.Sequence = x.to
	if x.counts {
		if err := c.newStorage(next); err != nil {
			return nil, err
		}
	}
	if x.owner != nil {
		if err := c.ownSequence(next, x.owner); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// newStorage assigns a sequence a new storage, where its state starts as defined.
func (c *change) newStorage(t *catalog.Table) error {
	id, err := c.newOID()
	if err != nil {
		return err
	}
	if err := c.dropStorage(t.Database, t.StorageID); err != nil {
		return err
	}
	t.StorageID = id
	return nil
}

// restartSequence resets a sequence to its start value.
func (c *change) restartSequence(t *catalog.Table) error {
	t = t.Clone()
	t.Sequence.Value, t.Sequence.Called = t.Sequence.Start, false
	if err := c.newStorage(t); err != nil {
		return err
	}
	return c.ch.PutTable(t)
}

// sequence finds a sequence to change.
func (c *change) sequence(rv *pg_query.RangeVar) (*catalog.Table, error) {
	f, err := c.lookup(rv)
	switch {
	case err != nil:
		return nil, err
	case f == (found{}):
		return nil, undefinedRelation(rv)
	case f.table == nil || f.index != nil || f.table.Sequence == nil:
		return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not a sequence`, rv.Relname)
	}
	if err := c.mustOwn(f.table); err != nil {
		return nil, err
	}
	return f.table, c.requireLocked(f.table)
}

// ownSequence is OWNED BY: the name of a column, or NONE.
func (c *change) ownSequence(t *catalog.Table, names []string) error {
	if t.Sequence.Internal {
		table := c.view.Table(t.Sequence.Table)
		return pgerr.Unsupported("cannot change ownership of identity sequence").
			WithDetail(`Sequence "%s" is linked to table "%s".`, t.Name, table.Name)
	}
	if len(names) == 1 {
		if names[0] != "none" {
			return pgerr.New(pgerr.SyntaxError, "invalid OWNED BY option").
				WithHint("Specify OWNED BY table.column or OWNED BY NONE.")
		}
		t.Sequence.Table, t.Sequence.Column = 0, 0
		return nil
	}
	rv := rangeVarOfTexts(names[:len(names)-1])
	f, err := c.lookup(rv)
	switch {
	case err != nil:
		return err
	case f == (found{}):
		return undefinedRelation(rv)
	case f.kind() != "table":
		return pgerr.New(pgerr.WrongObjectType, `sequence cannot be owned by relation "%s"`, rv.Relname).
			WithDetail("This operation is not supported for %s.", kindPlural(f.kind()))
	case f.system != nil:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "sequence must be in same schema as table it is linked to")
	case f.table.Owner != t.Owner:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "sequence must have same owner as table it is linked to")
	case f.table.Schema != t.Schema:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "sequence must be in same schema as table it is linked to")
	}
	col := f.table.Column(names[len(names)-1])
	if col == nil {
		return undefinedColumn(f.table, names[len(names)-1])
	}
	t.Sequence.Table, t.Sequence.Column = f.table.OID, col.AttNum
	return c.requireLocked(f.table)
}

// kindPlural returns the plural of a kind, as errdetail_relkind_not_supported does.
func kindPlural(kind string) string {
	if kind == "index" {
		return "indexes"
	}
	return kind + "s"
}

// ownerOption returns the table that OWNED BY names, to lock it.
func ownerOption(options []*pg_query.Node) []*pg_query.RangeVar {
	for _, o := range options {
		if e := o.GetDefElem(); e.GetDefname() == "owned_by" {
			if names := texts(e.Arg.GetList().GetItems()); len(names) > 1 {
				return []*pg_query.RangeVar{rangeVarOfTexts(names[:len(names)-1])}
			}
		}
	}
	return nil
}

func rangeVarOfTexts(parts []string) *pg_query.RangeVar {
	nodes := make([]*pg_query.Node, len(parts))
	for i, p := range parts {
		nodes[i] = pg_query.MakeStrNode(p)
	}
	return rangeVarOf(nodes)
}

// setSequenceSchema is ALTER SEQUENCE … SET SCHEMA, also if written as ALTER TABLE.
func (c *change) setSequenceSchema(t *catalog.Table, to string) error {
	s, err := c.schemaToFill(to, t.Name)
	if err != nil {
		return err
	}
	if owner := c.view.Table(t.Sequence.Table); owner != nil {
		return pgerr.Unsupported("cannot move an owned sequence into another schema").
			WithDetail(`Sequence "%s" is linked to table "%s".`, t.Name, owner.Name)
	}
	if s.OID == t.Schema {
		return nil
	}
	return c.setRelationSchema(t, s)
}

// setRelationSchema moves a relation to another schema.
func (c *change) setRelationSchema(t *catalog.Table, s *catalog.Schema) error {
	if err := mayMove(c, t.Schema, s); err != nil {
		return err
	}
	t = t.Clone()
	t.Schema = s.OID
	for _, name := range append([]string{t.Name}, indexNames(t)...) {
		if other, _ := c.view.Relation(s.OID, name); other != nil {
			return pgerr.New(pgerr.DuplicateTable, `relation "%s" already exists in schema "%s"`, name, s.Name)
		}
	}
	return c.ch.PutTable(t)
}

// setSequenceOwner is ALTER SEQUENCE … OWNER TO, also if written as ALTER TABLE.
func (c *change) setSequenceOwner(t *catalog.Table, spec *pg_query.RoleSpec) error {
	role, err := newOwnerIn(c, spec, t.Owner, t.Schema)
	if err != nil {
		return err
	}
	if owner := c.view.Table(t.Sequence.Table); owner != nil && role.OID != t.Owner {
		return pgerr.Unsupported(`cannot change owner of sequence "%s"`, t.Name).
			WithDetail(`Sequence "%s" is linked to table "%s".`, t.Name, owner.Name)
	}
	t = t.Clone()
	giveTable(t, role.OID)
	return c.ch.PutTable(t)
}

// sequenceNamed returns the sequence of a name, nil if there is none or another relation has the
// name.
func (c *change) sequenceNamed(rv *pg_query.RangeVar) *catalog.Table {
	f, err := c.lookup(rv)
	if err != nil || f.table == nil || f.index != nil || f.table.Sequence == nil {
		return nil
	}
	return f.table
}

// alterSequenceAs changes a sequence under an exclusive lock.
func (r *runner) alterSequenceAs(rv *pg_query.RangeVar, missingOK bool, f func(*change, *catalog.Table) error) error {
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(rv) }, func(c *change) error {
		t, err := c.sequence(rv)
		if missingOK && c.skipsMissing(err, rv) {
			return nil
		}
		if err != nil {
			return err
		}
		return f(c, t)
	})
}

// alterSequenceOwner is ALTER SEQUENCE … OWNER TO, and ALTER TABLE of a sequence; done is false for
// other statements.
func (r *runner) alterSequenceOwner(n *pg_query.AlterTableStmt) (done bool, err error) {
	c := &change{runner: r, view: r.View()}
	if n.Objtype != pg_query.ObjectType_OBJECT_SEQUENCE &&
		(n.Objtype != pg_query.ObjectType_OBJECT_TABLE || c.sequenceNamed(n.Relation) == nil) {
		return false, nil
	}
	return true, r.alterSequenceAs(n.Relation, n.MissingOk, func(c *change, t *catalog.Table) error {
		for _, k := range commands(n) {
			switch k.Subtype {
			case pg_query.AlterTableType_AT_ChangeOwner:
				if err := c.setSequenceOwner(t, k.Newowner); err != nil {
					return err
				}
			case pg_query.AlterTableType_AT_SetLogged, pg_query.AlterTableType_AT_SetUnLogged:
			default:
				return pgerr.New(pgerr.WrongObjectType, "ALTER action %s cannot be performed on relation \"%s\"",
					actionWord(k.Subtype), t.Name).
					WithDetail("This operation is not supported for sequences.")
			}
		}
		return nil
	})
}

// actionWord names a sub-command of ALTER TABLE (alter_table_type_to_string), for those that name a
// sequence by mistake.
func actionWord(k pg_query.AlterTableType) string {
	switch k {
	case pg_query.AlterTableType_AT_AddColumn:
		return "ADD COLUMN"
	case pg_query.AlterTableType_AT_DropColumn:
		return "DROP COLUMN"
	case pg_query.AlterTableType_AT_ColumnDefault:
		return "ALTER COLUMN ... SET DEFAULT"
	case pg_query.AlterTableType_AT_AddConstraint:
		return "ADD CONSTRAINT"
	case pg_query.AlterTableType_AT_AlterColumnType:
		return "ALTER COLUMN ... SET DATA TYPE"
	}
	return "ALTER"
}
