package ddl

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/query"
)

func (r *runner) alterTable(n *pg_query.AlterTableStmt) error {
	if n.Objtype == pg_query.ObjectType_OBJECT_INDEX {
		return r.alterIndex(n)
	}
	if done, err := r.alterSequenceOwner(n); done {
		return err
	}
	if kind := viewKind(&change{runner: r, view: r.View()}, n.Objtype, n.Relation); kind != "" {
		return alterView(r, n, kind)
	}
	if n.Objtype == pg_query.ObjectType_OBJECT_TYPE {
		return alterComposite(r, n)
	}
	if n.Objtype != pg_query.ObjectType_OBJECT_TABLE {
		return r.alterOther(n)
	}
	if k := onlyValidation(n); k != nil {
		return r.validatePolicyOf(n)
	}
	return r.referring(func(c *change) []catalog.OID { return c.withReferring(c.find(n.Relation), cascadesIn(n.Cmds)) },
		referred(n.Cmds), func(c *change) error {
			t, err := c.table(n.Relation)
			if n.MissingOk && c.skipsMissing(err, n.Relation) {
				return nil
			}
			if err != nil {
				return err
			}
			return c.alter(t, commands(n))
		})
}

func commands(n *pg_query.AlterTableStmt) []*pg_query.AlterTableCmd {
	var out []*pg_query.AlterTableCmd
	for _, c := range n.Cmds {
		out = append(out, c.GetAlterTableCmd())
	}
	return out
}

// alterOther refuses ALTER of other kinds of relations: they cannot be created yet, and an index
// has no options.
func (r *runner) alterOther(n *pg_query.AlterTableStmt) error {
	return r.update(func(c *change) error {
		f, err := c.lookup(n.Relation)
		if err == nil && f == (found{}) {
			err = undefinedRelation(n.Relation)
		}
		if n.MissingOk && c.skipsMissing(err, n.Relation) {
			return nil
		}
		if err != nil {
			return err
		}
		return pgerr.Unsupported("ALTER %s is not supported yet", kindWord(n.Objtype)).
			WithHint("Use ALTER TABLE for tables, and ALTER TABLE … RENAME CONSTRAINT for a primary key's index.")
	})
}

// passes order the sub-commands as PostgreSQL does: drops first, then types, new columns, their
// attributes, and constraints.
const (
	passDrop = iota
	passType
	passAddColumn
	passColumn
	passConstraint
	passRest
)

func passOf(k *pg_query.AlterTableCmd) int {
	switch k.Subtype {
	case pg_query.AlterTableType_AT_DropColumn, pg_query.AlterTableType_AT_DropConstraint,
		pg_query.AlterTableType_AT_DropNotNull, pg_query.AlterTableType_AT_DropExpression,
		pg_query.AlterTableType_AT_DropIdentity:
		return passDrop
	case pg_query.AlterTableType_AT_AlterColumnType:
		return passType
	case pg_query.AlterTableType_AT_AddColumn:
		return passAddColumn
	case pg_query.AlterTableType_AT_SetNotNull:
		return passColumn
	case pg_query.AlterTableType_AT_ColumnDefault:
		if k.Def == nil {
			return passDrop
		}
		return passConstraint
	case pg_query.AlterTableType_AT_AddConstraint, pg_query.AlterTableType_AT_AddIdentity:
		return passConstraint
	}
	return passRest
}

// newDraft returns a draft of an existing table.
func newDraft(c *change, t *catalog.Table) *draft {
	return &draft{change: c, t: t.Clone(), was: t, becomes: map[int16]query.Expr{}, filled: c.rowsOf(t)}
}

