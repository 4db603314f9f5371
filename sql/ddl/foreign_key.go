package ddl

import (
	"context"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/refint"
	"github.com/sherddb/sherd/sql/types"
)

// pendingForeign is a foreign key that is added when all columns and keys of its table are known,
// because it may refer to the table itself.
type pendingForeign struct {
	k          *pg_query.Constraint
	columns    []string
	deferrable bool
	deferred   bool
	fixed      bool // NOT DEFERRABLE
}

// foreignKey records a foreign key of the table, or of the named column.
func (d *draft) foreignKey(k *pg_query.Constraint, column string) {
	f := pendingForeign{k: k, columns: texts(k.FkAttrs), deferrable: k.Deferrable, deferred: k.Initdeferred}
	if column != "" {
		f.columns = []string{column}
	}
	d.foreign = append(d.foreign, f)
}

// referred returns the tables that a statement's foreign keys refer to, as the statement names
// them.
func referred(list []*pg_query.Node) []*pg_query.RangeVar {
	var out []*pg_query.RangeVar
	add := func(n *pg_query.Node) {
		// nil for ALTER CONSTRAINT
		if k := n.GetConstraint(); k.GetContype() == pg_query.ConstrType_CONSTR_FOREIGN && k.Pktable != nil {
			out = append(out, k.Pktable)
		}
	}
	for _, n := range list {
		if c := n.GetAlterTableCmd(); c != nil {
			n = c.Def
		}
		add(n)
		for _, k := range n.GetColumnDef().GetConstraints() {
			add(k)
		}
	}
	return out
}

// referring is updateExclusive for statements that add foreign keys. It also blocks writers of the
// referenced tables, because they do not check the new keys yet.
func (r *runner) referring(find func(*change) []catalog.OID, refs []*pg_query.RangeVar, f func(*change) error) error {
	if len(refs) == 0 {
		return r.updateExclusive(find, f)
	}
	var own []catalog.OID
	both := func(c *change) []catalog.OID {
		own = find(c)
		all := slices.Clone(own)
		for _, oid := range c.find(refs...) {
			if !slices.Contains(all, oid) {
				all = append(all, oid)
			}
		}
		return all
	}
	lock := func(ctx context.Context, tables []catalog.OID) error {
		if err := r.Lock(ctx, own); err != nil {
			return err
		}
		return r.Quiet(ctx, slices.DeleteFunc(slices.Clone(tables),
			func(oid catalog.OID) bool { return slices.Contains(own, oid) }))
	}
	return r.locking(lock, both, f)
}

// addForeignKeys adds the foreign keys.
func (d *draft) addForeignKeys() error {
	for _, f := range d.foreign {
		if err := d.addForeignKey(f); err != nil {
			return err
		}
	}
	d.foreign = nil
	return nil
}

func (d *draft) addForeignKey(f pendingForeign) error {
	name := f.k.Conname
	if name == "" {
		name = d.chooseName(d.t.Schema, d.t, strings.Join(f.columns, "_"), "fkey", false)
	} else if hasConstraint(d.t, name) {
		return duplicateConstraint(d.t, name)
	}
	parent, err := d.referredTable(f.k.Pktable)
	if err != nil {
		return err
	}
	if err := samePersistence(d.t, parent); err != nil {
		return err
	}
	con := catalog.Constraint{
		Name: name, Kind: catalog.ForeignKey, Deferrable: f.deferrable || f.deferred, InitiallyDeferred: f.deferred,
		Valid: !f.k.SkipValidation || d.was == nil,
		Reference: &catalog.Reference{
			Table: parent.OID, Match: catalog.MatchSimple, OnUpdate: actionOf(f.k.FkUpdAction),
			OnDelete: actionOf(f.k.FkDelAction),
		},
	}
	if f.k.FkMatchtype == "f" {
		con.Reference.Match = catalog.MatchFull
	}
	if con.Columns, err = foreignColumns(d.t, f.columns); err != nil {
		return err
	}
	if err := d.referredKey(parent, f.k, con.Reference); err != nil {
		return err
	}
	if err := mayRefer(d, parent, con.Reference.Columns); err != nil {
		return err
	}
	if len(con.Columns) != len(con.Reference.Columns) {
		return pgerr.New(pgerr.InvalidForeignKey,
			"number of referencing and referenced columns for foreign key disagree")
	}
	if err := d.checkActions(&con, texts(f.k.FkDelSetCols)); err != nil {
		return err
	}
	if err := checkKeyTypes(d.change, d.t, parent, &con); err != nil {
		return err
	}
	if con.OID, err = d.newOID(); err != nil {
		return err
	}
	d.t.Constraints = append(d.t.Constraints, con)
	if con.Valid {
		d.proofs = append(d.proofs, con.OID)
	}
	return nil
}

