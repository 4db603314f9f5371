package ddl

import (
	"slices"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// alterType changes a column's type where its stored values are good as they are, or there are none.
func (d *draft) alterType(k *pg_query.AlterTableCmd) error {
	col, err := d.liveColumn(k.Name)
	if err != nil {
		return err
	}
	n := k.Def.GetColumnDef()
	oid, typmod, err := analyze.TypeName(d.analysis(), d.source, n.TypeName)
	if err != nil {
		return err
	}
	if err := checkColumnType(col.Name, oid); err != nil {
		return err
	}
	collation, err := d.collation(oid, n.CollClause)
	if err != nil {
		return err
	}
	if n.RawDefault == nil {
		if err := checkAssignable(col, oid); err != nil {
			return err
		}
	}
	if err := d.checkTypeUse(col, oid); err != nil {
		return err
	}
	if err := d.checkGenerators(col); err != nil {
		return err
	}
	if err := d.checkIndexed(col, oid); err != nil {
		return err
	}
	switch {
	case n.RawDefault == nil && sameStored(col, oid, typmod):
	case n.RawDefault == nil && isTextual(col.Type) && oid == types.VarChar:
		d.mustFit(col, typmod)
	default:
		if err := d.typeNeedsEmpty(col, oid, typmod); err != nil {
			return err
		}
	}
	if err := d.convertDefault(col, oid, typmod); err != nil {
		return err
	}
	col.Type, col.Typmod, col.Collation = oid, typmod, collation
	return d.recheck()
}

// checkGenerators refuses to change what generated columns are computed from.
func (d *draft) checkGenerators(col *catalog.Column) error {
	for i := range d.t.Columns {
		g := &d.t.Columns[i]
		if g.Dropped || g.Generated == "" || g.AttNum == col.AttNum {
			continue
		}
		uses, err := d.generatedFrom(g, col)
		if err != nil {
			return err
		}
		if uses {
			return pgerr.Unsupported("cannot alter type of a column used by a generated column").
				WithDetail(`Column "%s" is used by generated column "%s".`, col.Name, g.Name)
		}
	}
	return nil
}

// checkAssignable refuses types that no assignment cast leads to.
func checkAssignable(col *catalog.Column, oid types.OID) error {
	if col.Type == oid || oid == types.Text {
		return nil
	}
	if c := pgcatalog.CastBetween(col.Type, oid); c != nil && c.Context != 'e' {
		return nil
	}
	from, to := pgcatalog.TypeByOID(col.Type), pgcatalog.TypeByOID(oid)
	if to != nil && to.Category == 'S' || from != nil && to != nil && from.Category == 'A' && to.Category == 'A' {
		return nil
	}
	return pgerr.New(pgerr.DatatypeMismatch, `column "%s" cannot be cast automatically to type %s`, col.Name, pgcatalog.FormatType(oid, -1)).
		WithHint(`You might need to specify "USING %s::%s".`, col.Name, pgcatalog.FormatType(oid, -1))
}

// sameStored tells whether every value of the column is one of the new type, stored alike.
func sameStored(col *catalog.Column, oid types.OID, typmod int32) bool {
	if col.Type == oid {
		return typmod == -1 || typmod == col.Typmod || widens(oid, col.Typmod, typmod)
	}
	if i, j := slices.Index(integers, col.Type), slices.Index(integers, oid); i >= 0 && j > i {
		return true
	}
	return isTextual(col.Type) && isTextual(oid) && (typmod == -1 || col.Typmod != -1 && typmod >= col.Typmod)
}

// integers are stored alike, each with room for those before it.
var integers = []types.OID{types.Int2, types.Int4, types.Int8}

func isTextual(t types.OID) bool { return t == types.Text || t == types.VarChar }

// mustFit lets a text column become one of limited length if all its values are short enough.
func (d *draft) mustFit(col *catalog.Column, typmod int32) {
	name, limit := builtin.QuoteIdent(col.Name), strconv.Itoa(int(typmod)-4)
	d.scans = append(d.scans,
		scan{"length(rtrim(" + name + ")) > " + limit,
			pgerr.New(pgerr.StringDataRightTruncation, "value too long for type %s", pgcatalog.FormatType(types.VarChar, typmod))},
		scan{"length(" + name + ") > " + limit,
			pgerr.Unsupported(`changing column "%s" to type %s is not supported yet: some values have blanks beyond its length`, col.Name,
				pgcatalog.FormatType(types.VarChar, typmod)).WithHint("UPDATE the table to remove the blanks first.")})
}

// widens tells whether a modifier only allows more values, which keep their stored form.
func widens(oid types.OID, from, to int32) bool {
	switch oid {
	case types.VarChar, types.VarBit:
		return from != -1 && to >= from
	case types.Numeric:
		return from != -1 && (from-4)&0x7ff == (to-4)&0x7ff && to >= from
	case types.Timestamp, types.TimestampTZ, types.Time, types.TimeTZ:
		return from != -1 && to >= from
	}
	return false
}

func (d *draft) typeNeedsEmpty(col *catalog.Column, oid types.OID, typmod int32) error {
	filled, err := d.filled()
	if err != nil || !filled {
		col.Missing = nil
		return err
	}
	return pgerr.Unsupported("changing column \"%s\" from type %s to %s is not supported yet while the table has rows", col.Name,
		pgcatalog.FormatType(col.Type, col.Typmod), pgcatalog.FormatType(oid, typmod)).
		WithHint("Add a column of the new type, UPDATE the table, drop the old column and rename the new one.")
}

// checkTypeUse refuses types that the column's part in the table does not allow.
func (d *draft) checkTypeUse(col *catalog.Column, oid types.OID) error {
	if oid == col.Type {
		return nil
	}
	changed := *col
	changed.Type = oid
	if pk := d.t.PrimaryKey(); pk != nil && slices.Contains(pk.Columns, col.AttNum) {
		if d.t.Anchors {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `cannot change the type of "%s": the key of a collection is of type text`, col.Name)
		}
		if err := checkKeyType(&changed); err != nil {
			return err
		}
		if d.t.Policy != nil {
			return d.policyKeepsType(col)
		}
	}
	if d.t.Policy != nil && (d.isPolicyColumn(col) || d.t.Document == col.AttNum) {
		return d.policyKeepsType(col)
	}
	if d.t.Document == col.AttNum {
		d.t.Document = 0
	}
	return nil
}

