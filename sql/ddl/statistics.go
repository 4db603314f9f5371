package ddl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// createStatistics is CREATE STATISTICS.
func createStatistics(r *runner, n *pg_query.CreateStatsStmt) error {
	if len(n.Relations) != 1 {
		return pgerr.Unsupported("only a single relation is allowed in CREATE STATISTICS")
	}
	rv := n.Relations[0].GetRangeVar()
	if rv == nil {
		return pgerr.Unsupported("CREATE STATISTICS only supports relation names in the FROM clause")
	}
	return r.updateReserved(func(c *change) []catalog.OID { return c.find(rv) }, func(c *change) error {
		t, err := statisticsTable(c, rv)
		if err != nil {
			return err
		}
		d := &draft{change: c, t: t.Clone(), was: t}
		x := &catalog.ExtendedStatistics{Owner: c.me.OID}
		keys, err := statisticsKeys(d, n.Exprs)
		if err != nil {
			return err
		}
		if !c.owns(t.Owner) {
			return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of table %s", t.Name)
		}
		if err := nameStatistics(d, x, n.Defnames, keys); err != nil {
			return err
		}
		if other, _ := catalog.ExtendedByName(c.view, x.Schema, x.Name); other != nil {
			exists := pgerr.New(pgerr.DuplicateObject, `statistics object "%s" already exists`, x.Name)
			if n.IfNotExists {
				c.noticeSkipped(exists)
				return nil
			}
			return exists
		}
		if err := defineStatistics(d, x, keys, texts(n.StatTypes)); err != nil {
			return err
		}
		return errors.Join(addStatistics(d, *x), c.ch.Require(x.Schema), c.ch.PutTable(d.t))
	})
}

// addStatistics assigns a statistics object its OID and adds it to the table.
func addStatistics(d *draft, x catalog.ExtendedStatistics) (err error) {
	if x.OID, err = d.newOID(); err != nil {
		return err
	}
	d.t.Statistics = append(d.t.Statistics, x)
	return nil
}

// statisticsTable finds the table of CREATE STATISTICS.
func statisticsTable(c *change, rv *pg_query.RangeVar) (*catalog.Table, error) {
	f, err := c.lookup(rv)
	switch {
	case err != nil:
		return nil, err
	case f == (found{}):
		return nil, undefinedRelation(rv)
	case f.kind() != "table":
		return nil, pgerr.New(pgerr.WrongObjectType, `cannot define statistics for relation "%s"`, rv.Relname).
			WithDetail("This operation is not supported for %s.", kindPlural(f.kind()))
	case f.system != nil:
		return nil, systemCatalog(f.system.Name)
	}
	return f.table, c.requireLocked(f.table)
}

// statisticsKey is a column or an expression in CREATE STATISTICS.
type statisticsKey struct {
	name string     // "" unless it is a column without parentheses
	expr query.Expr // of an expression, or a column in parentheses
}

// statisticsKeys analyzes the expressions.
func statisticsKeys(d *draft, list []*pg_query.Node) ([]statisticsKey, error) {
	var out []statisticsKey
	for _, n := range list {
		k := statisticsKey{name: n.GetStatsElem().GetName()}
		if x := n.GetStatsElem().GetExpr(); x != nil {
			var err error
			src := analyze.Source{Text: d.source, Node: x}
			if k.expr, err = analyze.StatisticsExpression(d.analysis(), src, d.t.Name, d.columns()); err != nil {
				return nil, err
			}
		}
		out = append(out, k)
	}
	return out, nil
}

// nameStatistics sets the schema and the name. Without a name, it is made of the table's name and
// those of the columns.
func nameStatistics(d *draft, x *catalog.ExtendedStatistics, names []*pg_query.Node, keys []statisticsKey) error {
	if len(names) == 0 {
		s := d.view.Schema(d.t.Schema)
		x.Schema, x.Name = s.OID, chooseStatisticsName(d, s.OID, keys)
		_, err := d.schemaToFill(s.Name, x.Name)
		return err
	}
	schema, name, err := splitStatisticsName(d.change, names)
	if err != nil {
		return err
	}
	s, err := d.target(&pg_query.RangeVar{Schemaname: schema, Relname: name, Location: -1})
	if err != nil {
		return err
	}
	x.Schema, x.Name = s.OID, name
	return nil
}

