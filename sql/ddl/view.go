package ddl

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Options of views.
const (
	optionBarrier = catalog.OptionSecurityBarrier
	optionInvoker = catalog.OptionSecurityInvoker
	optionCheck   = catalog.OptionCheck
)

// createView is CREATE [OR REPLACE] VIEW.
func createView(r *runner, n *pg_query.ViewStmt) error {
	if n.View.Relpersistence == "u" {
		return pgerr.New(pgerr.SyntaxError, "views cannot be unlogged because they do not have storage")
	}
	if err := refuseViewQuery(n.Query.GetSelectStmt()); err != nil {
		return err
	}
	var replaced []catalog.OID
	find := func(c *change) []catalog.OID {
		replaced = nil
		if n.Replace {
			replaced = c.find(n.View)
		}
		out := slices.Clone(replaced)
		if def, err := defineView(c, n); err == nil {
			for _, u := range def.Uses {
				if u.Relation != 0 && !slices.Contains(out, u.Relation) {
					out = append(out, u.Relation)
				}
			}
		}
		return out
	}
	lock := func(ctx context.Context, relations []catalog.OID) error {
		if err := r.Lock(ctx, replaced); err != nil {
			return err
		}
		return r.Reserve(ctx, slices.DeleteFunc(slices.Clone(relations),
			func(oid catalog.OID) bool { return slices.Contains(replaced, oid) }))
	}
	return r.locking(lock, find, func(c *change) error {
		def, err := defineView(c, n)
		if err != nil {
			return err
		}
		for _, u := range def.Uses {
			if t := c.view.Table(u.Relation); t != nil {
				if err := c.requireLocked(t); err != nil {
					return err
				}
			}
		}
		return putView(c, n, def)
	})
}

// createMaterialized is the definition of CREATE MATERIALIZED VIEW. The caller fills it.
func createMaterialized(r *runner, n *pg_query.CreateTableAsStmt) error {
	into := n.Into
	if into.Rel.Relpersistence == "u" {
		return pgerr.New(pgerr.FeatureNotSupported, "materialized views cannot be unlogged")
	}
	for _, x := range n.Query.GetSelectStmt().GetWithClause().GetCtes() {
		if x.GetCommonTableExpr().GetCtequery().GetSelectStmt() == nil {
			return pgerr.Unsupported("materialized views must not use data-modifying statements in WITH")
		}
	}
	as := &pg_query.ViewStmt{View: into.Rel, Query: n.Query}
	find := func(c *change) (out []catalog.OID) {
		if def, err := defineView(c, as); err == nil {
			for _, u := range def.Uses {
				if u.Relation != 0 && !slices.Contains(out, u.Relation) {
					out = append(out, u.Relation)
				}
			}
		}
		return out
	}
	return r.locking(r.Reserve, find, func(c *change) error { return putMaterialized(c, n, as) })
}

func putMaterialized(c *change, n *pg_query.CreateTableAsStmt, as *pg_query.ViewStmt) error {
	def, err := defineView(c, as)
	if err != nil {
		return err
	}
	names := texts(n.Into.ColNames)
	if len(names) > len(def.Columns) {
		return pgerr.New(pgerr.SyntaxError, "too many column names were specified")
	}
	for i, name := range names {
		def.Columns[i].Name = name
	}
	for _, u := range def.Uses {
		t := c.view.Table(u.Relation)
		if t == nil {
			continue
		}
		if t.IsTemporary() {
			return pgerr.Unsupported("materialized views must not use temporary tables or views")
		}
		if err := c.requireLocked(t); err != nil {
			return err
		}
	}
	columns, err := viewColumns(c.view, def.Columns, def.Form)
	if err != nil {
		return err
	}
	schema, err := c.target(n.Into.Rel)
	if err != nil {
		return err
	}
	if old, _ := c.view.Relation(schema.OID, n.Into.Rel.Relname); old != nil {
		return relationExists(n.Into.Rel.Relname)
	}
	t, err := viewTable(c, n.Into.Rel.Relname, schema, columns, def)
	if err != nil {
		return err
	}
	t.Kind, t.StorageID, t.View.Populated = catalog.KindMaterialized, t.OID, !n.Into.SkipData
	d := newDraft(c, t)
	if d.options, err = d.readOptions(n.Into.Options, false); err != nil {
		return err
	}
	if err := d.applyOptions(true); err != nil {
		return err
	}
	return c.ch.PutTable(d.t)
}

