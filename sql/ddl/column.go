package ddl

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// maxColumns is MaxHeapAttributeNumber.
const maxColumns = 1600

// systemColumns are the names that every table has already.
var systemColumns = map[string]bool{"ctid": true, "xmin": true, "cmin": true, "xmax": true, "cmax": true,
	"tableoid": true}

// column adds the column that a definition describes; added is set if the table exists already.
func (d *draft) column(n *pg_query.ColumnDef, added bool) error {
	if len(n.Fdwoptions) > 0 {
		return pgerr.Unsupported("foreign tables are not supported")
	}
	serial, err := d.serialType(n.TypeName)
	if err != nil {
		return err
	}
	oid, typmod := serial, int32(-1)
	if serial == 0 {
		if oid, typmod, err = usableType(d.change, n.TypeName); err != nil {
			return err
		}
	}
	collation, err := d.collation(oid, n.CollClause)
	if err != nil {
		return err
	}
	d.t.Columns = append(d.t.Columns, catalog.Column{
		AttNum: d.t.NextAttNum, Name: n.Colname, Type: oid, Typmod: typmod, Collation: collation,
	})
	d.t.NextAttNum++
	if serial != 0 {
		if err := d.serial(&d.t.Columns[len(d.t.Columns)-1], added); err != nil {
			return err
		}
	}
	return d.columnConstraints(n, serial != 0, added)
}

// checkColumns checks the table's columns, from the given position on, by the rules of
// CheckAttributeNamesTypes.
func (d *draft) checkColumns(from int) error {
	if len(d.t.Columns) > maxColumns {
		return pgerr.New(pgerr.TooManyColumns, "tables can have at most %d columns", maxColumns)
	}
	for i := from; i < len(d.t.Columns); i++ {
		c := &d.t.Columns[i]
		for j := range i {
			if o := &d.t.Columns[j]; !o.Dropped && o.Name == c.Name {
				return pgerr.New(pgerr.DuplicateColumn, `column "%s" specified more than once`, c.Name)
			}
		}
	}
	for _, c := range d.t.Columns[from:] {
		if systemColumns[c.Name] {
			return pgerr.New(pgerr.DuplicateColumn, `column name "%s" conflicts with a system column name`, c.Name)
		}
		if err := checkColumnType(d.view, c.Name, c.Type); err != nil {
			return err
		}
	}
	return nil
}

func checkColumnType(v *catalog.View, name string, oid types.OID) error {
	p := pgcatalog.TypeByOID(oid)
	if p != nil && p.Kind == 'p' {
		return pgerr.New(pgerr.InvalidTableDefinition, `column "%s" has pseudo-type %s`, name,
			pgcatalog.FormatType(oid, -1))
	}
	if isTableRow(v, oid) {
		return pgerr.Unsupported("columns of the row types of tables are not supported yet").
			WithHint("Use jsonb: to_jsonb() makes a document of a row, jsonb_populate_record() a row of a document.")
	}
	if k := types.KindOf(oid); p == nil || k == types.KindNull {
		return pgerr.Unsupported("columns of type %s are not supported yet", pgcatalog.FormatType(oid, -1)).
			WithHint("Keep the value as text or in a jsonb document.")
	}
	return nil
}

// Collations. All supported collations compare text by code points.
const (
	defaultCollation catalog.OID = 100
	cCollation       catalog.OID = 950
	posixCollation   catalog.OID = 951
)

func (d *draft) collation(oid types.OID, n *pg_query.CollateClause) (catalog.OID, error) {
	own := catalog.OID(0)
	if p := pgcatalog.TypeByOID(oid); p != nil {
		own = p.Collation
	}
	if n == nil {
		return own, nil
	}
	names := texts(n.Collname)
	name := names[len(names)-1]
	var coll catalog.OID
	switch strings.ToLower(name) {
	case "default":
		coll = defaultCollation
	case "c", "c.utf-8", "c.utf8", "ucs_basic":
		coll = cCollation
	case "posix":
		coll = posixCollation
	default:
		return 0, pgerr.New(pgerr.UndefinedObject, `collation "%s" for encoding "UTF8" does not exist`,
			strings.Join(names, ".")).At(d.pos(n.Location)).
			WithHint(`Text is ordered by code points; the collations are "C", "POSIX", "C.UTF-8" and "default".`)
	}
	if own == 0 {
		return 0, pgerr.New(pgerr.DatatypeMismatch, "collations are not supported by type %s",
			formatType(d.change, oid, -1)).At(d.pos(n.Location))
	}
	return coll, nil
}