func chooseStatisticsName(d *draft, schema catalog.OID, keys []statisticsKey) string {
	var parts []string
	for _, k := range keys {
		part := k.name
		if part == "" {
			part = "expr"
		}
		parts = append(parts, part)
	}
	taken := func(name string) bool {
		other, _ := catalog.ExtendedByName(d.view, schema, name)
		return other != nil || slices.ContainsFunc(d.t.Statistics, func(x catalog.ExtendedStatistics) bool {
			return x.Schema == schema && x.Name == name
		})
	}
	label := "stat"
	for pass := 1; ; pass++ {
		name := makeName(d.t.Name, clip(strings.Join(parts, "_"), maxName), label)
		if !taken(name) {
			return name
		}
		label = fmt.Sprintf("stat%d", pass)
	}
}

// defineStatistics sets what is computed: the columns, the expressions and the kinds.
func defineStatistics(d *draft, x *catalog.ExtendedStatistics, keys []statisticsKey, kinds []string) error {
	if len(keys) > catalog.MaxStatisticsColumns {
		return pgerr.New(pgerr.TooManyColumns, "cannot have more than %d columns in statistics",
			catalog.MaxStatisticsColumns)
	}
	for _, k := range keys {
		if err := addStatisticsKey(d, x, k, len(keys) > 1); err != nil {
			return err
		}
	}
	if len(keys) == 1 && len(x.Expressions) == 1 && len(kinds) > 0 {
		return pgerr.Unsupported(
			"when building statistics on a single expression, statistics kinds may not be specified")
	}
	if err := addStatisticsKinds(x, kinds); err != nil {
		return err
	}
	if len(keys) < 2 && len(x.Expressions) == 0 {
		return pgerr.New(pgerr.InvalidObjectDefinition, "extended statistics require at least 2 columns")
	}
	if len(keys) < 2 {
		x.Kinds = nil
	}
	slices.Sort(x.Columns)
	for i := range x.Columns[min(1, len(x.Columns)):] {
		if x.Columns[i] == x.Columns[i+1] {
			return pgerr.New(pgerr.DuplicateColumn, "duplicate column name in statistics definition")
		}
	}
	for i, text := range x.Expressions {
		if slices.Contains(x.Expressions[:i], text) {
			return pgerr.New(pgerr.DuplicateColumn, "duplicate expression in statistics definition")
		}
	}
	return nil
}

func addStatisticsKinds(x *catalog.ExtendedStatistics, kinds []string) error {
	named := map[string]catalog.StatisticsKind{
		"ndistinct": catalog.NDistinct, "dependencies": catalog.Dependencies, "mcv": catalog.CommonValues,
	}
	var asked []catalog.StatisticsKind
	for _, name := range kinds {
		kind, ok := named[name]
		if !ok {
			return pgerr.New(pgerr.SyntaxError, `unrecognized statistics kind "%s"`, name)
		}
		asked = append(asked, kind)
	}
	for _, kind := range catalog.StatisticsKinds {
		if len(asked) == 0 || slices.Contains(asked, kind) {
			x.Kinds = append(x.Kinds, kind)
		}
	}
	return nil
}

// addStatisticsKey adds a column or an expression. several is set if there are others.
func addStatisticsKey(d *draft, x *catalog.ExtendedStatistics, k statisticsKey, several bool) error {
	name := k.name
	if k.expr != nil {
		vars := variables(k.expr)
		if slices.ContainsFunc(vars, func(v *query.Var) bool { return v.Col < 0 }) {
			return analyze.ErrSystemColumnStatistics()
		}
		v, ok := k.expr.(*query.Var)
		if !ok {
			if several && !ordered(k.expr.Type()) {
				return uncomparable("expression cannot be used in multivariate statistics", k.expr.Type())
			}
			x.Expressions = append(x.Expressions, deparse.Expr(k.expr))
			return nil
		}
		name = d.t.Columns[v.Col].Name
	}
	if systemColumns[name] {
		return analyze.ErrSystemColumnStatistics()
	}
	col := d.t.Column(name)
	if col == nil {
		return pgerr.New(pgerr.UndefinedColumn, `column "%s" does not exist`, name)
	}
	x.Columns = append(x.Columns, col.AttNum)
	return statisticsType(col, col.Type)
}

