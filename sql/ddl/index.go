package ddl

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/query"
)

// optionScope is the storage parameter of an index that says where its entries lie: "local" with
// their rows, "global" by the indexed values.
const optionScope = "scope"

// indexOptions are the storage parameters of indexes, by access method. They are stored, and only the
// scope has an effect.
var indexOptions = map[string]map[string]optionRule{
	"btree": {
		"fillfactor": {intOption, 10, 100}, "deduplicate_items": {boolOption, 0, 0}, optionScope: {textOption, 0, 0},
	},
	"hash":   {"fillfactor": {intOption, 10, 100}},
	"spgist": {"fillfactor": {intOption, 10, 100}},
	"gin":    {"fastupdate": {boolOption, 0, 0}, "gin_pending_list_limit": {intOption, 64, maxKilobytes}},
	"brin":   {"pages_per_range": {intOption, 1, 131072}, "autosummarize": {boolOption, 0, 0}},
}

const maxKilobytes = 1<<31 - 1

// stored finds a table or a materialized view to change, which the role must own.
func stored(c *change, rv *pg_query.RangeVar) (*catalog.Table, error) {
	if viewKind(c, pg_query.ObjectType_OBJECT_TABLE, rv) != "materialized view" {
		return c.table(rv)
	}
	t, err := viewNamed(c, rv, "materialized view")
	if err != nil {
		return nil, err
	}
	return t, c.requireLocked(t)
}

func (r *runner) createIndex(n *pg_query.IndexStmt) error {
	method, err := accessMethod(n)
	if err != nil {
		return err
	}
	if n.TableSpace != "" && n.TableSpace != "pg_default" {
		return pgerr.New(pgerr.UndefinedObject, `tablespace "%s" does not exist`, n.TableSpace)
	}
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(n.Relation) }, func(c *change) error {
		if c.sequenceNamed(n.Relation) != nil {
			return pgerr.New(pgerr.WrongObjectType, `cannot create index on relation "%s"`, n.Relation.Relname).
				WithDetail("This operation is not supported for sequences.")
		}
		if viewKind(c, pg_query.ObjectType_OBJECT_TABLE, n.Relation) == "view" {
			return pgerr.New(pgerr.WrongObjectType, `cannot create index on relation "%s"`, n.Relation.Relname).
				WithDetail("This operation is not supported for views.")
		}
		t, err := stored(c, n.Relation)
		if err != nil {
			return err
		}
		d := &draft{change: c, t: t.Clone(), was: t, filled: c.rowsOf(t)}
		done, err := d.index(n, method)
		if err != nil || done {
			return err
		}
		if err := d.chooseScopes(); err != nil {
			return err
		}
		return d.putTable()
	})
}

// index adds the index of a CREATE INDEX; skipped is set if IF NOT EXISTS has found an index of
// that name.
func (d *draft) index(n *pg_query.IndexStmt, method catalog.AccessMethod) (skipped bool, err error) {
	if n.Idxname != "" {
		if other, _ := d.view.Relation(d.t.Schema, n.Idxname); other != nil {
			if !n.IfNotExists {
				return false, relationExists(n.Idxname)
			}
			d.noticeSkipped(relationExists(n.Idxname))
			return true, nil
		}
	}
	x := catalog.Index{Name: n.Idxname, Unique: n.Unique, NullsNotDistinct: n.NullsNotDistinct, Method: method}
	if x.Options, err = indexOptionsOf(method, n.Options, false); err != nil {
		return false, err
	}
	names, err := d.indexKeys(&x, n.IndexParams)
	if err != nil {
		return false, err
	}
	included, err := d.included(&x, n.IndexIncludingParams)
	if err != nil {
		return false, err
	}
	if n.WhereClause != nil {
		if err := d.indexPredicate(&x, n.WhereClause); err != nil {
			return false, err
		}
	}
	if x.Name == "" {
		x.Name = d.chooseIndexName(append(names, included...), "idx")
	}
	_, err = d.addIndex(x)
	return false, err
}

