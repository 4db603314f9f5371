package ddl

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// createComposite is CREATE TYPE … AS (…).
func createComposite(r *runner, n *pg_query.CompositeTypeStmt) error {
	return unplaced(r.update(func(c *change) error {
		s, err := c.target(n.Typevar)
		if err != nil {
			return err
		}
		name := n.Typevar.Relname
		if err := checkTypeName(c, s.OID, name); err != nil {
			return err
		}
		t := &catalog.Type{Database: c.Database, Schema: s.OID, Name: name, Owner: c.me.OID,
			Kind: catalog.CompositeType, ACL: defaultACL(c, 'T', c.me.OID, s.OID)}
		if t.OID, err = c.newOID(); err != nil {
			return err
		}
		for _, d := range n.Coldeflist {
			def := d.GetColumnDef()
			if liveAttribute(t, def.Colname) != nil {
				return pgerr.New(pgerr.DuplicateColumn, `column "%s" specified more than once`, def.Colname)
			}
			if err := addAttribute(c, t, def); err != nil {
				return err
			}
		}
		return t.Put(c.ch)
	}))
}

// isComposite reports whether a schema has a composite type of a name, which is a relation too.
func isComposite(c *change, schema catalog.OID, name string) bool {
	t := catalog.TypeNamed(c.view, schema, name)
	return t != nil && t.Kind == catalog.CompositeType
}

// isTableRow reports whether a type is the row type of a table, or an array of it. Such values cannot be
// stored: the table changes without them.
func isTableRow(v *catalog.View, oid types.OID) bool {
	if elem := types.ElemOf(oid); elem != 0 {
		oid = elem
	}
	return types.IsComposite(oid) && catalog.TypeByOID(v, catalog.TypeNumber(oid)) == nil
}

func liveAttribute(t *catalog.Type, name string) *catalog.Attribute {
	for i := range t.Attributes {
		if a := &t.Attributes[i]; a.Name == name && !a.Dropped {
			return a
		}
	}
	return nil
}

// addAttribute adds an attribute behind the others.
func addAttribute(c *change, t *catalog.Type, def *pg_query.ColumnDef) error {
	const most = 1600
	if len(t.Attributes) >= most {
		return pgerr.New(pgerr.TooManyColumns, "tables can have at most %d columns", most)
	}
	a := catalog.Attribute{Number: int16(len(t.Attributes) + 1), Name: def.Colname}
	if err := setAttributeType(c, t, &a, def); err != nil {
		return err
	}
	t.Attributes = append(t.Attributes, a)
	return nil
}

func setAttributeType(c *change, t *catalog.Type, a *catalog.Attribute, def *pg_query.ColumnDef) (err error) {
	if a.Type, a.Typmod, err = usableType(c, def.TypeName); err != nil {
		return err
	}
	if err := checkColumnType(c.view, a.Name, a.Type); err != nil {
		return err
	}
	if types.IsDomain(a.Type) {
		return pgerr.Unsupported("attributes of domains are not supported yet").
			WithHint("Use the base type of the domain, and a CHECK constraint of the table.")
	}
	if contains(c.view, a.Type, t.OID) {
		return pgerr.New(pgerr.InvalidTableDefinition, "composite type %s cannot be made a member of itself",
			formatType(c, t.TypeOID(), -1))
	}
	a.Collation, err = (&draft{change: c}).collation(a.Type, def.CollClause)
	return err
}

// contains reports whether values of a type have values of the composite type with a number in them.
func contains(v *catalog.View, oid types.OID, number catalog.OID) bool {
	n := catalog.TypeNumber(oid)
	if n == number {
		return true
	}
	t := catalog.TypeByOID(v, n)
	return t != nil && slices.ContainsFunc(t.Attributes, func(a catalog.Attribute) bool {
		return !a.Dropped && contains(v, a.Type, number)
	})
}

