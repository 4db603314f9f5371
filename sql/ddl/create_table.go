package ddl

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
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

// The bits of LIKE … INCLUDING. Storage and compression have no effect here.
const (
	likeComments    = 1 << 0
	likeConstraints = 1 << 2
	likeDefaults    = 1 << 3
	likeGenerated   = 1 << 4
	likeIdentity    = 1 << 5
	likeIndexes     = 1 << 6
	likeStats       = 1 << 7
)

// copied is what a LIKE copies after the table's columns are known.
type copied struct {
	from     *catalog.Table
	comments bool
	indexes  bool
	stats    bool
}

// like is LIKE in CREATE TABLE: it copies the columns of another table, and the properties that
// INCLUDING names.
func (d *draft) like(n *pg_query.TableLikeClause) error {
	from, err := d.likeTable(n.Relation)
	if err != nil {
		return err
	}
	including := func(what uint32) bool { return n.Options&what != 0 }
	for i := range from.Columns {
		c := &from.Columns[i]
		if c.Dropped {
			continue
		}
		col := catalog.Column{AttNum: d.t.NextAttNum, Name: c.Name, Type: c.Type, Typmod: c.Typmod,
			Collation: c.Collation, NotNull: c.NotNull}
		d.t.Columns = append(d.t.Columns, col)
		d.t.NextAttNum++
		if err := d.likeValue(&d.t.Columns[len(d.t.Columns)-1], c, including); err != nil {
			return err
		}
		if text := from.ColumnComments[c.AttNum]; text != "" && including(likeComments) {
			if d.t.ColumnComments == nil {
				d.t.ColumnComments = map[int16]string{}
			}
			d.t.ColumnComments[col.AttNum] = text
		}
	}
	if including(likeConstraints) {
		if err := d.likeChecks(from); err != nil {
			return err
		}
	}
	d.likes = append(d.likes, copied{from, including(likeComments), including(likeIndexes), including(likeStats)})
	return d.likeKeys(from, including(likeIndexes))
}

// likeTable finds the table that LIKE names and locks its definition until the transaction ends.
func (d *draft) likeTable(rv *pg_query.RangeVar) (*catalog.Table, error) {
	f, err := d.lookup(rv)
	switch {
	case pgerr.Is(err, pgerr.InvalidSchemaName):
		return nil, pgerr.From(err).At(d.pos(rv.Location))
	case err != nil:
		return nil, err
	case f == (found{}):
		return nil, undefinedRelation(rv).At(d.pos(rv.Location))
	case f.system != nil:
		return nil, pgerr.Unsupported("LIKE of a system relation is not supported").At(d.pos(rv.Location)).
			WithHint("Write the columns out.")
	case f.kind() != "table" && f.kind() != "view":
		return nil, pgerr.New(pgerr.WrongObjectType, `relation "%s" is invalid in LIKE clause`, rv.Relname).
			WithDetail("This operation is not supported for %s.", kindPlural(f.kind())).At(d.pos(rv.Location))
	}
	if err := mayUse(d.change, f.table, acl.Select); err != nil {
		return nil, err
	}
	return f.table, d.ch.Require(f.table.OID)
}

// likeValue copies a column's default, identity or generation expression.
func (d *draft) likeValue(col, c *catalog.Column, including func(uint32) bool) error {
	switch {
	case c.Identity != 0 && including(likeIdentity):
		s := d.view.Table(c.Sequence)
		if s == nil {
			return errMoved
		}
		return d.likeIdentity(col, c.Identity, *s.Sequence)
	case c.Generated != "" && including(likeGenerated):
		src, err := analyze.ParseExpression(c.Generated)
		if err != nil {
			return err
		}
		d.defaults = append(d.defaults, columnExpr{att: col.AttNum, node: src.Node, generated: true})
	case c.Default != "" && including(likeDefaults):
		src, err := analyze.ParseExpression(c.Default)
		if err != nil {
			return err
		}
		d.defaults = append(d.defaults, columnExpr{att: col.AttNum, node: src.Node})
	}
	return nil
}

