package ddl

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// pendingUnique is a UNIQUE constraint that is added when all columns and the placement of rows are
// known.
type pendingUnique struct {
	k          *pg_query.Constraint
	columns    []string
	deferrable bool
	deferred   bool
	fixed      bool // NOT DEFERRABLE
	primary    bool // this is the table's primary key
}

// unique records a UNIQUE of the table, or of the named column.
func (d *draft) unique(k *pg_query.Constraint, column string) error {
	u := pendingUnique{k: k, columns: texts(k.Keys), deferrable: k.Deferrable ||
		k.Initdeferred, deferred: k.Initdeferred}
	if column != "" {
		u.columns = []string{column}
	}
	d.uniques = append(d.uniques, u)
	return nil
}

// addUniques adds the constraints and their indexes.
func (d *draft) addUniques() error {
	for _, u := range d.uniques {
		var err error
		if u.k.Indexname != "" {
			err = d.uniqueUsing(u.k)
		} else {
			err = d.addUniqueIndex(u)
		}
		if err != nil {
			return err
		}
		if u.primary {
			d.t.Constraints[len(d.t.Constraints)-1].Primary = true
		}
	}
	d.uniques = nil
	return d.chooseScopes()
}

func (d *draft) addUniqueIndex(u pendingUnique) error {
	x := catalog.Index{Unique: true, NullsNotDistinct: u.k.NullsNotDistinct}
	names, err := d.uniqueColumns(&x, u)
	if err != nil {
		return err
	}
	if pk := d.t.PrimaryKey(); d.was == nil && pk != nil && u.k.Conname == "" && slices.Equal(pk.Columns, x.Columns) {
		return nil // as in PostgreSQL, the primary key implies it
	}
	for _, n := range u.k.Including {
		col := d.t.Column(n.GetString_().GetSval())
		if col == nil {
			return pgerr.New(pgerr.UndefinedColumn, `column "%s" named in key does not exist`, n.GetString_().
				GetSval()).At(d.pos(u.k.Location))
		}
		x.Include = append(x.Include, col.AttNum)
		names = append(names, col.Name)
	}
	if x.Options, err = indexOptionsOf(catalog.BTree, u.k.Options, false); err != nil {
		return err
	}
	if x.Name = u.k.Conname; x.Name == "" && u.primary {
		x.Name = d.chooseName(d.t.Schema, d.t, "", "pkey", true)
	} else if x.Name == "" {
		x.Name = d.chooseIndexName(names, "key")
	} else if err := d.freeConstraintName(x.Name); err != nil {
		return err
	}
	index, err := d.addIndex(x)
	if err != nil {
		return err
	}
	return d.addUnique(x.Name, x.Columns, index, u.deferrable, u.deferred)
}

func (d *draft) freeConstraintName(name string) error {
	if hasConstraint(d.t, name) {
		return duplicateConstraint(d.t, name)
	}
	if d.relationTaken(d.t.Schema, d.t, name) || d.taken[name] {
		return relationExists(name)
	}
	return nil
}

func (d *draft) addUnique(name string, columns []int16, index catalog.OID, deferrable, deferred bool) error {
	oid, err := d.newOID()
	if err != nil {
		return err
	}
	d.t.Constraints = append(d.t.Constraints, catalog.Constraint{
		OID: oid, Name: name, Kind: catalog.Unique, Columns: slices.Clone(columns), Valid: true, Index: index,
		Deferrable: deferrable, InitiallyDeferred: deferred,
	})
	return nil
}

func (d *draft) uniqueColumns(x *catalog.Index, u pendingUnique) ([]string, error) {
	for i, name := range u.columns {
		if systemColumns[name] {
			return nil, errSystemColumnIndex()
		}
		col := d.t.Column(name)
		if col == nil {
			return nil, pgerr.New(pgerr.UndefinedColumn, `column "%s" named in key does not exist`, name).
				At(d.pos(u.k.Location))
		}
		if slices.Contains(u.columns[:i], name) {
			return nil, pgerr.New(pgerr.DuplicateColumn, `column "%s" appears twice in unique constraint`, name).
				At(d.pos(u.k.Location))
		}
		if err := checkIndexType(catalog.BTree, col.Type, false); err != nil {
			return nil, err
		}
		x.Columns = append(x.Columns, col.AttNum)
	}
	return slices.Clone(u.columns), nil
}

// uniqueUsing is ADD [CONSTRAINT name] UNIQUE USING INDEX.
func (d *draft) uniqueUsing(k *pg_query.Constraint) error {
	x, err := d.usable(k.Indexname, k.Location)
	if err != nil {
		return err
	}
	name, err := d.nameUsing(x, k.Conname)
	if err != nil {
		return err
	}
	return d.addUnique(name, x.Columns, x.OID, k.Deferrable || k.Initdeferred, k.Initdeferred)
}