// refreshMaterialized is the definition's part of REFRESH MATERIALIZED VIEW: the view loses its rows, and
// the caller fills it. CONCURRENTLY changes no definition.
func refreshMaterialized(r *runner, n *pg_query.RefreshMatViewStmt) error {
	find := func(c *change) []catalog.OID { return c.find(n.Relation) }
	if n.Concurrent {
		return r.locking(r.Quiet, find, func(c *change) error { return checkConcurrent(c, n.Relation) })
	}
	return r.updateExclusive(find, func(c *change) error {
		t, err := viewNamed(c, n.Relation, "materialized view")
		if err != nil {
			return err
		}
		if err := c.requireLocked(t); err != nil {
			return err
		}
		own := t.Clone()
		own.View.Populated = !n.SkipData
		return c.emptyTable(own)
	})
}

// checkConcurrent refuses REFRESH CONCURRENTLY of a materialized view that is not populated, or has no unique
// index of all of its rows.
func checkConcurrent(c *change, rv *pg_query.RangeVar) error {
	t, err := viewNamed(c, rv, "materialized view")
	if err != nil {
		return err
	}
	if !t.View.Populated {
		return pgerr.Unsupported("CONCURRENTLY cannot be used when the materialized view is not populated")
	}
	if slices.ContainsFunc(t.Indexes, func(x catalog.Index) bool {
		return x.Unique && x.Predicate == "" && !slices.Contains(x.Columns, 0) && x.State == catalog.IndexPublic
	}) {
		return nil
	}
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `cannot refresh materialized view "%s" concurrently`,
		c.view.Schema(t.Schema).Name+"."+t.Name).
		WithHint("Create a unique index with no WHERE clause on one or more columns of the materialized view.")
}

// refuseViewQuery refuses queries that cannot be views.
func refuseViewQuery(q *pg_query.SelectStmt) error {
	if q.GetIntoClause() != nil {
		return pgerr.Unsupported("views must not contain SELECT INTO")
	}
	for _, x := range q.GetWithClause().GetCtes() {
		if x.GetCommonTableExpr().GetCtequery().GetSelectStmt() == nil {
			return pgerr.Unsupported("views must not contain data-modifying statements in WITH")
		}
	}
	return nil
}

func defineView(c *change, n *pg_query.ViewStmt) (*analyze.ViewDefinition, error) {
	ctx := c.analysis()
	ctx.Source = c.source
	def, err := analyze.DefineView(ctx, n.Query)
	if err != nil {
		return nil, err
	}
	names := texts(n.Aliases)
	if len(names) > len(def.Columns) {
		return nil, pgerr.New(pgerr.SyntaxError, "CREATE VIEW specifies more column names than columns")
	}
	for i, name := range names {
		def.Columns[i].Name = name
	}
	return def, nil
}

// putView creates a view, or replaces the query of an existing one.
func putView(c *change, n *pg_query.ViewStmt, def *analyze.ViewDefinition) error {
	options, err := viewOptions(n.Options, nil)
	if err != nil {
		return err
	}
	switch n.WithCheckOption {
	case pg_query.ViewCheckOption_LOCAL_CHECK_OPTION:
		options[optionCheck] = "local"
	case pg_query.ViewCheckOption_CASCADED_CHECK_OPTION:
		options[optionCheck] = "cascaded"
	}
	if err := checkUpdatable(options, def.Form, c); err != nil {
		return err
	}
	columns, err := viewColumns(c.view, def.Columns, def.Form)
	if err != nil {
		return err
	}
	schema, err := c.target(persistentAs(c, n.View, def))
	if err != nil {
		return err
	}
	old, index := c.view.Relation(schema.OID, n.View.Relname)
	if old != nil && !n.Replace {
		return relationExists(n.View.Relname)
	}
	if old == nil {
		return newView(c, n.View.Relname, schema, columns, options, def)
	}
	if index != nil || !old.IsView() {
		return pgerr.New(pgerr.WrongObjectType, `"%s" is not a view`, n.View.Relname)
	}
	if err := c.mustOwn(old); err != nil {
		return err
	}
	if err := c.requireLocked(old); err != nil {
		return err
	}
	t := old.Clone()
	if err := replaceColumns(t, columns); err != nil {
		return err
	}
	t.Options, t.View.Query, t.View.Uses = options, def.Stored, def.Uses
	return c.ch.PutTable(t)
}