// likeIdentity adds an identity column with a new sequence that has the options of another.
func (d *draft) likeIdentity(col *catalog.Column, kind byte, like catalog.Sequence) error {
	name, _, err := d.sequenceName(col, nil)
	if err != nil {
		return err
	}
	like.Table, like.Column, like.Internal, like.Value, like.Called = d.t.OID, col.AttNum, true, like.Start, false
	s, err := d.newSequence(d.t.Schema, name, d.t.Owner, like)
	if err != nil {
		return err
	}
	col.Identity, col.Sequence, col.NotNull = kind, s.OID, true
	return d.ch.PutTable(s)
}

// likeChecks copies the CHECK constraints with their names.
func (d *draft) likeChecks(from *catalog.Table) error {
	for i := range from.Constraints {
		k := &from.Constraints[i]
		if k.Kind != catalog.Check || isPlaced(k) {
			continue
		}
		src, err := analyze.ParseExpression(k.Check)
		if err != nil {
			return err
		}
		e, err := analyze.Check(d.analysis(), src, from.Name, (&draft{t: from}).columns())
		if err != nil {
			return err
		}
		if namesWholeRow(e) {
			return errWholeRow(`Constraint "%s" contains a whole-row reference to table "%s".`, k.Name, from.Name)
		}
		d.checks = append(d.checks, pendingCheck{name: k.Name, node: src.Node, noInherit: k.NoInherit})
	}
	return nil
}

// likeKeys copies the primary key and the UNIQUE constraints under generated names.
func (d *draft) likeKeys(from *catalog.Table, including bool) error {
	if !including {
		return nil
	}
	for i := range from.Constraints {
		k := &from.Constraints[i]
		if k.Kind != catalog.PrimaryKey && k.Kind != catalog.Unique {
			continue
		}
		n := &pg_query.Constraint{Location: -1, Deferrable: k.Deferrable, Initdeferred: k.InitiallyDeferred}
		for _, att := range k.Columns {
			n.Keys = append(n.Keys, pg_query.MakeStrNode(from.ColumnByNum(att).Name))
		}
		if k.Kind == catalog.PrimaryKey || k.Primary {
			if err := d.primaryKey(n, ""); err != nil {
				return err
			}
			continue
		}
		if x := from.Index(k.Index); x != nil {
			n.NullsNotDistinct, n.Options = x.NullsNotDistinct, optionNodes(x.Options)
			for _, att := range x.Include {
				n.Including = append(n.Including, pg_query.MakeStrNode(from.ColumnByNum(att).Name))
			}
		}
		if err := d.unique(n, ""); err != nil {
			return err
		}
	}
	return nil
}

func optionNodes(options map[string]string) []*pg_query.Node {
	var out []*pg_query.Node
	for name, value := range options {
		e := &pg_query.DefElem{Defname: name, Arg: pg_query.MakeStrNode(value), Location: -1}
		out = append(out, &pg_query.Node{Node: &pg_query.Node_DefElem{DefElem: e}})
	}
	return out
}

// copyIndexes copies the indexes that belong to no constraint, statistics objects and comments.
func (d *draft) copyIndexes() error {
	for _, l := range d.likes {
		for i := range l.from.Indexes {
			x := &l.from.Indexes[i]
			if !l.indexes || l.from.ConstraintOf(x.OID) != nil || x.State != catalog.IndexPublic {
				continue
			}
			if err := d.refuseWholeRow(l.from, x); err != nil {
				return err
			}
			n, err := indexStmt(l.from, x)
			if err != nil {
				return err
			}
			if _, err := d.index(n, x.Method); err != nil {
				return err
			}
		}
		if l.stats {
			if err := likeStatistics(d, l.from, l.comments); err != nil {
				return err
			}
		}
		if l.comments {
			d.likeComments(l)
		}
	}
	if d.likes == nil {
		return nil
	}
	d.likes = nil
	return d.chooseScopes()
}

// likeComments copies the comments of the copied objects.
func (d *draft) likeComments(l copied) {
	for i := range l.from.Constraints {
		if k := &l.from.Constraints[i]; k.Kind == catalog.Check && k.Comment != "" {
			if own := d.t.Constraint(k.Name); own != nil {
				own.Comment = k.Comment
			}
		}
	}
	for i := range l.from.Indexes {
		x := &l.from.Indexes[i]
		if x.Comment == "" {
			continue
		}
		for j := range d.t.Indexes {
			if own := &d.t.Indexes[j]; own.Comment == "" && d.sameKey(own, l.from, x) {
				own.Comment = x.Comment
				break
			}
		}
	}
}