// usable returns the index of USING INDEX if a constraint can use it.
func (d *draft) usable(name string, loc int32) (*catalog.Index, error) {
	i := slices.IndexFunc(d.t.Indexes, func(x catalog.Index) bool { return x.Name == name })
	if i < 0 {
		return nil, pgerr.New(pgerr.UndefinedObject, `index "%s" does not exist`, name).At(d.pos(loc))
	}
	x := &d.t.Indexes[i]
	cannot := func(format string) error {
		return pgerr.New(pgerr.WrongObjectType, format, x.Name).At(d.pos(loc)).
			WithDetail("Cannot create a primary key or unique constraint using such an index.")
	}
	switch {
	case d.t.ConstraintOf(x.OID) != nil:
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, `index "%s" is already associated with a constraint`,
			x.Name).At(d.pos(loc))
	case x.State != catalog.IndexPublic:
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, `index "%s" is not valid`, x.Name).At(d.pos(loc))
	case !x.Unique:
		return nil, cannot(`"%s" is not a unique index`)
	case len(x.Expressions) > 0:
		return nil, cannot(`index "%s" contains expressions`)
	case x.Predicate != "":
		return nil, cannot(`"%s" is a partial index`)
	case len(x.Order) > 0 || len(x.Classes) > 0:
		return nil, pgerr.New(pgerr.WrongObjectType,
			`index "%s" column number 1 does not have default sorting behavior`, x.Name).At(d.pos(loc)).
			WithDetail("Cannot create a primary key or unique constraint using such an index.")
	}
	return x, nil
}

// nameUsing returns the name of a constraint USING INDEX. Without a name it is the index's;
// otherwise the index is renamed.
func (d *draft) nameUsing(x *catalog.Index, name string) (string, error) {
	switch {
	case name == "":
		name = x.Name
	case name != x.Name:
		if err := d.freeConstraintName(name); err != nil {
			return "", err
		}
		d.notice(pgerr.SuccessfulCompletion, `ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index "%s" to "%s"`,
			x.Name, name)
		x.Name = name
	}
	return name, nil
}

// isAttribute reports whether a node is an attribute of the constraint before it, which the parser
// returns as a constraint of its own.
func isAttribute(k *pg_query.Constraint) bool {
	switch k.Contype {
	case pg_query.ConstrType_CONSTR_ATTR_DEFERRABLE, pg_query.ConstrType_CONSTR_ATTR_DEFERRED,
		pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE, pg_query.ConstrType_CONSTR_ATTR_IMMEDIATE:
		return true
	}
	return false
}

// attributeNames are the SQL spellings of attributes.
var attributeNames = map[pg_query.ConstrType]string{
	pg_query.ConstrType_CONSTR_ATTR_DEFERRABLE:     "DEFERRABLE",
	pg_query.ConstrType_CONSTR_ATTR_DEFERRED:       "INITIALLY DEFERRED",
	pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE: "NOT DEFERRABLE",
	pg_query.ConstrType_CONSTR_ATTR_IMMEDIATE:      "INITIALLY IMMEDIATE",
}

// attribute applies DEFERRABLE, INITIALLY DEFERRED and their opposites to the constraint before
// them.
func (d *draft) attribute(k *pg_query.Constraint) error {
	deferrable, deferred := k.Contype == pg_query.ConstrType_CONSTR_ATTR_DEFERRABLE,
		k.Contype == pg_query.ConstrType_CONSTR_ATTR_DEFERRED
	switch d.last {
	case pg_query.ConstrType_CONSTR_UNIQUE:
		u := &d.uniques[len(d.uniques)-1]
		u.deferrable, u.deferred = u.deferrable || deferrable || deferred, u.deferred || deferred
		u.fixed = u.fixed || k.Contype == pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE
		if u.fixed && u.deferred {
			return pgerr.New(pgerr.SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE").
				At(d.pos(k.Location))
		}
	case pg_query.ConstrType_CONSTR_FOREIGN:
		f := &d.foreign[len(d.foreign)-1]
		f.deferrable, f.deferred = f.deferrable || deferrable || deferred, f.deferred || deferred
		f.fixed = f.fixed || k.Contype == pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE
		if f.fixed && f.deferred {
			return pgerr.New(pgerr.SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE").
				At(d.pos(k.Location))
		}
	case pg_query.ConstrType_CONSTR_PRIMARY:
		f := d.key
		f.deferrable, f.deferred = f.deferrable || deferrable || deferred, f.deferred || deferred
		f.fixed = f.fixed || k.Contype == pg_query.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE
		if f.fixed && f.deferred {
			return pgerr.New(pgerr.SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE").
				At(d.pos(k.Location))
		}
	default:
		return pgerr.New(pgerr.SyntaxError, "misplaced %s clause", attributeNames[k.Contype]).At(d.pos(k.Location))
	}
	return nil
}

// addDeferrableKey adds a DEFERRABLE primary key. Rows may have equal keys until it is checked, so
// they are not stored under it: it is a UNIQUE constraint whose columns are NOT NULL.
func (d *draft) addDeferrableKey(key *pendingKey) error {
	if key.using != "" {
		x, err := d.usable(key.using, key.loc)
		if err != nil {
			return err
		}
		for _, att := range x.Columns {
			key.columns = append(key.columns, d.t.ColumnByNum(att).Name)
		}
	}
	if _, err := d.keyColumns(key); err != nil {
		return err
	}
	k := &pg_query.Constraint{Conname: key.name, Indexname: key.using, Location: key.loc, Deferrable: true,
		Initdeferred: key.deferred}
	u := pendingUnique{k: k, columns: key.columns, deferrable: true, deferred: key.deferred, primary: true}
	d.uniques = append([]pendingUnique{u}, d.uniques...)
	return nil
}