// alter applies sub-commands to a table, all in one change.
func (c *change) alter(t *catalog.Table, list []*pg_query.AlterTableCmd) error {
	d := newDraft(c, t)
	slices.SortStableFunc(list, func(a, b *pg_query.AlterTableCmd) int { return passOf(a) - passOf(b) })
	for _, k := range list {
		if err := d.command(k); err != nil {
			return err
		}
	}
	if err := d.analyzeExpressions(); err != nil {
		return err
	}
	if err := d.addPrimaryKey(); err != nil {
		return err
	}
	if err := d.recheck(); err != nil {
		return err
	}
	if err := d.applyOptions(d.keyChanged); err != nil {
		return err
	}
	if err := d.addUniques(); err != nil {
		return err
	}
	if err := d.addForeignKeys(); err != nil {
		return err
	}
	if err := d.checkForwarding(); err != nil {
		return err
	}
	if err := d.runScans(); err != nil {
		return err
	}
	if err := d.verifyForeignKeys(); err != nil {
		return err
	}
	if err := d.dropRecordedKeys(d.t.OID); err != nil {
		return err
	}
	return d.putTable()
}

// putTable stores the draft as the table's definition. New indexes are filled after the change has
// been made.
func (d *draft) putTable() error {
	if err := d.checkForwarding(); err != nil {
		return err
	}
	if d.restored {
		return d.putRestored()
	}
	d.fill(d.t.OID, d.fills)
	return d.ch.PutTable(d.t)
}

// rowsOf returns a function that reports whether a table has rows. It queries the table once.
func (c *change) rowsOf(t *catalog.Table) func() (bool, error) {
	asked, filled := false, false
	return func() (bool, error) {
		if asked {
			return filled, nil
		}
		empty, err := c.isEmpty(t)
		asked, filled = err == nil, !empty
		return filled, err
	}
}

func (d *draft) command(k *pg_query.AlterTableCmd) error {
	switch k.Subtype {
	case pg_query.AlterTableType_AT_AddColumn:
		return d.addColumn(k)
	case pg_query.AlterTableType_AT_DropColumn:
		return d.dropColumn(k)
	case pg_query.AlterTableType_AT_ColumnDefault:
		return d.columnDefault(k)
	case pg_query.AlterTableType_AT_SetNotNull:
		return d.setNotNull(k)
	case pg_query.AlterTableType_AT_DropNotNull:
		return d.dropNotNull(k)
	case pg_query.AlterTableType_AT_DropExpression:
		return d.dropExpression(k)
	case pg_query.AlterTableType_AT_AlterColumnType:
		return d.alterType(k)
	case pg_query.AlterTableType_AT_AddConstraint:
		return d.addConstraint(k.Def.GetConstraint())
	case pg_query.AlterTableType_AT_DropConstraint:
		return d.dropConstraint(k)
	case pg_query.AlterTableType_AT_ValidateConstraint:
		return d.validateConstraint(k)
	case pg_query.AlterTableType_AT_ChangeOwner:
		return d.changeOwner(k.Newowner)
	case pg_query.AlterTableType_AT_SetRelOptions, pg_query.AlterTableType_AT_ResetRelOptions:
		return d.changeOptions(k)
	}
	return d.otherCommand(k)
}

