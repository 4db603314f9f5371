package ddl

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// alterType changes a column's type. The rows are rewritten unless their stored values are also
// valid for the new type.
func (d *draft) alterType(k *pg_query.AlterTableCmd) error {
	col, err := d.liveColumn(k.Name)
	if err != nil {
		return err
	}
	n := k.Def.GetColumnDef()
	if col.Generated != "" && n.RawDefault != nil {
		return pgerr.New("42611", "cannot specify USING when altering type of generated column").
			WithDetail(`Column "%s" is a generated column.`, col.Name)
	}
	if err := checkViewsOf(d, col); err != nil {
		return err
	}
	if d.becomes[col.AttNum] != nil {
		return pgerr.Unsupported(`cannot alter type of column "%s" twice`, col.Name)
	}
	next := *col
	if next.Type, next.Typmod, err = usableType(d.change, n.TypeName); err != nil {
		if e := pgerr.From(err); e != nil {
			e.Position = 0 // PostgreSQL reports no position here
		}
		return err
	}
	if err := checkColumnType(d.view, col.Name, next.Type); err != nil {
		return err
	}
	if next.Collation, err = d.collation(next.Type, n.CollClause); err != nil {
		return err
	}
	if err := d.transform(col, &next, n.RawDefault); err != nil {
		return err
	}
	if err := d.checkTypeUse(col, next.Type); err != nil {
		return err
	}
	if err := d.checkGenerators(col); err != nil {
		return err
	}
	if err := keepsTriggers(d, col); err != nil {
		return err
	}
	if err := keepsRowPolicies(d, col); err != nil {
		return err
	}
	if err := d.checkIndexed(col, next.Type); err != nil {
		return err
	}
	if err := d.convertDefault(col, next.Type, next.Typmod); err != nil {
		return err
	}
	if err := d.retypeIdentity(col, next.Type); err != nil {
		return err
	}
	col.Type, col.Typmod, col.Collation = next.Type, next.Typmod, next.Collation
	d.typesChanged = true
	return nil
}

// transform records how the column's values are computed for the new type: by the USING expression
// over the old row, or by an assignment cast of the old value.
func (d *draft) transform(col, next *catalog.Column, using *pg_query.Node) error {
	over := make([]query.Column, len(d.was.Columns))
	for i, c := range d.was.Columns {
		over[i] = query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod, Dropped: c.Dropped}
	}
	at := slices.IndexFunc(d.was.Columns, func(c catalog.Column) bool { return c.AttNum == col.AttNum })
	to := query.Column{Name: next.Name, Type: next.Type, Typmod: next.Typmod}
	e, err := analyze.Transform(d.analysis(), analyze.Source{Text: d.source, Node: using}, to, at, d.was.Name, over)
	if err != nil {
		return err
	}
	shown := formatType(d.change, next.Type, next.Typmod)
	switch {
	case e == nil && using != nil:
		return pgerr.New(pgerr.DatatypeMismatch,
			`result of USING clause for column "%s" cannot be cast automatically to type %s`, col.Name,
			formatType(d.change, next.Type, -1)).WithHint("You might need to add an explicit cast.")
	case e == nil:
		err := pgerr.New(pgerr.DatatypeMismatch, `column "%s" cannot be cast automatically to type %s`, col.Name,
			formatType(d.change, next.Type, -1))
		if col.Generated == "" {
			err = err.WithHint(`You might need to specify "USING %s::%s".`, builtin.QuoteIdent(col.Name), shown)
		}
		return err
	}
	d.becomes[col.AttNum] = e
	if using != nil || !sameStored(col, next.Type, next.Typmod) {
		d.restored, d.revalued = true, append(d.revalued, col.AttNum)
	}
	return nil
}

// checkGenerators refuses to change the type of a column that generated columns are computed from.
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

// sameStored reports whether every value of the column is valid for the new type with the same
// stored form.
func sameStored(col *catalog.Column, oid types.OID, typmod int32) bool {
	if col.Type == oid {
		return typmod == -1 || typmod == col.Typmod || widens(oid, col.Typmod, typmod)
	}
	if i, j := slices.Index(integers, col.Type), slices.Index(integers, oid); i >= 0 && j > i {
		return true
	}
	return isTextual(col.Type) && isTextual(oid) && (typmod == -1 || col.Typmod != -1 && typmod >= col.Typmod)
}

// integers have the same stored form; each type includes the values of the types before it.
var integers = []types.OID{types.Int2, types.Int4, types.Int8}

func isTextual(t types.OID) bool { return t == types.Text || t == types.VarChar }

// widens reports whether a type modifier only allows more values, whose stored form stays the same.
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

// checkTypeUse refuses a type that the column's role in the table does not allow.
func (d *draft) checkTypeUse(col *catalog.Column, oid types.OID) error {
	if oid == col.Type {
		return nil
	}
	changed := *col
	changed.Type = oid
	if pk := d.t.PrimaryKey(); pk != nil && slices.Contains(pk.Columns, col.AttNum) {
		if d.t.Anchors {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
				`cannot change the type of "%s": the key of a collection is of type text`, col.Name)
		}
		if err := checkKeyType(&changed); err != nil {
			return err
		}
	}
	if d.t.Policy != nil && d.t.Document == col.AttNum && d.needsDocument() {
		return pgerr.Unsupported(`cannot change the type of "%s": the sharding policy of "%s" uses it`, col.Name,
			d.t.Name).
			WithHint("Reset the policy first.")
	}
	if d.t.Document == col.AttNum {
		d.t.Document = 0
	}
	return nil
}