// compositeToAlter finds a composite type, which the role must own.
func compositeToAlter(c *change, rv *pg_query.RangeVar) (*catalog.Type, error) {
	found, err := findType(c, rangeNames(rv), false)
	other := err == nil && found.table == nil && !namesComposite(c, rv)
	if pgerr.Is(err, pgerr.UndefinedObject) || other {
		return nil, undefinedRelation(rv)
	}
	switch {
	case err != nil:
		return nil, err
	case found.table != nil:
		return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not a composite type`, rv.Relname)
	}
	return found.user.Clone(), mustOwnType(c, found.user)
}

func rangeNames(rv *pg_query.RangeVar) (out []*pg_query.Node) {
	for _, part := range []string{rv.Catalogname, rv.Schemaname, rv.Relname} {
		if part != "" {
			out = append(out, pg_query.MakeStrNode(part))
		}
	}
	return out
}

// changeComposite changes the attributes of a composite type. The tables that use it are locked. If the
// form of the values changes, their rows are written again; else they get new versions (C2).
func changeComposite(r *runner, rv *pg_query.RangeVar, missingOK bool, f func(*change, *catalog.Type) error) error {
	find := func(c *change) []catalog.OID {
		found, err := findType(c, rangeNames(rv), false)
		if err != nil || found.user == nil {
			return nil
		}
		return usersOfTypes(c, withTypes(c, []*catalog.Type{found.user}))
	}
	return unplaced(r.updateExclusive(find, func(c *change) error {
		t, err := compositeToAlter(c, rv)
		if missingOK && c.skipsMissing(err, rv) {
			return nil
		}
		if err != nil {
			return err
		}
		was := t.Clone()
		if err := f(c, t); err != nil {
			return err
		}
		if err := t.Put(c.ch); err != nil {
			return err
		}
		for _, oid := range find(c) {
			x := c.view.Table(oid)
			if err := c.requireLocked(x); err != nil {
				return err
			}
			if x.View != nil {
				err = c.ch.PutTable(x)
			} else {
				err = reshapeTable(newDraft(c, x), was, t)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// reshapeTable has the rows of a table written again if a column has values of a changed type.
func reshapeTable(d *draft, was, t *catalog.Type) error {
	for i := range d.t.Columns {
		col := &d.t.Columns[i]
		if !col.Stored() || !contains(d.view, col.Type, t.OID) || slices.Equal(places(was), places(t)) {
			continue
		}
		value := &query.Var{T: query.T{OID: col.Type, Mod: col.Typmod}, Col: i, Name: col.Name}
		d.becomes[col.AttNum], d.restored = reshape(d.view, value, was, t), true
	}
	return d.putTable()
}

// places returns the numbers of the attributes that are not dropped.
func places(t *catalog.Type) (out []int16) {
	for _, a := range t.Live() {
		out = append(out, a.Number)
	}
	return out
}

// reshape returns the value of an expression of a type that has values of a composite type in it, after
// that type has changed.
func reshape(v *catalog.View, e query.Expr, was, t *catalog.Type) query.Expr {
	oid := e.Type()
	if !contains(v, oid, t.OID) {
		return e
	}
	if elem := types.ElemOf(oid); elem != 0 {
		return &query.ArrayCoerce{T: query.Of(oid), Arg: e, Elem: reshape(v, &query.Element{T: query.Of(elem)}, was, t)}
	}
	row := &query.Row{T: query.Of(oid)}
	add := func(a catalog.Attribute, at int) {
		var f query.Expr = &query.Const{T: query.Of(a.Type)}
		if at >= 0 {
			f = reshape(v, &query.Field{T: query.T{OID: a.Type, Mod: a.Typmod}, Arg: &query.Element{T: query.Of(oid)},
				N: at, Name: a.Name}, was, t)
		}
		row.Fields, row.Names = append(row.Fields, f), append(row.Names, a.Name)
	}
	if catalog.TypeNumber(oid) == t.OID {
		old := places(was)
		for _, a := range t.Live() {
			add(a, slices.Index(old, a.Number))
		}
	} else {
		for i, a := range catalog.TypeByOID(v, catalog.TypeNumber(oid)).Live() {
			add(a, i)
		}
	}
	return &query.RowCoerce{T: query.Of(oid), Arg: e, Row: row}
}

// alterComposite is ALTER TYPE … ADD, DROP and ALTER ATTRIBUTE.
func alterComposite(r *runner, n *pg_query.AlterTableStmt) error {
	return changeComposite(r, n.Relation, n.MissingOk, func(c *change, t *catalog.Type) error {
		for _, k := range commands(n) {
			if err := alterAttribute(c, t, k); err != nil {
				return err
			}
		}
		return nil
	})
}

func alterAttribute(c *change, t *catalog.Type, k *pg_query.AlterTableCmd) error {
	missing := pgerr.New(pgerr.UndefinedColumn, `column "%s" of relation "%s" does not exist`, k.Name, t.Name)
	switch k.Subtype {
	case pg_query.AlterTableType_AT_AddColumn:
		def := k.Def.GetColumnDef()
		if liveAttribute(t, def.Colname) != nil {
			return pgerr.New(pgerr.DuplicateColumn, `column "%s" of relation "%s" already exists`, def.Colname, t.Name)
		}
		return addAttribute(c, t, def)
	case pg_query.AlterTableType_AT_DropColumn:
		a := liveAttribute(t, k.Name)
		if a == nil && k.MissingOk {
			c.noticeSkipped(missing)
			return nil
		}
		if a == nil {
			return missing
		}
		if err := checkAttributeUnused(c, t, a); err != nil {
			return err
		}
		a.Dropped, a.Comment = true, ""
		return nil
	case pg_query.AlterTableType_AT_AlterColumnType:
		a := liveAttribute(t, k.Name)
		if a == nil {
			return missing
		}
		if err := checkTypeUnstored(c, t); err != nil {
			return err
		}
		if err := checkAttributeUnused(c, t, a); err != nil {
			return err
		}
		return setAttributeType(c, t, a, k.Def.GetColumnDef())
	}
	return pgerr.Unsupported("this form of ALTER TYPE is not supported yet").
		WithHint("Attributes can be added, dropped, renamed, and get other types.")
}

// checkTypeUnstored returns an error if a column has values of a type: they would not be converted.
func checkTypeUnstored(c *change, t *catalog.Type) error {
	for _, oid := range usersOfTypes(c, withTypes(c, []*catalog.Type{t})) {
		x := c.view.Table(oid)
		for i := range x.Columns {
			if col := &x.Columns[i]; !x.IsView() && col.Stored() && contains(c.view, col.Type, t.OID) {
				return pgerr.New(pgerr.FeatureNotSupported, `cannot alter type "%s" because column "%s.%s" uses it`,
					t.Name, x.Name, col.Name)
			}
		}
	}
	return nil
}

// checkAttributeUnused returns an error if a stored expression uses an attribute that is dropped or
// changed, or has a value of the type.
func checkAttributeUnused(c *change, t *catalog.Type, a *catalog.Attribute) error {
	used := func(what, text string) error {
		if t.AttributeInText(text, a.Number) {
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop column %s of composite type %s because other objects depend on it", a.Name,
				formatType(c, t.TypeOID(), -1)).
				WithDetail("%s depends on column %s of composite type %s", what, a.Name,
					formatType(c, t.TypeOID(), -1)).
				WithHint("Drop the dependent objects first.")
		}
		if t.WrittenInText(text) {
			return pgerr.Unsupported("cannot drop or change an attribute of type %s: %s has a value of the type",
				formatType(c, t.TypeOID(), -1), what).WithHint("Drop or change that object first.")
		}
		return nil
	}
	for _, x := range t.UsersOf(c.view) {
		if err := used(relationKind(x)+" "+c.visibleName(x), strings.Join(x.Texts(), " ")); err != nil {
			return err
		}
	}
	for _, x := range t.TypesOver(c.view) {
		if x.Domain == nil {
			continue
		}
		texts := []string{x.Domain.Default}
		for i := range x.Domain.Checks {
			texts = append(texts, x.Domain.Checks[i].Check)
		}
		if err := used("type "+formatType(c, x.TypeOID(), -1), strings.Join(texts, " ")); err != nil {
			return err
		}
	}
	for f := range catalog.FunctionsOf(c.view, c.Database) {
		if err := used(functionWords(c, f), strings.Join(f.Texts(), " ")); err != nil {
			return err
		}
	}
	return nil
}

func relationKind(t *catalog.Table) string {
	if t.View != nil {
		return found{table: t}.kind()
	}
	return "table"
}

// renameAttribute is ALTER TYPE … RENAME ATTRIBUTE.
func renameAttribute(r *runner, n *pg_query.RenameStmt) error {
	return changeComposite(r, n.Relation, n.MissingOk, func(_ *change, t *catalog.Type) error {
		a := liveAttribute(t, n.Subname)
		switch {
		case a == nil:
			return pgerr.New(pgerr.UndefinedColumn, `column "%s" does not exist`, n.Subname)
		case liveAttribute(t, n.Newname) != nil:
			return pgerr.New(pgerr.DuplicateColumn, `column "%s" of relation "%s" already exists`, n.Newname, t.Name)
		}
		a.Name = n.Newname
		return nil
	})
}

// namesComposite reports whether a name is that of a composite type.
func namesComposite(c *change, rv *pg_query.RangeVar) bool {
	found, err := findType(c, rangeNames(rv), false)
	return err == nil && found.user != nil && found.user.Kind == catalog.CompositeType && !found.array
}

// commentOnAttribute is COMMENT ON COLUMN of a composite type.
func commentOnAttribute(r *runner, rv *pg_query.RangeVar, name, text string) error {
	return r.update(func(c *change) error {
		t, err := compositeToAlter(c, rv)
		if err != nil {
			return err
		}
		a := liveAttribute(t, name)
		if a == nil {
			return pgerr.New(pgerr.UndefinedColumn, `column "%s" of relation "%s" does not exist`, name, shownName(rv))
		}
		a.Comment = text
		return t.Put(c.ch)
	})
}

// checkOtherSchemas returns an error if functions or composite types of other schemas use types that
// are dropped with a schema.
func checkOtherSchemas(c *change, s *catalog.Schema, list []*catalog.Type) error {
	for _, f := range usesType(c, list...) {
		if f.Schema != s.OID {
			return pgerr.Unsupported("DROP SCHEMA CASCADE does not drop functions of other schemas yet").
				WithDetail("%s uses a type of schema %s.", functionWords(c, f), s.Name).
				WithHint("Drop the function first.")
		}
	}
	for _, t := range list {
		for _, x := range t.TypesOver(c.view) {
			if x.Schema != s.OID && x.Kind == catalog.CompositeType {
				return pgerr.Unsupported("DROP SCHEMA CASCADE does not drop attributes of composite types yet").
					WithDetail("Type %s uses a type of schema %s.", formatType(c, x.TypeOID(), -1), s.Name).
					WithHint("Use ALTER TYPE … DROP ATTRIBUTE first.")
			}
		}
	}
	return nil
}