// sameKey reports whether an index of the draft has the same columns and expressions as an index of
// another table.
func (d *draft) sameKey(own *catalog.Index, from *catalog.Table, x *catalog.Index) bool {
	names := func(t *catalog.Table, list []int16) []string {
		var out []string
		for _, att := range list {
			name := ""
			if c := t.ColumnByNum(att); c != nil {
				name = c.Name
			}
			out = append(out, name)
		}
		return out
	}
	return own.Unique == x.Unique && own.Method == x.Method && own.Primary == x.Primary &&
		own.Predicate == x.Predicate &&
		slices.Equal(own.Expressions, x.Expressions) &&
		slices.Equal(own.Order, x.Order) && slices.Equal(own.Classes, x.Classes) &&
		slices.Equal(names(d.t, own.Columns), names(from, x.Columns))
}

func namesWholeRow(e query.Expr) bool {
	return slices.ContainsFunc(variables(e), func(v *query.Var) bool { return v.Col == query.ColWholeRow })
}

// errWholeRow is the error of LIKE for an expression that refers to the whole row of the other
// table.
func errWholeRow(format string, args ...any) error {
	return pgerr.Unsupported("cannot convert whole-row table reference").WithDetail(format, args...)
}

// refuseWholeRow refuses to copy an index whose expressions refer to the whole row.
func (d *draft) refuseWholeRow(from *catalog.Table, x *catalog.Index) error {
	own := &draft{change: d.change, t: from.Clone()}
	return own.indexExpressions(own.t.Index(x.OID), func(text string, e query.Expr) (string, error) {
		if namesWholeRow(e) {
			return "", errWholeRow(`Index "%s" contains a whole-row table reference.`, x.Name)
		}
		return text, nil
	})
}

// indexStmt returns the parse tree of a CREATE INDEX that creates an index like x.
func indexStmt(t *catalog.Table, x *catalog.Index) (*pg_query.IndexStmt, error) {
	n := &pg_query.IndexStmt{Unique: x.Unique, NullsNotDistinct: x.NullsNotDistinct, Options: optionNodes(x.Options)}
	expressions := x.Expressions
	for i, att := range x.Columns {
		e := &pg_query.IndexElem{Ordering: pg_query.SortByDir_SORTBY_ASC,
			NullsOrdering: pg_query.SortByNulls_SORTBY_NULLS_LAST}
		if i < len(x.Order) {
			if x.Order[i]&catalog.KeyDesc != 0 {
				e.Ordering = pg_query.SortByDir_SORTBY_DESC
			}
			if x.Order[i]&catalog.KeyNullsFirst != 0 {
				e.NullsOrdering = pg_query.SortByNulls_SORTBY_NULLS_FIRST
			}
		}
		if class, ok := pgcatalog.ClassByOID(x.ClassOf(i)); ok {
			e.Opclass = []*pg_query.Node{pg_query.MakeStrNode("pg_catalog"), pg_query.MakeStrNode(class.Name)}
		}
		if att != 0 {
			e.Name = t.ColumnByNum(att).Name
		} else {
			src, err := analyze.ParseExpression(expressions[0])
			if err != nil {
				return nil, err
			}
			e.Expr, expressions = src.Node, expressions[1:]
		}
		n.IndexParams = append(n.IndexParams, &pg_query.Node{Node: &pg_query.Node_IndexElem{IndexElem: e}})
	}
	for _, att := range x.Include {
		e := &pg_query.IndexElem{Name: t.ColumnByNum(att).Name}
		n.IndexIncludingParams = append(n.IndexIncludingParams,
			&pg_query.Node{Node: &pg_query.Node_IndexElem{IndexElem: e}})
	}
	if x.Predicate != "" {
		src, err := analyze.ParseExpression(x.Predicate)
		if err != nil {
			return nil, err
		}
		n.WhereClause = src.Node
	}
	return n, nil
}