func newView(c *change, name string, schema *catalog.Schema, columns []catalog.Column, options map[string]string,
	def *analyze.ViewDefinition) error {
	t, err := viewTable(c, name, schema, columns, def)
	if err != nil {
		return err
	}
	t.Options = options
	return c.ch.PutTable(t)
}

// viewTable returns a new view.
func viewTable(c *change, name string, schema *catalog.Schema, columns []catalog.Column,
	def *analyze.ViewDefinition) (*catalog.Table, error) {
	if err := checkTypeName(c, schema.OID, name); err != nil {
		return nil, err.WithHint(hintTypeName)
	}
	oid, err := c.newOID()
	if err != nil {
		return nil, err
	}
	rule, err := c.newOID()
	if err != nil {
		return nil, err
	}
	return &catalog.Table{
		OID: oid, Database: c.Database, Schema: schema.OID, Name: name, Owner: c.me.OID, Kind: catalog.KindView,
		Columns: columns, NextAttNum: int16(len(columns) + 1),
		Special: catalog.Special{
			View: &catalog.ViewRule{OID: rule, Query: def.Stored, Uses: def.Uses},
			ACL:  defaultACL(c, 'r', c.me.OID, schema.OID), OnCommit: keptIn(c, schema.OID),
		},
	}, nil
}

// viewColumns returns the columns of a view with a query's columns.
func viewColumns(v *catalog.View, from []query.Column, form *query.Query) ([]catalog.Column, error) {
	var out []catalog.Column
	for i, c := range from {
		if slices.ContainsFunc(from[:i], func(o query.Column) bool { return o.Name == c.Name }) {
			return nil, pgerr.New(pgerr.DuplicateColumn, `column "%s" specified more than once`, c.Name)
		}
		if _, row := form.Targets[i].Expr.(*query.Row); c.Type == types.Record && !row || isTableRow(v, c.Type) {
			return nil, pgerr.Unsupported("a view with a column of a row type is not supported yet").
				WithHint("Select the columns of the row, or convert it with to_jsonb().")
		}
		if p := pgcatalog.TypeByOID(c.Type); p != nil && p.Kind == 'p' {
			return nil, pgerr.New(pgerr.InvalidTableDefinition, `column "%s" has pseudo-type %s`, c.Name,
				pgcatalog.FormatType(c.Type, -1))
		}
		out = append(out, catalog.Column{AttNum: int16(i + 1), Name: c.Name, Type: c.Type, Typmod: c.Typmod})
	}
	return out, nil
}

// replaceColumns sets the columns of a view to those of a new query: the old ones stay, others may follow
// (checkViewTupleDesc).
func replaceColumns(t *catalog.Table, columns []catalog.Column) error {
	if len(columns) < len(t.Columns) {
		return pgerr.New(pgerr.InvalidTableDefinition, "cannot drop columns from view")
	}
	for i := range t.Columns {
		old, c := &t.Columns[i], &columns[i]
		if old.Name != c.Name {
			return pgerr.New(pgerr.InvalidTableDefinition, `cannot change name of view column "%s" to "%s"`, old.Name,
				c.Name).
				WithHint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
		}
		if old.Type != c.Type || old.Typmod != c.Typmod {
			return pgerr.New(pgerr.InvalidTableDefinition, `cannot change data type of view column "%s" from %s to %s`,
				old.Name, pgcatalog.FormatType(old.Type, old.Typmod), pgcatalog.FormatType(c.Type, c.Typmod))
		}
	}
	t.Columns = append(t.Columns, columns[len(t.Columns):]...)
	t.NextAttNum = int16(len(t.Columns) + 1)
	return nil
}