// indexOptionsOf reads WITH (…) of an index, or the names of RESET (…).
func indexOptionsOf(method catalog.AccessMethod, list []*pg_query.Node, reset bool) (map[string]string, error) {
	var out map[string]string
	for _, node := range list {
		e := node.GetDefElem()
		name := strings.ToLower(e.Defname)
		rule, known := indexOptions[method.String()][name]
		if !known || e.Defnamespace != "" {
			return nil, pgerr.New(pgerr.InvalidParameterValue, `unrecognized parameter "%s"`, e.Defname)
		}
		value := "true"
		if e.Arg != nil {
			value = optionText(e.Arg)
		}
		if err := rule.check(name, value); err != nil && !reset {
			return nil, err
		}
		if name == optionScope {
			if value = strings.ToLower(value); !reset && value != "local" && value != "global" {
				return nil, pgerr.New(pgerr.InvalidParameterValue, `invalid value for option "scope": "%s"`, value).
					WithHint("A scope is local or global.")
			}
		}
		if _, twice := out[name]; twice {
			return nil, pgerr.New(pgerr.InvalidParameterValue, `parameter "%s" specified more than once`, name)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out, nil
}

// addIndex assigns the index its OID and storage id and adds it to the table. Existing rows are
// indexed before the statement ends.
func (d *draft) addIndex(x catalog.Index) (catalog.OID, error) {
	if len(x.Columns)+len(x.Include) > maxKeyColumns {
		return 0, pgerr.New(pgerr.TooManyColumns, "cannot use more than %d columns in an index", maxKeyColumns)
	}
	oid, err := d.newOID()
	if err != nil {
		return 0, err
	}
	x.OID, x.StorageID = oid, oid
	d.t.Indexes = append(d.t.Indexes, x)
	d.taken[x.Name] = true
	if d.was == nil {
		return oid, nil
	}
	filled, err := d.filled()
	if filled {
		d.fills = append(d.fills, oid)
	}
	return oid, err
}

// chooseScopes decides which indexes are global: those that say so, and unique indexes whose equal
// values may lie in several fragments. It runs again when the primary key or the policy changes,
// because these place rows.
func (d *draft) chooseScopes() error {
	for i := range d.t.Indexes {
		x := &d.t.Indexes[i]
		if !x.Secondary() {
			continue
		}
		placed := !x.Unique || d.placedBy(x)
		global := !placed
		switch x.Options[optionScope] {
		case "global":
			global = true
		case "local":
			if !placed {
				return pgerr.New(pgerr.InvalidObjectDefinition, `unique index "%s" cannot be local`, x.Name).
					WithDetail(
						"Rows with the same values may lie in several fragments: the index does not contain what " +
							"places rows.").
					WithHint("Leave scope out, or use WITH (scope = global).")
			}
		}
		if global == x.Global {
			continue
		}
		d.restored = d.restored || d.was != nil && d.was.Index(x.OID) != nil // its entries move
		x.Global = global
	}
	return nil
}

// placedBy reports whether rows with equal values in an index lie in the same bucket: the index
// contains the whole primary key, or all columns of a policy that places rows without a Range.
func (d *draft) placedBy(x *catalog.Index) bool {
	pk := d.t.PrimaryKey()
	if pk == nil {
		return false
	}
	if containsAll(x.Columns, pk.Columns) {
		return true
	}
	p := d.t.Policy
	if p == nil || d.t.Anchors || p.Range != 1 {
		return false
	}
	for _, f := range p.Fields {
		if f.Func == shardmap.IDFunc || len(f.Path) != 1 {
			return false
		}
		if col := d.t.Column(f.Path[0]); col == nil || !slices.Contains(x.Columns, col.AttNum) {
			return false
		}
	}
	return true
}

// containsAll reports whether a contains all of b.
func containsAll(a, b []int16) bool {
	return !slices.ContainsFunc(b, func(n int16) bool { return !slices.Contains(a, n) })
}

// chooseIndexName generates an index's name from the names of its columns.
func (d *draft) chooseIndexName(columns []string, label string) string {
	return d.chooseName(d.t.Schema, d.t, clip(strings.Join(columns, "_"), maxName), label, true)
}

// dropIndex removes an index from the table and records the deletion of its entries.
func (d *draft) dropIndex(oid catalog.OID) error {
	x := d.t.Index(oid)
	if x == nil {
		return nil
	}
	storage := x.StorageID
	d.t.Indexes = slices.DeleteFunc(d.t.Indexes, func(x catalog.Index) bool { return x.OID == oid })
	if d.was == nil || d.was.Index(oid) == nil {
		d.fills = slices.DeleteFunc(d.fills, func(f catalog.OID) bool { return f == oid })
		return nil
	}
	return d.dropIndexStorage(d.t, storage)
}

// dropIndexesOf drops the secondary indexes that use a column, and their constraints, as DROP
// COLUMN does.
func (d *draft) dropIndexesOf(col *catalog.Column) error {
	var gone []catalog.OID
	for i := range d.t.Indexes {
		x := &d.t.Indexes[i]
		if !x.Secondary() {
			continue
		}
		uses, err := d.indexUses(x, col.AttNum)
		if err != nil {
			return err
		}
		if uses {
			gone = append(gone, x.OID)
		}
	}
	for _, oid := range gone {
		d.t.Constraints = slices.DeleteFunc(d.t.Constraints, func(k catalog.Constraint) bool { return k.Index == oid })
		if err := d.dropIndex(oid); err != nil {
			return err
		}
	}
	return nil
}

// indexUses reports whether an index uses a column, also in an expression or the predicate.
func (d *draft) indexUses(x *catalog.Index, att int16) (bool, error) {
	if slices.Contains(x.Columns, att) || slices.Contains(x.Include, att) {
		return true, nil
	}
	found := false
	err := d.indexExpressions(x, func(text string, e query.Expr) (string, error) {
		found = found || slices.ContainsFunc(variables(e), func(v *query.Var) bool {
			return v.Col == query.ColWholeRow || v.Col >= 0 && d.t.Columns[v.Col].AttNum == att
		})
		return text, nil
	})
	return found, err
}

// alterIndex is ALTER INDEX … SET and RESET of storage parameters.
func (r *runner) alterIndex(n *pg_query.AlterTableStmt) error {
	for _, k := range commands(n) {
		switch k.Subtype {
		case pg_query.AlterTableType_AT_SetRelOptions, pg_query.AlterTableType_AT_ResetRelOptions,
			pg_query.AlterTableType_AT_SetStatistics:
		default:
			return r.alterOther(n)
		}
	}
	return r.updateExclusive(func(c *change) []catalog.OID { return c.find(n.Relation) }, func(c *change) error {
		f, err := c.relationToRename(n.Relation)
		if n.MissingOk && c.skipsMissing(err, n.Relation) {
			return nil
		}
		if err != nil {
			return err
		}
		if f.index == nil {
			return pgerr.New(pgerr.WrongObjectType, `"%s" is not an index`, n.Relation.Relname)
		}
		d := &draft{change: c, t: f.table.Clone(), was: f.table}
		for _, k := range commands(n) {
			change := d.changeIndexOptions
			if k.Subtype == pg_query.AlterTableType_AT_SetStatistics {
				change = func(x *catalog.Index, k *pg_query.AlterTableCmd) error { return setIndexStatistics(d, x, k) }
			}
			if err := change(d.t.Index(f.index.OID), k); err != nil {
				return err
			}
		}
		return d.putTable()
	})
}

func (d *draft) changeIndexOptions(x *catalog.Index, k *pg_query.AlterTableCmd) error {
	reset := k.Subtype == pg_query.AlterTableType_AT_ResetRelOptions
	o, err := indexOptionsOf(x.Method, k.Def.GetList().GetItems(), reset)
	if err != nil {
		return err
	}
	if _, scope := o[optionScope]; scope {
		return pgerr.Unsupported("changing the scope of an index is not supported yet").
			WithHint("Drop the index and make it again.")
	}
	for name, value := range o {
		delete(x.Options, name)
		if k.Subtype == pg_query.AlterTableType_AT_SetRelOptions {
			if x.Options == nil {
				x.Options = map[string]string{}
			}
			x.Options[name] = value
		}
	}
	return nil
}
