package ddl

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

func (d *draft) addColumn(k *pg_query.AlterTableCmd) error {
	n := k.Def.GetColumnDef()
	if d.t.Column(n.Colname) != nil {
		err := pgerr.New(pgerr.DuplicateColumn, `column "%s" of relation "%s" already exists`, n.Colname, d.t.Name)
		if k.MissingOk {
			d.noticeSkipped(err)
			return nil
		}
		return err
	}
	if err := d.checkNewName(n.Colname); err != nil {
		return err
	}
	from := len(d.t.Columns)
	if err := d.column(n, true); err != nil {
		return err
	}
	if err := d.checkColumns(from); err != nil {
		return err
	}
	checks := d.checks // they may name columns that follow
	d.checks = nil
	if err := d.analyzeExpressions(); err != nil {
		return err
	}
	d.checks = checks
	if err := addDomainColumn(d, &d.t.Columns[from]); err != nil {
		return err
	}
	if col := &d.t.Columns[from]; col.NotNull && len(col.Missing) == 0 && col.Generated == "" {
		d.scans = append(d.scans, nullScan(d.t, col))
	}
	return d.reindexWholeRows(d.t.Columns[from].AttNum)
}

// reindexWholeRows rewrites the rows if an index has the whole row as a key: a new column changes
// its entries.
func (d *draft) reindexWholeRows(added int16) error {
	for i := range d.t.Indexes {
		x := &d.t.Indexes[i]
		if len(x.Expressions) == 0 && x.Predicate == "" {
			continue
		}
		uses, err := d.indexUses(x, added)
		if err != nil {
			return err
		}
		d.restored = d.restored || uses
	}
	return nil
}

// checkNewName refuses the name of a column if the sharding policy uses it for a field of the
// document.
func (d *draft) checkNewName(name string) error {
	if d.t.Policy == nil || !d.isPolicyColumn(&catalog.Column{Name: name}) {
		return nil
	}
	return pgerr.New(pgerr.DuplicateColumn, `column "%s" would take the place of the field by which "%s" is sharded`,
		name, d.t.Name).
		WithHint("Choose another name, or use ALTER TABLE %s RESET (%s) first.", d.quoted(d.view, d.t),
			shardmap.OptionBy)
}

// nullScan returns the scan that looks for rows that violate NOT NULL.
func nullScan(t *catalog.Table, col *catalog.Column) scan {
	e := pgerr.New(pgerr.NotNullViolation, `column "%s" of relation "%s" contains null values`, col.Name, t.Name)
	e.Table, e.Column = t.Name, col.Name
	return scan{builtin.QuoteIdent(col.Name) + " IS NULL", e}
}

// fillWithDefault fills a new column of existing rows with its default. The default is evaluated
// once, so it may not depend on the row. This is done even if no rows are visible, because other
// sessions may be inserting rows.
func (d *draft) fillWithDefault(col *catalog.Column, e query.Expr) error {
	if isVolatile(e) {
		d.restored = true
		return nil
	}
	var value types.Datum
	text := "SELECT CAST(" + col.Default + " AS " + pgcatalog.FormatType(col.Type, col.Typmod) + ")"
	err := d.Query(d.ctx, d.view, text, func(row []types.Datum) error {
		value = row[0].Clone()
		return nil
	})
	if err == nil && !value.IsNull() {
		col.Missing = types.AppendDatum(nil, value)
	}
	return err
}

func isVolatile(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		switch v := x.(type) {
		case *query.Call:
			return v.Proc.Volatility == 'v'
		case *query.ArrayOp:
			return v.Proc.Volatility == 'v'
		}
		return false
	})
}

func (d *draft) dropColumn(k *pg_query.AlterTableCmd) error {
	if systemColumns[k.Name] {
		return pgerr.Unsupported(`cannot drop system column "%s"`, k.Name)
	}
	col := d.t.Column(k.Name)
	if col == nil {
		err := undefinedColumn(d.t, k.Name)
		if k.MissingOk {
			d.noticeSkipped(err)
			return nil
		}
		return err
	}
	if err := checkFunctionsOf(d, col); err != nil {
		return err
	}
	if err := d.releaseColumn(col, k.Behavior); err != nil {
		return err
	}
	if err := d.checkDropped(col); err != nil {
		return err
	}
	att, cascade := col.AttNum, k.Behavior == pg_query.DropBehavior_DROP_CASCADE
	if err := d.dropDependents(col, cascade); err != nil {
		return err
	}
	if err := d.dropIndexesOf(col); err != nil {
		return err
	}
	if err := dropStatisticsOf(d, att); err != nil {
		return err
	}
	// CHECK constraints that name the column go with it, as in PostgreSQL.
	d.t.Constraints = slices.DeleteFunc(d.t.Constraints, func(k catalog.Constraint) bool {
		return k.Kind == catalog.Check && slices.Contains(k.Columns, att)
	})
	if err := d.dropOwned(att, k.Behavior); err != nil {
		return err
	}
	delete(d.t.ColumnComments, att)
	*col = catalog.Column{AttNum: att, Name: col.Name, Type: col.Type, Typmod: col.Typmod, Dropped: true}
	return nil
}