// otherCommand accepts sub-commands that have no effect in Sherd, and refuses the rest.
func (d *draft) otherCommand(k *pg_query.AlterTableCmd) error {
	switch k.Subtype {
	case pg_query.AlterTableType_AT_SetStatistics:
		return setStatistics(d, k)
	case pg_query.AlterTableType_AT_EnableTrig, pg_query.AlterTableType_AT_EnableAlwaysTrig,
		pg_query.AlterTableType_AT_EnableReplicaTrig, pg_query.AlterTableType_AT_DisableTrig,
		pg_query.AlterTableType_AT_EnableTrigAll, pg_query.AlterTableType_AT_DisableTrigAll,
		pg_query.AlterTableType_AT_EnableTrigUser, pg_query.AlterTableType_AT_DisableTrigUser:
		return enableTriggers(d, k)
	case pg_query.AlterTableType_AT_SetStorage,
		pg_query.AlterTableType_AT_SetOptions, pg_query.AlterTableType_AT_ResetOptions,
		pg_query.AlterTableType_AT_SetCompression:
		if k.Name == "" {
			return nil
		}
		_, err := d.liveColumn(k.Name)
		return err
	case pg_query.AlterTableType_AT_SetLogged, pg_query.AlterTableType_AT_SetUnLogged,
		pg_query.AlterTableType_AT_DropOids, pg_query.AlterTableType_AT_DropCluster,
		pg_query.AlterTableType_AT_ReplicaIdentity:
		return nil
	case pg_query.AlterTableType_AT_ClusterOn:
		return pgerr.Unsupported("CLUSTER ON is not supported").
			WithHint("Rows lie in the order of their buckets and keys.")
	case pg_query.AlterTableType_AT_EnableRowSecurity, pg_query.AlterTableType_AT_ForceRowSecurity,
		pg_query.AlterTableType_AT_DisableRowSecurity, pg_query.AlterTableType_AT_NoForceRowSecurity:
		switchRowSecurity(d.t, k.Subtype)
		return nil
	case pg_query.AlterTableType_AT_AddIdentity:
		return d.addIdentity(k)
	case pg_query.AlterTableType_AT_SetIdentity:
		return d.setIdentity(k)
	case pg_query.AlterTableType_AT_DropIdentity:
		return d.dropIdentity(k)
	case pg_query.AlterTableType_AT_AlterConstraint:
		return d.alterConstraint(k.Def.GetConstraint())
	}
	return pgerr.Unsupported("this form of ALTER TABLE is not supported yet").
		WithHint("Columns, NOT NULL, defaults, types, constraints, names, owner and parameters can be changed.")
}

// liveColumn returns the column of a name that is not dropped.
func (d *draft) liveColumn(name string) (*catalog.Column, error) {
	if systemColumns[name] {
		return nil, pgerr.Unsupported(`cannot alter system column "%s"`, name)
	}
	col := d.t.Column(name)
	if col == nil {
		return nil, undefinedColumn(d.t, name)
	}
	return col, nil
}

func undefinedColumn(t *catalog.Table, name string) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedColumn, `column "%s" of relation "%s" does not exist`, name, t.Name)
}

func (d *draft) addConstraint(k *pg_query.Constraint) error {
	if err := d.constraint(k, ""); err != nil {
		return err
	}
	// A constraint sees the columns as they are now; the key is added later, when its columns are
	// NOT NULL.
	return d.analyzeExpressions()
}

func (d *draft) dropConstraint(k *pg_query.AlterTableCmd) error {
	if d.dropSharding(k.Name) {
		return nil
	}
	con := d.t.Constraint(k.Name)
	if con == nil {
		err := pgerr.New(pgerr.UndefinedObject, `constraint "%s" of relation "%s" does not exist`, k.Name, d.t.Name)
		if k.MissingOk {
			d.noticeSkipped(err)
			return nil
		}
		return err
	}
	index := con.Index
	if con.Kind == catalog.PrimaryKey || con.Kind == catalog.Unique {
		what := "constraint " + con.Name + " on table " + d.t.Name
		if err := d.releaseKey(what, index, con.Name, con.Kind == catalog.PrimaryKey, k.Behavior); err != nil {
			return err
		}
		con = d.t.Constraint(k.Name)
	}
	switch con.Kind {
	case catalog.PrimaryKey:
		return d.dropKey(con)
	case catalog.Unique:
		d.removeConstraint(k.Name)
		return d.dropIndex(index)
	}
	d.removeConstraint(k.Name)
	return nil
}

func (d *draft) removeConstraint(name string) {
	d.t.Constraints = slices.DeleteFunc(d.t.Constraints, func(k catalog.Constraint) bool { return k.Name == name })
}

// dropKey drops the primary key; its columns stay NOT NULL. A sharding policy or key ranges become
// pending until the table has a key again, because pg_dump --clean drops keys before tables.
func (d *draft) dropKey(con *catalog.Constraint) error {
	d.keyChanged, d.restored = true, true
	index := con.Index
	d.removeConstraint(con.Name)
	d.t.Indexes = slices.DeleteFunc(d.t.Indexes, func(x catalog.Index) bool { return x.OID == index })
	return nil
}