// columnConstraints reads the constraints after a column's type.
func (d *draft) columnConstraints(n *pg_query.ColumnDef, serial, added bool) error {
	col := &d.t.Columns[len(d.t.Columns)-1]
	var null, notNull, hasDefault, generated, identity bool
	notNull, hasDefault = serial, serial
	for _, node := range n.Constraints {
		k := node.GetConstraint()
		at := func(code, format string) error {
			e := pgerr.New(code, format, n.Colname, d.t.Name)
			if !serial { // the default and NOT NULL of a serial column have no location
				e.At(d.pos(k.Location))
			}
			return e
		}
		switch k.Contype {
		case pg_query.ConstrType_CONSTR_NULL:
			null = true
		case pg_query.ConstrType_CONSTR_NOTNULL:
			notNull, col.NotNull = true, true
		case pg_query.ConstrType_CONSTR_DEFAULT:
			if hasDefault {
				return at(pgerr.SyntaxError, `multiple default values specified for column "%s" of table "%s"`)
			}
			hasDefault = true
			d.defaults = append(d.defaults, columnExpr{att: col.AttNum, node: k.RawExpr, added: added})
		case pg_query.ConstrType_CONSTR_GENERATED:
			if generated {
				return at(pgerr.SyntaxError, `multiple generation clauses specified for column "%s" of table "%s"`)
			}
			generated = true
			d.defaults = append(d.defaults, columnExpr{att: col.AttNum, node: k.RawExpr, generated: true, added: added})
		case pg_query.ConstrType_CONSTR_IDENTITY:
			if identity {
				return at(pgerr.SyntaxError, `multiple identity specifications for column "%s" of table "%s"`)
			}
			if err := d.identity(col, k, added); err != nil {
				return err
			}
			identity, notNull = true, true
		default:
			if err := d.constraint(k, n.Colname); err != nil {
				return err
			}
		}
		if null && notNull {
			return at(pgerr.SyntaxError, `conflicting NULL/NOT NULL declarations for column "%s" of table "%s"`)
		}
		if hasDefault && generated {
			return at(pgerr.SyntaxError,
				`both default and generation expression specified for column "%s" of table "%s"`)
		}
		if hasDefault && identity {
			return at(pgerr.SyntaxError, `both default and identity specified for column "%s" of table "%s"`)
		}
		if identity && generated {
			return at(pgerr.SyntaxError,
				`both identity and generation expression specified for column "%s" of table "%s"`)
		}
	}
	return nil
}

// constraint reads a constraint of the table, or of the named column.
func (d *draft) constraint(k *pg_query.Constraint, column string) error {
	if !isAttribute(k) {
		d.last = k.Contype
	}
	switch k.Contype {
	case pg_query.ConstrType_CONSTR_CHECK:
		d.checks = append(d.checks, pendingCheck{name: k.Conname, node: k.RawExpr, noInherit: k.IsNoInherit,
			skip: k.SkipValidation})
		return nil
	case pg_query.ConstrType_CONSTR_PRIMARY:
		return d.primaryKey(k, column)
	case pg_query.ConstrType_CONSTR_UNIQUE:
		return d.unique(k, column)
	case pg_query.ConstrType_CONSTR_FOREIGN:
		d.foreignKey(k, column)
		return nil
	case pg_query.ConstrType_CONSTR_ATTR_DEFERRABLE, pg_query.ConstrType_CONSTR_ATTR_DEFERRED,
		pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE, pg_query.ConstrType_CONSTR_ATTR_IMMEDIATE:
		return d.attribute(k)
	}
	return unsupportedConstraint(k).At(d.pos(k.Location))
}

func (d *draft) primaryKey(k *pg_query.Constraint, column string) error {
	switch {
	case d.key != nil || d.t.PrimaryKey() != nil || d.t.DeferrableKey() != nil:
		err := pgerr.New(pgerr.InvalidTableDefinition, `multiple primary keys for table "%s" are not allowed`, d.t.Name)
		// the key that a LIKE adds comes last and has no location
		if d.was == nil && (d.key == nil || d.key.loc >= 0) {
			err.At(d.pos(k.Location))
		}
		return err
	case len(k.Including) > 0:
		return pgerr.Unsupported("INCLUDE in a primary key is not supported yet").At(d.pos(k.Location)).
			WithHint("Leave INCLUDE out: a row lies with its key anyway.")
	}
	key := &pendingKey{name: k.Conname, columns: texts(k.Keys), using: k.Indexname, loc: k.Location,
		deferrable: k.Deferrable || k.Initdeferred, deferred: k.Initdeferred}
	if column != "" {
		key.columns = []string{column}
	}
	d.key = key
	return nil
}