// checkDropped refuses to drop a column that decides where rows lie.
func (d *draft) checkDropped(col *catalog.Column) error {
	pk := d.t.PrimaryKey()
	inKey := pk != nil && slices.Contains(pk.Columns, col.AttNum)
	if d.t.Policy != nil && (inKey || d.t.Document == col.AttNum && d.needsDocument() || d.isPolicyColumn(col)) {
		return d.neededByPolicy(col)
	}
	if d.t.Document == col.AttNum {
		if d.t.Anchors {
			if err := d.anchorsWithout(col); err != nil {
				return err
			}
		}
		d.t.Document = 0
		d.options.reset = append(d.options.reset, optionDocument)
	}
	if inKey {
		return d.dropKey(pk)
	}
	return nil
}

// anchorsWithout keeps a collection's anchors when its document column is dropped: anchors are
// chosen together with the primary key and do not change with the document.
func (d *draft) anchorsWithout(col *catalog.Column) error {
	if by, ok := d.option(optionAnchorBy); ok {
		return pgerr.New(pgerr.DependentObjectsStillExist,
			`cannot drop column %s of table %s because option "%s" requires it`, col.Name, d.t.Name, optionAnchorBy).
			WithDetail("New ids are anchored to the field %s.", by).
			WithHint("Use ALTER TABLE %s RESET (%s) first.", d.quoted(d.view, d.t), optionAnchorBy)
	}
	return nil
}

func (d *draft) neededByPolicy(col *catalog.Column) error {
	return pgerr.New(pgerr.DependentObjectsStillExist,
		"cannot drop column %s of table %s because its sharding policy requires it", col.Name, d.t.Name).
		WithHint("Use ALTER TABLE %s RESET (%s) first.", d.quoted(d.view, d.t), shardmap.OptionBy)
}

func (d *draft) isPolicyColumn(col *catalog.Column) bool {
	return slices.ContainsFunc(d.t.Policy.Fields, func(f shardmap.Field) bool {
		return len(f.Path) == 1 && f.Path[0] == col.Name
	})
}

// needsDocument reports whether a field of the policy is looked up in the document.
func (d *draft) needsDocument() bool {
	return slices.ContainsFunc(d.t.Policy.Fields, func(f shardmap.Field) bool {
		return f.Func != shardmap.IDFunc && (len(f.Path) != 1 || d.t.Column(f.Path[0]) == nil)
	})
}