// statisticsType returns an error if a column of this type cannot be in a statistics object.
func statisticsType(col *catalog.Column, oid types.OID) error {
	if ordered(oid) {
		return nil
	}
	return uncomparable(fmt.Sprintf(`column "%s" cannot be used in statistics`, col.Name), oid)
}

// ordered reports whether a type has an order.
func ordered(oid types.OID) bool { return pgcatalog.SortOpsOf(oid) != nil }

func uncomparable(what string, oid types.OID) error {
	return pgerr.Unsupported("%s because its type %s has no default btree operator class", what,
		pgcatalog.FormatType(oid, -1))
}

// splitStatisticsName returns the schema, "" if none is named, and the name of a statistics object.
func splitStatisticsName(c *change, names []*pg_query.Node) (schema, name string, err error) {
	parts := texts(names)
	shown := strings.Join(parts, ".")
	switch d := c.view.Database(c.Database); {
	case len(parts) > 3:
		return "", "", pgerr.New(pgerr.SyntaxError, "improper qualified name (too many dotted names): %s", shown)
	case len(parts) == 3 && (d == nil || d.Name != parts[0]):
		return "", "", pgerr.Unsupported("cross-database references are not implemented: %s", shown)
	case len(parts) > 1:
		schema = parts[len(parts)-2]
	}
	return schema, parts[len(parts)-1], nil
}

// statisticsNamed finds a statistics object, nil if there is none.
func statisticsNamed(c *change, names []*pg_query.Node) (*catalog.Table, *catalog.ExtendedStatistics, error) {
	schema, name, err := splitStatisticsName(c, names)
	if err != nil {
		return nil, nil, err
	}
	path := c.SearchPath
	if schema != "" {
		path = []string{schema}
		if !catalog.IsBuiltinSchema(schema) && c.view.SchemaByName(c.Database, schema) == nil {
			return nil, nil, pgerr.New(pgerr.InvalidSchemaName, `schema "%s" does not exist`, schema)
		}
	}
	for _, p := range path {
		s := c.view.SchemaByName(c.Database, p)
		if s == nil {
			continue
		}
		if t, x := catalog.ExtendedByName(c.view, s.OID, name); x != nil {
			return t, x, nil
		}
	}
	return nil, nil, nil
}

func missingStatistics(names []*pg_query.Node) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedObject, `statistics object "%s" does not exist`, strings.Join(texts(names), "."))
}

// statisticsTables returns the tables of statistics objects, to lock them.
func statisticsTables(c *change, list ...[]*pg_query.Node) (out []catalog.OID) {
	for _, names := range list {
		if t, _, err := statisticsNamed(c, names); err == nil && t != nil && !slices.Contains(out, t.OID) {
			out = append(out, t.OID)
		}
	}
	return out
}

func mustOwnStatistics(c *change, x *catalog.ExtendedStatistics, names []*pg_query.Node) error {
	if c.owns(x.Owner) {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of statistics object %s",
		strings.Join(texts(names), "."))
}

// changeStatistics changes a statistics object, which the role must own.
func changeStatistics(r *runner, names []*pg_query.Node, missingOK bool,
	f func(*change, *catalog.ExtendedStatistics) error) error {
	return r.updateReserved(func(c *change) []catalog.OID { return statisticsTables(c, names) },
		func(c *change) error {
			t, x, err := statisticsNamed(c, names)
			if err == nil && x == nil || missingOK && pgerr.Is(err, pgerr.InvalidSchemaName) {
				if !missingOK {
					return missingStatistics(names)
				}
				c.noticeSkipped(missingStatistics(names))
				return nil
			}
			if err != nil {
				return err
			}
			if err := errors.Join(c.requireLocked(t), mustOwnStatistics(c, x, names)); err != nil {
				return err
			}
			t = t.Clone()
			if err := f(c, t.Extended(x.OID)); err != nil {
				return err
			}
			return c.ch.PutTable(t)
		})
}