// viewOptions reads WITH (…) and SET (…) into a copy of options.
func viewOptions(list []*pg_query.Node, options map[string]string) (map[string]string, error) {
	out := maps.Clone(options)
	if out == nil {
		out = map[string]string{}
	}
	seen := map[string]bool{}
	for _, node := range list {
		e := node.GetDefElem()
		if e.Defnamespace != "" {
			return nil, pgerr.New(pgerr.InvalidParameterValue, `unrecognized parameter namespace "%s"`, e.Defnamespace)
		}
		name := e.Defname
		value := "true"
		if e.Arg != nil {
			value = optionText(e.Arg)
		}
		if seen[name] {
			return nil, pgerr.New(pgerr.InvalidParameterValue, `parameter "%s" specified more than once`, name)
		}
		seen[name] = true
		if err := checkViewOption(name, value); err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

func checkViewOption(name, value string) error {
	switch name {
	case optionBarrier, optionInvoker:
		if _, err := parseBool(name, value); err != nil {
			return pgerr.New(pgerr.InvalidParameterValue, `invalid value for boolean option "%s": %s`, name, value)
		}
	case optionCheck:
		if lower := strings.ToLower(value); lower != "local" && lower != "cascaded" {
			return pgerr.New(pgerr.InvalidParameterValue, `invalid value for enum option "%s": %s`, name, value).
				WithDetail(`Valid values are "local" and "cascaded".`)
		}
	default:
		return pgerr.New(pgerr.InvalidParameterValue, `unrecognized parameter "%s"`, name)
	}
	return nil
}

// checkUpdatable refuses a check option of a view that cannot be updated.
func checkUpdatable(options map[string]string, form *query.Query, c *change) error {
	if options[optionCheck] == "" {
		return nil
	}
	if why := analyze.NotUpdatable(form); why != "" {
		return pgerr.Unsupported("WITH CHECK OPTION is supported only on automatically updatable views").
			WithHint("%s", why)
	}
	return nil
}

// alterView is ALTER VIEW, and ALTER TABLE of a view, except for names and schemas.
func alterView(r *runner, n *pg_query.AlterTableStmt, kind string) error {
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(n.Relation) }, func(c *change) error {
		t, err := viewNamed(c, n.Relation, kind)
		if n.MissingOk && c.skipsMissing(err, n.Relation) {
			return nil
		}
		if err != nil {
			return err
		}
		if t.IsMaterialized() {
			return alterMaterialized(c, t, commands(n))
		}
		d := &draft{change: c, t: t.Clone(), was: t, becomes: map[int16]query.Expr{}}
		for _, k := range commands(n) {
			if err := alterViewBy(d, k); err != nil {
				return err
			}
		}
		return c.ch.PutTable(d.t)
	})
}

func alterViewBy(d *draft, k *pg_query.AlterTableCmd) error {
	switch k.Subtype {
	case pg_query.AlterTableType_AT_ColumnDefault:
		return d.columnDefault(k)
	case pg_query.AlterTableType_AT_ChangeOwner:
		return d.changeOwner(k.Newowner)
	case pg_query.AlterTableType_AT_SetRelOptions:
		options, err := viewOptions(k.Def.GetList().GetItems(), d.t.Options)
		if err != nil {
			return err
		}
		d.t.Options = options
		if options[optionCheck] == "" {
			return nil
		}
		form, err := analyze.ViewForm(d.analysis(), d.t)
		if err != nil {
			return err
		}
		return checkUpdatable(options, form, d.change)
	case pg_query.AlterTableType_AT_ResetRelOptions:
		for _, x := range k.Def.GetList().GetItems() {
			delete(d.t.Options, x.GetDefElem().GetDefname())
		}
		return nil
	}
	return pgerr.New(pgerr.WrongObjectType, `ALTER action %s cannot be performed on relation "%s"`, actionName(k),
		d.t.Name).WithDetail("This operation is not supported for views.")
}