// mayRefer returns an error unless the role may refer to columns of a table.
func mayRefer(d *draft, parent *catalog.Table, columns []int16) error {
	me := subject(d.change)
	if parent.OID == d.t.OID || me.Relation(parent, acl.References, true) != 0 {
		return nil
	}
	for _, att := range columns {
		if c := parent.ColumnByNum(att); c == nil || me.Column(parent, c, acl.References, true) == 0 {
			return privilege.Denied(parent)
		}
	}
	return nil
}

func actionOf(letter string) catalog.Action {
	if letter == "" {
		return catalog.NoAction
	}
	return catalog.Action(letter[0])
}

// referredTable finds the table that a foreign key refers to, which may be the draft itself.
func (d *draft) referredTable(rv *pg_query.RangeVar) (*catalog.Table, error) {
	f, err := d.lookup(rv)
	if err != nil {
		return nil, err
	}
	if d.was == nil && f == (found{}) && rv.Relname == d.t.Name {
		if s := d.view.Schema(d.t.Schema); rv.Schemaname == "" || s != nil && rv.Schemaname == s.Name {
			return d.t, nil
		}
	}
	switch {
	case f.system != nil:
		return nil, pgerr.New(pgerr.InsufficientPrivilege, `permission denied: "%s" is a system catalog`, f.system.Name)
	case f.table == nil:
		return nil, undefinedRelation(rv)
	case f.table.OID == d.t.OID && f.index == nil:
		return d.t, nil
	case f.index != nil:
		return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is an index`, rv.Relname)
	case f.table.Kind != catalog.KindTable:
		return nil, pgerr.New(pgerr.WrongObjectType, `referenced relation "%s" is not a table`, rv.Relname)
	}
	return f.table, d.requireLocked(f.table)
}

func foreignColumns(t *catalog.Table, list []string) ([]int16, error) {
	if len(list) > maxKeyColumns {
		return nil, pgerr.New(pgerr.TooManyColumns, "cannot have more than %d keys in a foreign key", maxKeyColumns)
	}
	var out []int16
	for _, name := range list {
		col := t.Column(name)
		if col == nil {
			if systemColumns[name] {
				return nil, pgerr.Unsupported("system columns cannot be used in foreign keys")
			}
			return nil, pgerr.New(pgerr.UndefinedColumn,
				`column "%s" referenced in foreign key constraint does not exist`, name)
		}
		out = append(out, col.AttNum)
	}
	return out, nil
}

// referredKey finds the columns that a foreign key refers to, and their unique index.
func (d *draft) referredKey(t *catalog.Table, k *pg_query.Constraint, ref *catalog.Reference) error {
	pk := t.PrimaryKey()
	if pk == nil {
		pk = t.DeferrableKey()
	}
	if len(k.PkAttrs) == 0 {
		if pk == nil {
			return pgerr.New(pgerr.UndefinedObject, `there is no primary key for referenced table "%s"`, t.Name)
		}
		if pk.Deferrable {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`cannot use a deferrable primary key for referenced table "%s"`, t.Name)
		}
		ref.Columns = slices.Clone(pk.Columns)
		return nil
	}
	var err error
	if ref.Columns, err = foreignColumns(t, texts(k.PkAttrs)); err != nil {
		return err
	}
	for i, n := range ref.Columns {
		if slices.Contains(ref.Columns[:i], n) {
			return pgerr.New(pgerr.InvalidForeignKey, "foreign key referenced-columns list must not contain duplicates")
		}
	}
	if pk != nil && !pk.Deferrable && sameSet(pk.Columns, ref.Columns) {
		return nil
	}
	deferrable := pk != nil && pk.Deferrable && sameSet(pk.Columns, ref.Columns)
	for i := range t.Indexes {
		x := &t.Indexes[i]
		if x.Primary || !x.Unique || x.Predicate != "" || len(x.Expressions) > 0 || x.State != catalog.IndexPublic ||
			!sameSet(x.Columns, ref.Columns) {
			continue
		}
		if con := t.ConstraintOf(x.OID); con != nil && con.Deferrable {
			deferrable = true
			continue
		}
		ref.Index = x.OID
		return nil
	}
	if deferrable {
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`cannot use a deferrable unique constraint for referenced table "%s"`, t.Name)
	}
	return pgerr.New(pgerr.InvalidForeignKey,
		`there is no unique constraint matching given keys for referenced table "%s"`, t.Name)
}

func sameSet(a, b []int16) bool {
	if len(a) != len(b) {
		return false
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// checkActions returns an error if an action cannot set the columns that it would set.
func (d *draft) checkActions(con *catalog.Constraint, only []string) error {
	ref := con.Reference
	for _, name := range only {
		col := d.t.Column(name)
		if col == nil {
			return pgerr.New(pgerr.UndefinedColumn, `column "%s" referenced in foreign key constraint does not exist`,
				name)
		}
		if !slices.Contains(con.Columns, col.AttNum) {
			return pgerr.New(pgerr.InvalidColumnReference,
				`column "%s" referenced in ON DELETE SET action must be part of foreign key`, name)
		}
		if !slices.Contains(ref.DeleteColumns, col.AttNum) {
			ref.DeleteColumns = append(ref.DeleteColumns, col.AttNum)
		}
	}
	for _, n := range con.Columns {
		if d.t.ColumnByNum(n).Generated == "" {
			continue
		}
		if ref.OnUpdate == catalog.SetNull || ref.OnUpdate == catalog.SetDefault || ref.OnUpdate == catalog.Cascade {
			return pgerr.New(pgerr.SyntaxError,
				"invalid ON UPDATE action for foreign key constraint containing generated column")
		}
		if ref.OnDelete == catalog.SetNull || ref.OnDelete == catalog.SetDefault {
			return pgerr.New(pgerr.SyntaxError,
				"invalid ON DELETE action for foreign key constraint containing generated column")
		}
	}
	return nil
}

// checkKeyTypes returns an error if the columns of a foreign key cannot be compared with those that
// it refers to.
func checkKeyTypes(change *change, child, parent *catalog.Table, con *catalog.Constraint) error {
	for i, n := range con.Columns {
		c, p := child.ColumnByNum(n), parent.ColumnByNum(con.Reference.Columns[i])
		if comparable(c.Type, p.Type) {
			continue
		}
		return pgerr.New(pgerr.DatatypeMismatch, `foreign key constraint "%s" cannot be implemented`, con.Name).
			WithDetail(`Key columns "%s" and "%s" are of incompatible types: %s and %s.`, c.Name, p.Name,
				formatType(change, c.Type, -1), formatType(change, p.Type, -1))
	}
	return nil
}

// families are groups of types whose btree operators compare any two of the group.
var families = [][]types.OID{
	{types.Int2, types.Int4, types.Int8}, {types.Float4, types.Float8},
	{types.Date, types.Timestamp, types.TimestampTZ}, {types.Text, types.VarChar, types.Name},
}

// comparable reports whether a value of type child can be looked up in an index over type parent:
// by an operator of the index, or after an implicit cast.
func comparable(child, parent types.OID) bool {
	child, parent = types.BaseOf(child), types.BaseOf(parent)
	if child == parent {
		return true
	}
	for _, f := range families {
		if slices.Contains(f, child) && slices.Contains(f, parent) {
			return true
		}
	}
	cast := pgcatalog.CastBetween(child, parent)
	return cast != nil && cast.Context == 'i'
}

// verifyForeignKeys verifies new foreign keys against existing rows.
func (d *draft) verifyForeignKeys() error {
	if d.restored && d.was != nil {
		d.proveLater = d.keysToVerify()
		return nil
	}
	if len(d.proofs) == 0 || d.was == nil {
		return nil
	}
	filled, err := d.filled()
	if err != nil || !filled {
		return err
	}
	view, err := d.relaxed()
	if err != nil {
		return err
	}
	for _, oid := range d.proofs {
		i := slices.IndexFunc(d.t.Constraints, func(c catalog.Constraint) bool { return c.OID == oid })
		key := refint.Of(d.view, d.t, &d.t.Constraints[i])
		err := d.Query(d.ctx, view, key.Orphans(1), func(row []types.Datum) error { return key.Broken(row, d.Env.Env) })
		if err != nil {
			return err
		}
	}
	return nil
}