// alterStatistics is ALTER STATISTICS … SET STATISTICS.
func alterStatistics(r *runner, n *pg_query.AlterStatsStmt) error {
	return changeStatistics(r, n.Defnames, n.MissingOk, func(c *change, x *catalog.ExtendedStatistics) (err error) {
		x.Target, err = statisticsTarget(c, n.Stxstattarget)
		return err
	})
}

func renameStatistics(r *runner, n *pg_query.RenameStmt) error {
	return changeStatistics(r, n.Object.GetList().GetItems(), false,
		func(c *change, x *catalog.ExtendedStatistics) error {
			return placeStatistics(c, x, x.Schema, n.Newname)
		})
}

func moveStatistics(r *runner, n *pg_query.AlterObjectSchemaStmt) error {
	return changeStatistics(r, n.Object.GetList().GetItems(), false,
		func(c *change, x *catalog.ExtendedStatistics) error {
			s, err := c.schemaToFill(n.Newschema, x.Name)
			if err != nil || s.OID == x.Schema {
				return err
			}
			return placeStatistics(c, x, s.OID, x.Name)
		})
}

// placeStatistics changes the schema or the name of a statistics object.
func placeStatistics(c *change, x *catalog.ExtendedStatistics, schema catalog.OID, name string) error {
	s := c.view.Schema(schema)
	if _, err := c.schemaToFill(s.Name, name); err != nil {
		return err
	}
	if other, _ := catalog.ExtendedByName(c.view, schema, name); other != nil {
		return pgerr.New(pgerr.DuplicateObject, `statistics object "%s" already exists in schema "%s"`, name, s.Name)
	}
	x.Schema, x.Name = schema, name
	return c.ch.Require(schema)
}

func statisticsOwner(r *runner, n *pg_query.AlterOwnerStmt) error {
	return changeStatistics(r, n.Object.GetList().GetItems(), false,
		func(c *change, x *catalog.ExtendedStatistics) error {
			role, err := newOwnerIn(c, n.Newowner, x.Owner, x.Schema)
			if err != nil {
				return err
			}
			x.Owner = role.OID
			return nil
		})
}

func commentOnStatistics(r *runner, n *pg_query.CommentStmt) error {
	return changeStatistics(r, n.Object.GetList().GetItems(), false,
		func(_ *change, x *catalog.ExtendedStatistics) error {
			x.Comment = n.Comment
			return nil
		})
}

// dropStatistics is DROP STATISTICS. Nothing depends on statistics objects, so CASCADE has no effect.
func dropStatistics(r *runner, n *pg_query.DropStmt) error {
	var list [][]*pg_query.Node
	for _, o := range n.Objects {
		list = append(list, o.GetList().GetItems())
	}
	return r.updateReserved(func(c *change) []catalog.OID { return statisticsTables(c, list...) },
		func(c *change) error {
			changed := map[catalog.OID]*catalog.Table{}
			for _, names := range list {
				t, x, err := statisticsNamed(c, names)
				if err == nil && x == nil {
					err = missingStatistics(names)
				}
				if e := pgerr.From(err); e != nil {
					if !n.MissingOk || e.Code != pgerr.InvalidSchemaName && e.Code != pgerr.UndefinedObject {
						return err
					}
					c.noticeSkipped(e)
					continue
				}
				if err := c.requireLocked(t); err != nil {
					return err
				}
				if s := c.view.Schema(x.Schema); !c.owns(s.Owner) {
					if err := mustOwnStatistics(c, x, names); err != nil {
						return err
					}
				}
				if changed[t.OID] == nil {
					changed[t.OID] = t.Clone()
				}
				cutParts(changed[t.OID], []catalog.OID{x.OID})
			}
			for _, t := range changed {
				if err := c.ch.PutTable(t); err != nil {
					return err
				}
			}
			return nil
		})
}