// actionNames are the names of the commands of ALTER TABLE in messages.
var actionNames = map[pg_query.AlterTableType]string{
	pg_query.AlterTableType_AT_AddColumn:          "ADD COLUMN",
	pg_query.AlterTableType_AT_DropNotNull:        "ALTER COLUMN ... DROP NOT NULL",
	pg_query.AlterTableType_AT_SetNotNull:         "ALTER COLUMN ... SET NOT NULL",
	pg_query.AlterTableType_AT_DropExpression:     "ALTER COLUMN ... DROP EXPRESSION",
	pg_query.AlterTableType_AT_SetStatistics:      "ALTER COLUMN ... SET STATISTICS",
	pg_query.AlterTableType_AT_SetOptions:         "ALTER COLUMN ... SET",
	pg_query.AlterTableType_AT_ResetOptions:       "ALTER COLUMN ... RESET",
	pg_query.AlterTableType_AT_SetStorage:         "ALTER COLUMN ... SET STORAGE",
	pg_query.AlterTableType_AT_SetCompression:     "ALTER COLUMN ... SET COMPRESSION",
	pg_query.AlterTableType_AT_DropColumn:         "DROP COLUMN",
	pg_query.AlterTableType_AT_AddConstraint:      "ADD CONSTRAINT",
	pg_query.AlterTableType_AT_AlterConstraint:    "ALTER CONSTRAINT",
	pg_query.AlterTableType_AT_ValidateConstraint: "VALIDATE CONSTRAINT",
	pg_query.AlterTableType_AT_DropConstraint:     "DROP CONSTRAINT",
	pg_query.AlterTableType_AT_AlterColumnType:    "ALTER COLUMN ... SET DATA TYPE",
	pg_query.AlterTableType_AT_ClusterOn:          "CLUSTER ON",
	pg_query.AlterTableType_AT_DropCluster:        "SET WITHOUT CLUSTER",
	pg_query.AlterTableType_AT_SetLogged:          "SET LOGGED",
	pg_query.AlterTableType_AT_SetUnLogged:        "SET UNLOGGED",
	pg_query.AlterTableType_AT_DropOids:           "SET WITHOUT OIDS",
	pg_query.AlterTableType_AT_ReplicaIdentity:    "REPLICA IDENTITY",
	pg_query.AlterTableType_AT_EnableRowSecurity:  "ENABLE ROW SECURITY",
	pg_query.AlterTableType_AT_DisableRowSecurity: "DISABLE ROW SECURITY",
	pg_query.AlterTableType_AT_ForceRowSecurity:   "FORCE ROW SECURITY",
	pg_query.AlterTableType_AT_NoForceRowSecurity: "NO FORCE ROW SECURITY",
	pg_query.AlterTableType_AT_AddIdentity:        "ALTER COLUMN ... ADD IDENTITY",
	pg_query.AlterTableType_AT_SetIdentity:        "ALTER COLUMN ... SET",
	pg_query.AlterTableType_AT_DropIdentity:       "ALTER COLUMN ... DROP IDENTITY",
	pg_query.AlterTableType_AT_EnableTrig:         "ENABLE TRIGGER",
	pg_query.AlterTableType_AT_DisableTrig:        "DISABLE TRIGGER",
	pg_query.AlterTableType_AT_AddInherit:         "INHERIT",
	pg_query.AlterTableType_AT_DropInherit:        "NO INHERIT",
	pg_query.AlterTableType_AT_AttachPartition:    "ATTACH PARTITION",
	pg_query.AlterTableType_AT_DetachPartition:    "DETACH PARTITION",
	pg_query.AlterTableType_AT_SetTableSpace:      "SET TABLESPACE",
	pg_query.AlterTableType_AT_EnableRule:         "ENABLE RULE",
	pg_query.AlterTableType_AT_DisableRule:        "DISABLE RULE",
	pg_query.AlterTableType_AT_AddOf:              "OF",
	pg_query.AlterTableType_AT_DropOf:             "NOT OF",
	pg_query.AlterTableType_AT_EnableAlwaysTrig:   "ENABLE ALWAYS TRIGGER",
	pg_query.AlterTableType_AT_EnableReplicaTrig:  "ENABLE REPLICA TRIGGER",
	pg_query.AlterTableType_AT_EnableTrigAll:      "ENABLE TRIGGER ALL",
	pg_query.AlterTableType_AT_DisableTrigAll:     "DISABLE TRIGGER ALL",
	pg_query.AlterTableType_AT_EnableTrigUser:     "ENABLE TRIGGER USER",
	pg_query.AlterTableType_AT_DisableTrigUser:    "DISABLE TRIGGER USER",
}