func (d *draft) validateConstraint(k *pg_query.AlterTableCmd) error {
	con := d.t.Constraint(k.Name)
	if con == nil {
		if k.Name == shardmap.ConstraintName && d.t.Policy != nil {
			return pgerr.Unsupported("validating the sharding policy together with other changes is not supported").
				WithHint("Send ALTER TABLE %s VALIDATE CONSTRAINT %s by itself.", d.quoted(d.view, d.t),
					shardmap.ConstraintName)
		}
		return pgerr.New(pgerr.UndefinedObject, `constraint "%s" of relation "%s" does not exist`, k.Name, d.t.Name)
	}
	if con.Kind == catalog.ForeignKey {
		if !con.Valid {
			con.Valid = true
			d.proofs = append(d.proofs, con.OID)
		}
		return nil
	}
	if con.Kind != catalog.Check {
		return pgerr.New(pgerr.WrongObjectType,
			`constraint "%s" of relation "%s" is not a foreign key or check constraint`, k.Name, d.t.Name)
	}
	if !con.Valid {
		con.Valid = true
		d.scans = append(d.scans, checkScan(d.t, con))
	}
	return nil
}

func (d *draft) changeOwner(spec *pg_query.RoleSpec) error {
	role, err := d.newOwner(spec)
	if err != nil {
		return err
	}
	if !d.owns(d.t.Owner) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", d.t.Name)
	}
	if _, err := newOwnerIn(d.change, spec, d.t.Owner, d.t.Schema); err != nil {
		return err
	}
	giveTable(d.t, role.OID)
	if err := d.moveParts(d.t); err != nil {
		return err
	}
	for _, s := range d.view.OwnedSequences(d.t) {
		if err := d.requireLocked(s); err != nil {
			return err
		}
		s = s.Clone()
		giveTable(s, role.OID)
		if err := d.ch.PutTable(s); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) changeOptions(k *pg_query.AlterTableCmd) error {
	o, err := d.readOptions(k.Def.GetList().GetItems(), k.Subtype == pg_query.AlterTableType_AT_ResetRelOptions)
	if err != nil {
		return err
	}
	if d.options.set == nil {
		d.options.set = map[string]string{}
	}
	for name, v := range o.set {
		d.options.set[name] = v
		d.options.reset = slices.DeleteFunc(d.options.reset, func(r string) bool { return r == name })
	}
	for _, name := range o.reset {
		delete(d.options.set, name)
		d.options.reset = append(d.options.reset, name)
	}
	if d.touches(catalog.PrefixOption) {
		return pgerr.Unsupported(`option "%s" can only be given to a new table`, catalog.PrefixOption).
			WithHint("Use sherd.set_prefix and sherd.drop_prefix.")
	}
	if d.touches(optionFormer) {
		return pgerr.Unsupported(`option "%s" can only be given to a new table`, optionFormer).
			WithHint("Use sherd.replace_placement and sherd.drop_forwarding.")
	}
	if d.touches(optionKeyOrder) && d.t.PrimaryKey() != nil {
		return d.changeKeyOrder()
	}
	return nil
}

// changeKeyOrder adds or drops the index in primary key order.
func (d *draft) changeKeyOrder() error {
	pk := d.t.PrimaryKey()
	if d.keyOrder() == (pk.Index != 0) {
		return nil
	}
	d.restored = true
	if pk.Index != 0 {
		d.t.Indexes = slices.DeleteFunc(d.t.Indexes, func(x catalog.Index) bool { return x.OID == pk.Index })
		pk.Index = 0
		return nil
	}
	oid, err := d.newOID()
	if err != nil {
		return err
	}
	pk.Index = oid
	d.t.Indexes = append(d.t.Indexes, catalog.Index{
		OID: oid, Name: pk.Name, StorageID: keyStorage, Columns: pk.Columns, Unique: true, Primary: true,
	})
	return nil
}