// statisticsExpressions replaces each expression of a statistics object by the result of f.
func statisticsExpressions(d *draft, x *catalog.ExtendedStatistics, f func(query.Expr) (string, error)) error {
	for i, text := range x.Expressions {
		src, err := analyze.ParseExpression(text)
		if err != nil {
			return err
		}
		e, err := analyze.StatisticsExpression(d.analysis(), src, d.t.Name, d.columns())
		if err != nil {
			return err
		}
		if x.Expressions[i], err = f(e); err != nil {
			return err
		}
	}
	return nil
}

// dropStatisticsOf drops the statistics objects that use a column.
func dropStatisticsOf(d *draft, att int16) error {
	var gone []catalog.OID
	for i := range d.t.Statistics {
		x := &d.t.Statistics[i]
		uses := slices.Contains(x.Columns, att)
		err := statisticsExpressions(d, x, func(e query.Expr) (string, error) {
			uses = uses || slices.ContainsFunc(variables(e), func(v *query.Var) bool {
				return v.Col >= 0 && d.t.Columns[v.Col].AttNum == att
			})
			return deparse.Expr(e), nil
		})
		if err != nil {
			return err
		}
		if uses {
			gone = append(gone, x.OID)
		}
	}
	cutParts(d.t, gone)
	return nil
}

// recheckStatistics analyzes the statistics objects again after columns have got other types.
func recheckStatistics(d *draft) error {
	for i := range d.t.Statistics {
		x := &d.t.Statistics[i]
		for _, att := range x.Columns {
			col := d.t.ColumnByNum(att)
			if err := statisticsType(col, col.Type); err != nil {
				return err
			}
		}
		err := statisticsExpressions(d, x, func(e query.Expr) (string, error) {
			if len(x.Kinds) > 0 && !ordered(e.Type()) {
				return "", uncomparable("expression cannot be used in multivariate statistics", e.Type())
			}
			return deparse.Expr(e), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// likeStatistics copies the statistics objects of another table under generated names.
func likeStatistics(d *draft, from *catalog.Table, comments bool) error {
	for i := range from.Statistics {
		x := from.Statistics[i]
		var keys []statisticsKey
		var columns []int16
		for _, att := range x.Columns {
			name := from.ColumnByNum(att).Name
			keys = append(keys, statisticsKey{name: name})
			columns = append(columns, d.t.Column(name).AttNum)
		}
		for range x.Expressions {
			keys = append(keys, statisticsKey{})
		}
		slices.Sort(columns)
		x.Columns, x.Expressions = columns, slices.Clone(x.Expressions)
		x.Schema, x.Owner, x.Target = d.t.Schema, d.me.OID, 0
		x.Name = chooseStatisticsName(d, x.Schema, keys)
		if !comments {
			x.Comment = ""
		}
		if err := addStatistics(d, x); err != nil {
			return err
		}
	}
	return nil
}

// statisticsDependents returns the statistics objects of a schema whose tables are not dropped with it.
// They are recorded to be dropped if record is set.
func statisticsDependents(c *change, s *catalog.Schema, dropped []*catalog.Table,
	record bool) (gone, detail []string, err error) {
	for t, x := range catalog.ExtendedIn(c.view, s.OID) {
		if slices.ContainsFunc(dropped, func(d *catalog.Table) bool { return d.OID == t.OID }) {
			continue
		}
		what := "statistics object " + visibleStatistics(c, s, x)
		gone, detail = append(gone, what), append(detail, what+" depends on schema "+s.Name)
		if !record {
			continue
		}
		if err := c.requireLocked(t); err != nil {
			return nil, nil, err
		}
		if c.cut == nil {
			c.cut = map[catalog.OID][]catalog.OID{}
		}
		c.cut[t.OID] = append(c.cut[t.OID], x.OID)
	}
	return gone, detail, nil
}

// visibleStatistics returns a statistics object's name, with its schema if the bare name would find
// another one.
func visibleStatistics(c *change, s *catalog.Schema, x *catalog.ExtendedStatistics) string {
	_, first, err := statisticsNamed(c, []*pg_query.Node{pg_query.MakeStrNode(x.Name)})
	if err == nil && first != nil && first.OID == x.OID {
		return x.Name
	}
	return s.Name + "." + x.Name
}