func actionName(k *pg_query.AlterTableCmd) string {
	if name, ok := actionNames[k.Subtype]; ok {
		return name
	}
	return strconv.Itoa(int(k.Subtype))
}

// alterMaterialized is ALTER MATERIALIZED VIEW, except for names and schemas.
func alterMaterialized(c *change, t *catalog.Table, list []*pg_query.AlterTableCmd) error {
	for _, k := range list {
		switch k.Subtype {
		case pg_query.AlterTableType_AT_ChangeOwner, pg_query.AlterTableType_AT_SetStatistics,
			pg_query.AlterTableType_AT_SetRelOptions, pg_query.AlterTableType_AT_ResetRelOptions,
			pg_query.AlterTableType_AT_SetStorage, pg_query.AlterTableType_AT_SetOptions,
			pg_query.AlterTableType_AT_ResetOptions, pg_query.AlterTableType_AT_ClusterOn,
			pg_query.AlterTableType_AT_DropCluster:
		default:
			return pgerr.New(pgerr.WrongObjectType, `ALTER action %s cannot be performed on relation "%s"`,
				actionName(k), t.Name).WithDetail("This operation is not supported for materialized views.")
		}
	}
	return c.alter(t, list)
}

// viewNamed finds a view of a kind to change, which the role must own.
func viewNamed(c *change, rv *pg_query.RangeVar, kind string) (*catalog.Table, error) {
	f, err := c.relationToRename(rv)
	if err == nil && f.kind() != kind {
		return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not a %s`, rv.Relname, kind)
	}
	return f.table, err
}

// viewKind returns the kind of views that a statement about a kind of objects is for, "" if it is for none:
// one about tables may be about views too.
func viewKind(c *change, named pg_query.ObjectType, rv *pg_query.RangeVar) string {
	switch named {
	case pg_query.ObjectType_OBJECT_VIEW:
		return "view"
	case pg_query.ObjectType_OBJECT_MATVIEW:
		return "materialized view"
	case pg_query.ObjectType_OBJECT_TABLE:
		f, err := c.lookup(rv)
		if err == nil && f.index == nil && f.table != nil && f.table.View != nil {
			return f.kind()
		}
	}
	return ""
}

// renameViewColumn renames a column of a view.
func renameViewColumn(c *change, n *pg_query.RenameStmt, kind string) error {
	t, err := viewNamed(c, n.Relation, kind)
	if n.MissingOk && c.skipsMissing(err, n.Relation) {
		return nil
	}
	if err != nil {
		return err
	}
	d := &draft{change: c, t: t.Clone(), was: t}
	if err := d.renameColumn(n.Subname, n.Newname); err != nil {
		return err
	}
	return c.ch.PutTable(d.t)
}

// setViewSchema is ALTER VIEW … SET SCHEMA.
func setViewSchema(r *runner, n *pg_query.AlterObjectSchemaStmt, kind string) error {
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(n.Relation) }, func(c *change) error {
		t, err := viewNamed(c, n.Relation, kind)
		if n.MissingOk && c.skipsMissing(err, n.Relation) {
			return nil
		}
		if err != nil {
			return err
		}
		s, err := c.schemaToFill(n.Newschema, t.Name)
		if err != nil || s.OID == t.Schema {
			return err
		}
		return c.setRelationSchema(t, s)
	})
}