// addPrimaryKey adds the primary key and its index.
func (d *draft) addPrimaryKey() error {
	key := d.key
	if key == nil {
		return nil
	}
	d.key = nil
	if key.deferrable {
		return d.addDeferrableKey(key)
	}
	d.keyChanged, d.restored = true, true
	if key.using != "" {
		return d.keyUsing(key)
	}
	columns, err := d.keyColumns(key)
	if err != nil {
		return err
	}
	name := key.name
	if name == "" {
		name = d.chooseName(d.t.Schema, d.t, "", "pkey", true)
	} else if hasConstraint(d.t, name) {
		return duplicateConstraint(d.t, name)
	} else if d.relationTaken(d.t.Schema, d.t, name) {
		return pgerr.New(pgerr.DuplicateTable, `relation "%s" already exists`, name)
	}
	oid, err := d.newOID()
	if err != nil {
		return err
	}
	con := catalog.Constraint{OID: oid, Name: name, Kind: catalog.PrimaryKey, Columns: columns, Valid: true}
	if d.keyOrder() {
		index, err := d.newOID()
		if err != nil {
			return err
		}
		con.Index = index
		d.t.Indexes = append(d.t.Indexes, catalog.Index{
			OID: index, Name: name, StorageID: keyStorage, Columns: columns, Unique: true, Primary: true,
		})
	}
	d.t.Constraints = append(d.t.Constraints, con)
	return nil
}

// keyStorage is the number of the index in primary key order in a table's storage. If the index is
// added later, the table gets a new storage at the same time.
const keyStorage = 1

// keyUsing is ADD [CONSTRAINT name] PRIMARY KEY USING INDEX. The index becomes the index in primary
// key order, or is dropped if the table has pk_order off.
func (d *draft) keyUsing(key *pendingKey) error {
	x, err := d.usable(key.using, key.loc)
	if err != nil {
		return err
	}
	if len(x.Include) > 0 {
		return pgerr.Unsupported("INCLUDE in a primary key is not supported yet").At(d.pos(key.loc)).
			WithHint("Use ADD PRIMARY KEY (columns).")
	}
	for _, att := range x.Columns {
		key.columns = append(key.columns, d.t.ColumnByNum(att).Name)
	}
	columns, err := d.keyColumns(key)
	if err != nil {
		return err
	}
	name, err := d.nameUsing(x, key.name)
	if err != nil {
		return err
	}
	oid, err := d.newOID()
	if err != nil {
		return err
	}
	con := catalog.Constraint{OID: oid, Name: name, Kind: catalog.PrimaryKey, Columns: columns, Valid: true}
	index := x.OID
	if d.keyOrder() {
		con.Index = index
		*x = catalog.Index{OID: index, Name: name, StorageID: keyStorage, Columns: columns, Unique: true, Primary: true,
			Comment: x.Comment}
	} else {
		d.t.Indexes = slices.DeleteFunc(d.t.Indexes, func(x catalog.Index) bool { return x.OID == index })
	}
	d.fills = slices.DeleteFunc(d.fills, func(x catalog.OID) bool { return x == index })
	d.t.Constraints = append(d.t.Constraints, con)
	return nil
}

// maxKeyColumns is INDEX_MAX_KEYS.
const maxKeyColumns = 32

func (d *draft) keyColumns(key *pendingKey) ([]int16, error) {
	if len(key.columns) > maxKeyColumns {
		return nil, pgerr.New(pgerr.TooManyColumns, "cannot use more than %d columns in an index", maxKeyColumns)
	}
	var out []int16
	for i, name := range key.columns {
		if systemColumns[name] {
			return nil, errSystemColumnIndex()
		}
		col := d.t.Column(name)
		if col == nil {
			return nil, pgerr.New(pgerr.UndefinedColumn, `column "%s" named in key does not exist`, name).
				At(d.pos(key.loc))
		}
		for _, before := range key.columns[:i] {
			if before == name {
				return nil, pgerr.New(pgerr.DuplicateColumn, `column "%s" appears twice in primary key constraint`,
					name).At(d.pos(key.loc))
			}
		}
		if err := checkKeyType(col); err != nil {
			return nil, err
		}
		if !col.NotNull {
			col.NotNull = true
			d.scans = append(d.scans, nullScan(d.t, col))
		}
		out = append(out, col.AttNum)
	}
	return out, nil
}

func checkKeyType(col *catalog.Column) error {
	shown := pgcatalog.FormatType(col.Type, -1)
	if pgcatalog.SortOpsOf(col.Type) == nil {
		return pgerr.New(pgerr.UndefinedObject, `data type %s has no default operator class for access method "btree"`,
			shown).
			WithHint("You must specify an operator class for the index or define a default operator class for the " +
				"data type.")
	}
	if !types.CanKey(col.Type) {
		return pgerr.Unsupported("a column of type %s cannot be part of a primary key", shown).
			WithHint("Use a column of another type, such as text, a number, uuid or a timestamp.")
	}
	return nil
}