// convertDefault analyzes the column's default again for the new type.
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
		return pgerr.New(pgerr.DatatypeMismatch, `default for column "%s" cannot be cast automatically to type %s`,
			col.Name, formatType(d.change, oid, -1))
	}
	if err == nil {
		col.Default = deparse.Expr(e)
	}
	return err
}

// recheck analyzes constraints and generated columns again with the new types, and stores the
// resulting expressions.
func (d *draft) recheck() error {
	if !d.typesChanged {
		return nil
	}
	err := d.reread()
	if e := pgerr.From(err); e != nil {
		e.Position = 0 // the position refers to the stored text, not to the statement
	}
	if err != nil {
		return err
	}
	return d.checkForeignTypes()
}

func (d *draft) reread() error {
	for i := range d.t.Constraints {
		k := &d.t.Constraints[i]
		if k.Kind != catalog.Check {
			continue
		}
		src, err := analyze.ParseExpression(k.Check)
		if err != nil {
			return err
		}
		e, err := analyze.Check(d.analysis(), src, d.t.Name, d.columns())
		if err != nil {
			return err
		}
		k.Check = deparse.Expr(e)
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
		qc := query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod}
		e, err := analyze.Generated(d.analysis(), src, qc, d.t.Name, d.columns())
		if err != nil {
			return err
		}
		c.Generated = deparse.Expr(e)
	}
	for i := range d.t.Indexes {
		if err := d.recheckIndex(&d.t.Indexes[i]); err != nil {
			return err
		}
	}
	return recheckStatistics(d)
}

// recheckIndex prints the expressions of an index again, and refuses types that it cannot have.
func (d *draft) recheckIndex(x *catalog.Index) error {
	var places []int // of the expressions
	for i, att := range x.Columns {
		if att == 0 {
			places = append(places, i)
		}
	}
	return d.indexExpressions(x, func(_ string, e query.Expr) (string, error) {
		if len(places) == 0 { // the predicate
			return deparse.Expr(e), nil
		}
		at := places[0]
		places = places[1:]
		return deparse.Expr(e), d.checkIndexKey(x.Method, e.Type(), x.ClassOf(at))
	})
}

// checkIndexed refuses a type that an index on the column cannot have. An index with expressions
// over the column is rebuilt with the rows.
func (d *draft) checkIndexed(col *catalog.Column, oid types.OID) error {
	if oid == col.Type {
		return nil
	}
	for i := range d.t.Indexes {
		x := &d.t.Indexes[i]
		for k, att := range x.Columns {
			if att != col.AttNum {
				continue
			}
			if err := d.checkIndexKey(x.Method, oid, x.ClassOf(k)); err != nil {
				return err
			}
		}
		if len(x.Expressions) == 0 && x.Predicate == "" {
			continue
		}
		uses, err := d.indexUses(x, col.AttNum)
		if err != nil {
			return err
		}
		d.restored = d.restored || uses
	}
	return nil
}

// checkIndexKey refuses a type that cannot be indexed, or not with the operator class that the
// index names.
func (d *draft) checkIndexKey(method catalog.AccessMethod, oid types.OID, class catalog.OID) error {
	c, named := pgcatalog.ClassByOID(class)
	if err := checkIndexType(method, oid, named); err != nil || !named {
		return err
	}
	_, err := d.operatorClass(method, oid, []string{c.Name})
	return err
}

// putRestored stores the draft as the table's definition under a new storage id. After the change
// has been made, the rows and all index entries are written there; the old data is deleted when the
// change is in force. A table without rows gets a new storage too, because older versions of rows
// cannot be read by the new definition.
func (d *draft) putRestored() error {
	filled, err := d.filled()
	if err != nil {
		return err
	}
	storage, err := d.newOID()
	if err != nil {
		return err
	}
	if err := d.dropStored(d.was); err != nil {
		return err
	}
	d.t.StorageID = storage
	for i := range d.t.Columns {
		d.t.Columns[i].Missing = nil
	}
	// also without rows: callers that cannot wait for the table's users check it
	d.rewrites = append(d.rewrites, Rewrite{Table: d.t.OID, Old: d.view, Exprs: d.restoring(), Judge: d.judged})
	if !filled && !d.declaredInvalid {
		d.t.PolicyValidated = d.t.Policy != nil && !d.t.Policy.Mutable
	}
	return d.ch.PutTable(d.t)
}

// restoring returns how each column is computed in the rewrite: a copy, or the statement's
// expression.
func (d *draft) restoring() []query.Expr {
	out := make([]query.Expr, len(d.t.Columns))
	for i := range d.t.Columns {
		col := &d.t.Columns[i]
		switch e := d.becomes[col.AttNum]; {
		case col.Dropped:
		case e != nil:
			out[i] = e
		case i < len(d.was.Columns):
			c := &d.was.Columns[i]
			out[i] = &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Col: i, Name: c.Name}
		}
	}
	return out
}