func (d *draft) policyKeepsType(col *catalog.Column) error {
	return pgerr.Unsupported(`cannot change the type of "%s": the sharding policy of "%s" uses it`, col.Name, d.t.Name).
		WithHint("Reset the policy first.")
}

// convertDefault reads the default again for the new type.
func (d *draft) convertDefault(col *catalog.Column, oid types.OID, typmod int32) error {
	if col.Default == "" {
		return nil
	}
	src, err := analyze.ParseExpression(col.Default)
	if err != nil {
		return err
	}
	e, err := analyze.Default(d.analysis(), src, query.Column{Name: col.Name, Type: oid, Typmod: typmod})
	if pgerr.Is(err, pgerr.DatatypeMismatch) {
		return pgerr.New(pgerr.DatatypeMismatch, `default for column "%s" cannot be cast automatically to type %s`, col.Name, pgcatalog.FormatType(oid, -1))
	}
	if err == nil {
		col.Default = analyze.Deparse(e)
	}
	return err
}

// recheck makes sure that constraints and generated columns still mean something with the new type.
func (d *draft) recheck() error {
	for i := range d.t.Constraints {
		k := &d.t.Constraints[i]
		if k.Kind != catalog.Check {
			continue
		}
		src, err := analyze.ParseExpression(k.Check)
		if err != nil {
			return err
		}
		if _, err := analyze.Check(d.analysis(), src, d.t.Name, d.columns()); err != nil {
			return err
		}
	}
	for _, c := range d.t.Columns {
		if c.Dropped || c.Generated == "" {
			continue
		}
		src, err := analyze.ParseExpression(c.Generated)
		if err != nil {
			return err
		}
		qc := query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod}
		if _, err := analyze.Generated(d.analysis(), src, qc, d.t.Name, d.columns()); err != nil {
			return err
		}
	}
	for i := range d.t.Indexes {
		err := d.indexExpressions(&d.t.Indexes[i], func(_ string, e query.Expr) (string, error) { return analyze.Deparse(e), checkIndexType(e.Type()) })
		if err != nil {
			return err
		}
	}
	return nil
}

// checkIndexed refuses types that an index on the column cannot have, and those that would give other values to an expression of an index.
func (d *draft) checkIndexed(col *catalog.Column, oid types.OID) error {
	if oid == col.Type {
		return nil
	}
	for i := range d.t.Indexes {
		x := &d.t.Indexes[i]
		if slices.Contains(x.Columns, col.AttNum) {
			if err := checkIndexType(oid); err != nil {
				return err
			}
		}
		if len(x.Expressions) == 0 && x.Predicate == "" {
			continue
		}
		uses, err := d.indexUses(x, col.AttNum)
		if err != nil || !uses {
			return err
		}
		if filled, err := d.filled(); err != nil || !filled {
			return err
		}
		return pgerr.Unsupported(`changing the type of "%s" is not supported yet while the expressions of index "%s" use it`, col.Name, x.Name).
			WithHint("Drop the index, and make it again afterwards.")
	}
	return nil
}