// dropDependents drops the generated columns that are computed from a column.
func (d *draft) dropDependents(col *catalog.Column, cascade bool) error {
	for i := range d.t.Columns {
		g := &d.t.Columns[i]
		if g.Dropped || g.Generated == "" || g.AttNum == col.AttNum {
			continue
		}
		uses, err := d.generatedFrom(g, col)
		if err != nil {
			return err
		}
		if !uses {
			continue
		}
		if !cascade {
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop column %s of table %s because other objects depend on it", col.Name, d.t.Name).
				WithDetail("column %s of table %s depends on column %s of table %s", g.Name, d.t.Name, col.Name,
					d.t.Name).
				WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
		}
		d.notice(pgerr.SuccessfulCompletion, "drop cascades to column %s of table %s", g.Name, d.t.Name)
		if err := d.dropColumn(&pg_query.AlterTableCmd{Name: g.Name,
			Behavior: pg_query.DropBehavior_DROP_CASCADE}); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) generatedFrom(g, col *catalog.Column) (bool, error) {
	src, err := analyze.ParseExpression(g.Generated)
	if err != nil {
		return false, err
	}
	e, err := analyze.Generated(d.analysis(), src, query.Column{Name: g.Name, Type: g.Type, Typmod: g.Typmod}, d.t.Name,
		d.columns())
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(variables(e), func(v *query.Var) bool {
		return v.Col >= 0 && d.t.Columns[v.Col].AttNum == col.AttNum
	}), nil
}

func (d *draft) columnDefault(k *pg_query.AlterTableCmd) error {
	col, err := d.liveColumn(k.Name)
	if err != nil {
		return err
	}
	if col.Generated != "" {
		e := pgerr.New(pgerr.SyntaxError, `column "%s" of relation "%s" is a generated column`, k.Name, d.t.Name)
		if k.Def == nil {
			return e.WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.")
		}
		return e
	}
	if col.Identity != 0 {
		if k.Def == nil {
			return d.identityError(col).WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
		}
		return d.identityError(col)
	}
	col.Default = ""
	if k.Def == nil {
		return nil
	}
	err = d.analyzeDefault(columnExpr{att: col.AttNum, node: k.Def})
	if e := pgerr.From(err); e != nil {
		e.Position = 0 // PostgreSQL reports no position here
	}
	return err
}

func (d *draft) setNotNull(k *pg_query.AlterTableCmd) error {
	col, err := d.liveColumn(k.Name)
	if err != nil || col.NotNull {
		return err
	}
	col.NotNull = true
	d.scans = append(d.scans, nullScan(d.t, col))
	return nil
}

func (d *draft) dropNotNull(k *pg_query.AlterTableCmd) error {
	col, err := d.liveColumn(k.Name)
	if err != nil {
		return err
	}
	if col.Identity != 0 {
		return d.identityError(col)
	}
	pk := d.t.PrimaryKey()
	if pk == nil {
		pk = d.t.DeferrableKey()
	}
	if pk != nil && slices.Contains(pk.Columns, col.AttNum) || d.key != nil &&
		slices.Contains(d.key.columns, col.Name) {
		return pgerr.New(pgerr.InvalidTableDefinition, `column "%s" is in a primary key`, k.Name)
	}
	col.NotNull = false
	return nil
}

func (d *draft) dropExpression(k *pg_query.AlterTableCmd) error {
	col, err := d.liveColumn(k.Name)
	if err != nil {
		return err
	}
	if col.Generated == "" {
		e := pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`column "%s" of relation "%s" is not a stored generated column`, k.Name, d.t.Name)
		if k.MissingOk {
			d.noticeSkipped(e)
			return nil
		}
		return e
	}
	col.Generated = ""
	return nil
}

// setStatistics sets the statistics target of a column.
func setStatistics(d *draft, k *pg_query.AlterTableCmd) error {
	if k.Name == "" {
		return pgerr.Unsupported("cannot refer to non-index column by number")
	}
	target, err := statisticsTarget(d.change, k.Def)
	if err != nil {
		return err
	}
	col, err := d.liveColumn(k.Name)
	if err != nil {
		return err
	}
	col.Target = target
	return nil
}

// setIndexStatistics sets the statistics target of an expression in an index.
func setIndexStatistics(d *draft, x *catalog.Index, k *pg_query.AlterTableCmd) error {
	if k.Name != "" {
		return pgerr.Unsupported("the columns of an index cannot be named in SET STATISTICS yet").
			WithHint("Use the number of the column, as in ALTER INDEX … ALTER COLUMN 1 SET STATISTICS 100.")
	}
	target, err := statisticsTarget(d.change, k.Def)
	if err != nil {
		return err
	}
	at := int(k.Num) - 1
	switch {
	case at >= len(x.Columns)+len(x.Include):
		return pgerr.New(pgerr.UndefinedColumn, `column number %d of relation "%s" does not exist`, k.Num, x.Name)
	case at >= len(x.Columns):
		return pgerr.Unsupported(`cannot alter statistics on included column "%s" of index "%s"`,
			d.t.ColumnByNum(x.Include[at-len(x.Columns)]).Name, x.Name)
	case x.Columns[at] != 0:
		return pgerr.Unsupported(`cannot alter statistics on non-expression column "%s" of index "%s"`,
			d.t.ColumnByNum(x.Columns[at]).Name, x.Name).WithHint("Alter statistics on table column instead.")
	}
	for len(x.Targets) <= at {
		x.Targets = append(x.Targets, 0)
	}
	if x.Targets[at] = target; !slices.ContainsFunc(x.Targets, func(n uint32) bool { return n != 0 }) {
		x.Targets = nil
	}
	return nil
}

// maxTarget is the largest statistics target.
const maxTarget = 10000

// statisticsTarget returns the target that a command sets, plus 1.
func statisticsTarget(c *change, target *pg_query.Node) (uint32, error) {
	n := int32(-1) // SET STATISTICS DEFAULT
	if target != nil {
		n = target.GetInteger().GetIval()
	}
	switch {
	case n < -1:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "statistics target %d is too low", n)
	case n > maxTarget:
		c.notice(pgerr.InvalidParameterValue, "lowering statistics target to %d", maxTarget)
		c.notices[len(c.notices)-1].Severity = "WARNING"
		n = maxTarget
	}
	return uint32(n + 1), nil
}
