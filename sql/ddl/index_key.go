package ddl

import (
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/deparse"
	"github.com/sherddb/sherd/sql/gin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// accessMethod returns the access method of a CREATE INDEX. It refuses what the method cannot do.
func accessMethod(n *pg_query.IndexStmt) (catalog.AccessMethod, error) {
	method, multi := catalog.AccessMethod(n.AccessMethod), true
	switch n.AccessMethod {
	case "", "btree":
		return catalog.BTree, nil
	case "hash", "spgist":
		multi = false
	case "gin", "brin":
	case "gist":
		return "", pgerr.Unsupported("indexes of access method gist are not supported yet").
			WithHint("Use btree for values that are compared, and gin for jsonb and arrays.")
	default:
		return "", pgerr.New(pgerr.UndefinedObject, `access method "%s" does not exist`, n.AccessMethod)
	}
	refuse := func(what string) error {
		return pgerr.Unsupported(`access method "%s" does not support %s`, n.AccessMethod, what)
	}
	switch {
	case n.Unique:
		return "", refuse("unique indexes")
	case len(n.IndexIncludingParams) > 0 && method != catalog.SPGiST:
		return "", refuse("included columns")
	case len(n.IndexParams) > 1 && !multi:
		return "", refuse("multicolumn indexes")
	}
	for _, p := range n.IndexParams {
		switch el := p.GetIndexElem(); {
		case el.Ordering != pg_query.SortByDir_SORTBY_DEFAULT:
			return "", refuse("ASC/DESC options")
		case el.NullsOrdering != pg_query.SortByNulls_SORTBY_NULLS_DEFAULT:
			return "", refuse("NULLS FIRST/LAST options")
		}
	}
	return method, nil
}

// indexKeys reads the columns and expressions of an index, and returns the parts of a generated
// name.
func (d *draft) indexKeys(x *catalog.Index, list []*pg_query.Node) ([]string, error) {
	var names []string
	for _, n := range list {
		el := n.GetIndexElem()
		name, oid, err := d.indexKey(x, el)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		if err := checkIndexType(x.Method, oid, len(el.Opclass) > 0); err != nil {
			return nil, err
		}
		if len(el.Collation) > 0 {
			if _, err := d.collation(oid, &pg_query.CollateClause{Collname: el.Collation, Location: -1}); err != nil {
				return nil, err
			}
		}
		class, err := d.operatorClass(x.Method, oid, texts(el.Opclass))
		if err != nil {
			return nil, err
		}
		x.Classes = append(x.Classes, class)
		order := catalog.KeyOrder(0)
		desc := el.Ordering == pg_query.SortByDir_SORTBY_DESC
		if desc {
			order |= catalog.KeyDesc
		}
		if el.NullsOrdering == pg_query.SortByNulls_SORTBY_NULLS_FIRST || desc &&
			el.NullsOrdering == pg_query.SortByNulls_SORTBY_NULLS_DEFAULT {
			order |= catalog.KeyNullsFirst
		}
		x.Order = append(x.Order, order)
	}
	if !hasOrder(x.Order) {
		x.Order = nil
	}
	if !slices.ContainsFunc(x.Classes, func(c catalog.OID) bool { return c != 0 }) {
		x.Classes = nil
	}
	return names, nil
}

func hasOrder(list []catalog.KeyOrder) bool {
	for _, o := range list {
		if o != 0 {
			return true
		}
	}
	return false
}

// indexKey reads one column or expression of an index.
func (d *draft) indexKey(x *catalog.Index, el *pg_query.IndexElem) (name string, oid types.OID, err error) {
	if el.Name != "" {
		if systemColumns[el.Name] {
			return "", 0, errSystemColumnIndex()
		}
		col := d.t.Column(el.Name)
		if col == nil {
			return "", 0, pgerr.New(pgerr.UndefinedColumn, `column "%s" does not exist`, el.Name)
		}
		x.Columns = append(x.Columns, col.AttNum)
		return col.Name, col.Type, nil
	}
	e, err := analyze.IndexKey(d.analysis(), analyze.Source{Text: d.source, Node: el.Expr}, d.t.Name, d.columns())
	if err != nil {
		return "", 0, err
	}
	if v, ok := e.(*query.Var); ok && v.Col >= 0 {
		x.Columns = append(x.Columns, d.t.Columns[v.Col].AttNum)
		return v.Name, v.Type(), nil
	}
	x.Columns = append(x.Columns, 0)
	x.Expressions = append(x.Expressions, deparse.Expr(e))
	return analyze.IndexColumnName(el.Expr), e.Type(), nil
}

func errSystemColumnIndex() error {
	return pgerr.Unsupported("index creation on system columns is not supported")
}

// checkIndexType refuses a type that an access method cannot index. class: the index names an operator
// class.
func checkIndexType(method catalog.AccessMethod, oid types.OID, class bool) error {
	_, usual := pgcatalog.DefaultClass(method.String(), oid)
	if !usual && !class {
		return pgerr.New(pgerr.UndefinedObject, `data type %s has no default operator class for access method "%s"`,
			pgcatalog.FormatType(oid, -1), method).
			WithHint("You must specify an operator class for the index or define a default operator class for the " +
				"data type.")
	}
	if !types.CanKey(oid) || usual && method == catalog.GIN && gin.ClassOf(oid, 0) == gin.None {
		return pgerr.Unsupported("values of type %s cannot be indexed", pgcatalog.FormatType(oid, -1)).
			WithHint("Index an expression of another type, such as text or a number.")
	}
	return nil
}

// operatorClass returns the operator class that an index names for a key of some type; 0 is the
// default class. Except for GIN, all accepted classes order values like the default, because text is
// compared by bytes; they are stored only to print the definition.
func (d *draft) operatorClass(method catalog.AccessMethod, oid types.OID, names []string) (catalog.OID, error) {
	if len(names) == 0 {
		return 0, nil
	}
	undefined := pgerr.New(pgerr.UndefinedObject, `operator class "%s" does not exist for access method "%s"`,
		strings.Join(names, "."), method)
	name, qualified := names[len(names)-1], len(names) > 1
	if qualified {
		if schema := names[len(names)-2]; schema != "pg_catalog" {
			if !catalog.IsBuiltinSchema(schema) && d.view.SchemaByName(d.Database, schema) == nil {
				return 0, pgerr.New(pgerr.InvalidSchemaName, `schema "%s" does not exist`, schema)
			}
			return 0, undefined
		}
	}
	class, ok := pgcatalog.ClassNamed(method.String(), name)
	if !ok {
		return 0, undefined
	}
	usual := pgcatalog.SortOpsOf(oid)
	switch {
	case usual == nil || class.Type != usual.Type && !(class.Type == types.BPChar && isTextual(oid)):
		return 0, pgerr.New(pgerr.DatatypeMismatch, `operator class "%s" does not accept data type %s`, name,
			formatType(d.change, oid, -1))
	case class.Type != usual.Type || name == "record_image_ops":
		return 0, pgerr.Unsupported(`operator class "%s" is not supported for data type %s`, name,
			formatType(d.change, oid, -1)).
			WithHint("Leave the operator class out.")
	case class.Default:
		return 0, nil
	}
	return class.OID, nil
}

// included reads INCLUDE.
func (d *draft) included(x *catalog.Index, list []*pg_query.Node) ([]string, error) {
	var names []string
	for _, n := range list {
		el := n.GetIndexElem()
		if el.Name == "" {
			return nil, pgerr.Unsupported("expressions are not supported in included columns")
		}
		if systemColumns[el.Name] {
			return nil, errSystemColumnIndex()
		}
		col := d.t.Column(el.Name)
		if col == nil {
			return nil, pgerr.New(pgerr.UndefinedColumn, `column "%s" does not exist`, el.Name)
		}
		x.Include = append(x.Include, col.AttNum)
		names = append(names, col.Name)
	}
	return names, nil
}

func (d *draft) indexPredicate(x *catalog.Index, n *pg_query.Node) error {
	e, err := analyze.IndexPredicate(d.analysis(), analyze.Source{Text: d.source, Node: n}, d.t.Name, d.columns())
	if err == nil {
		x.Predicate = deparse.Expr(e)
	}
	return err
}

// indexExpressions replaces each expression of an index, and its predicate, by the result of f.
func (d *draft) indexExpressions(x *catalog.Index, f func(text string, e query.Expr) (string, error)) error {
	over := d.columns()
	for i, text := range x.Expressions {
		src, err := analyze.ParseExpression(text)
		if err != nil {
			return err
		}
		e, err := analyze.IndexKey(d.analysis(), src, d.t.Name, over)
		if err != nil {
			return err
		}
		if x.Expressions[i], err = f(text, e); err != nil {
			return err
		}
	}
	if x.Predicate == "" {
		return nil
	}
	src, err := analyze.ParseExpression(x.Predicate)
	if err != nil {
		return err
	}
	e, err := analyze.IndexPredicate(d.analysis(), src, d.t.Name, over)
	if err == nil {
		x.Predicate, err = f(x.Predicate, e)
	}
	return err
}
