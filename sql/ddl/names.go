package ddl

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/privilege"
)

// maxName is NAMEDATALEN - 1.
const maxName = 63

// tooManyDots is the location that marks a name of more than three parts.
const tooManyDots = -2

// found is the relation that a name refers to.
type found struct {
	table  *catalog.Table
	index  *catalog.Index      // not nil if the name is that of an index
	system *pgcatalog.Relation // a relation of a built-in schema
}

// shownName returns a relation's name as errors show it.
func shownName(rv *pg_query.RangeVar) string {
	if rv.Schemaname != "" {
		return rv.Schemaname + "." + rv.Relname
	}
	return rv.Relname
}

// lookup finds a relation and returns the zero value if there is none. It returns 0A000 for another
// database and 3F000 if the schema does not exist.
func (c *change) lookup(rv *pg_query.RangeVar) (found, error) {
	if err := c.checkDatabaseName(rv); err != nil {
		return found{}, err
	}
	if rv.Schemaname != "" {
		if err := subject(c).UsesSchema(rv.Schemaname); err != nil {
			return found{}, err
		}
		f, ok := c.lookupIn(rv.Schemaname, rv.Relname)
		if !ok {
			return found{}, pgerr.New(pgerr.InvalidSchemaName, `schema "%s" does not exist`, rv.Schemaname)
		}
		return f, nil
	}
	path := c.SearchPath
	if !slices.Contains(path, "pg_catalog") {
		path = append([]string{"pg_catalog"}, path...)
	}
	for _, schema := range path {
		if f, _ := c.lookupIn(schema, rv.Relname); f != (found{}) {
			return f, nil
		}
	}
	return found{}, nil
}

func (c *change) checkDatabaseName(rv *pg_query.RangeVar) error {
	if rv.Location == tooManyDots {
		return pgerr.New(pgerr.SyntaxError, "improper relation name (too many dotted names): %s", rv.Relname)
	}
	d := c.view.Database(c.Database)
	if rv.Catalogname != "" && (d == nil || d.Name != rv.Catalogname) {
		return pgerr.Unsupported(`cross-database references are not implemented: "%s.%s.%s"`, rv.Catalogname,
			rv.Schemaname, rv.Relname).
			At(c.pos(rv.Location))
	}
	return nil
}

// lookupIn finds a relation in a schema; ok is false if the schema does not exist.
func (c *change) lookupIn(schema, name string) (f found, ok bool) {
	if catalog.IsBuiltinSchema(schema) {
		return found{system: pgcatalog.RelationByName(schema, name)}, true
	}
	s := c.view.SchemaByName(c.Database, schema)
	if s == nil {
		return found{}, false
	}
	if f.table, f.index = c.view.Relation(s.OID, name); f.table != nil && f.table.Kind == catalog.KindParts {
		return found{}, true
	}
	return f, true
}

func undefinedRelation(rv *pg_query.RangeVar) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedTable, `relation "%s" does not exist`, shownName(rv))
}

func systemCatalog(name string) *pgerr.Error {
	return pgerr.New(pgerr.InsufficientPrivilege, `permission denied: "%s" is a system catalog`, name)
}

// table finds a table to change, which the role must own.
func (c *change) table(rv *pg_query.RangeVar) (*catalog.Table, error) {
	f, err := c.lookup(rv)
	switch {
	case err != nil:
		return nil, err
	case f.system != nil:
		return nil, systemCatalog(f.system.Name)
	case f.table == nil:
		return nil, undefinedRelation(rv)
	case f.index != nil:
		return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not a table`, rv.Relname).
			WithDetail("This operation is not supported for indexes.")
	case f.table.Sequence != nil:
		return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not a table`, rv.Relname).
			WithDetail("This operation is not supported for sequences.")
	case f.table.View != nil:
		return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not a table`, rv.Relname).
			WithDetail("This operation is not supported for %ss.", f.kind())
	}
	if err := c.mustOwn(f.table); err != nil {
		return nil, err
	}
	return f.table, c.requireLocked(f.table)
}

// find returns the OIDs of those tables that exist, to lock them.
func (c *change) find(rvs ...*pg_query.RangeVar) []catalog.OID {
	var out []catalog.OID
	for _, rv := range rvs {
		if f, err := c.lookup(rv); err == nil && f.table != nil && !slices.Contains(out, f.table.OID) {
			out = append(out, f.table.OID)
		}
	}
	return out
}

// target finds the schema for a new relation, and checks that the role may create there.
func (c *change) target(rv *pg_query.RangeVar) (*catalog.Schema, error) {
	if err := c.checkDatabaseName(rv); err != nil {
		return nil, err
	}
	name := rv.Schemaname
	if name == "" && rv.Relpersistence != "t" {
		for _, p := range catalog.WrittenPath(c.SearchPath) {
			if catalog.IsBuiltinSchema(p) || p == catalog.TemporarySchema ||
				c.view.SchemaByName(c.Database, p) != nil {
				name = p
				break
			}
		}
		if name == "" {
			return nil, pgerr.New(pgerr.InvalidSchemaName, "no schema has been selected to create in").
				At(c.pos(rv.Location))
		}
	}
	if rv.Relpersistence == "t" || name == catalog.TemporarySchema {
		return temporarySchema(c, rv)
	}
	s, err := c.schemaToFill(name, rv.Relname)
	if pgerr.Is(err, pgerr.InsufficientPrivilege) && !catalog.IsBuiltinSchema(name) {
		return nil, pgerr.From(err).At(c.pos(rv.Location))
	}
	if err != nil && rv.Schemaname != "" && pgerr.Is(err, pgerr.InvalidSchemaName) {
		pgerr.From(err).At(c.pos(rv.Location))
	}
	return s, err
}

// schemaToFill finds a schema by name and checks that the role may create in it.
func (c *change) schemaToFill(name, object string) (*catalog.Schema, error) {
	if name == "pg_catalog" {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, `permission denied to create "pg_catalog.%s"`, object).
			WithDetail("System catalog modifications are currently disallowed.")
	}
	if catalog.IsBuiltinSchema(name) {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", name)
	}
	s := c.view.SchemaByName(c.Database, name)
	if s == nil {
		return nil, pgerr.New(pgerr.InvalidSchemaName, `schema "%s" does not exist`, name)
	}
	return s, mayCreateInSchema(subject(c), s)
}

// mayCreateInSchema returns an error unless a role may create objects in a schema.
func mayCreateInSchema(me *privilege.Subject, s *catalog.Schema) error {
	if me.Schema(s, acl.Create) == 0 {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", s.Name)
	}
	return nil
}

// makeName joins the parts of a generated name, each truncated to fit, as makeObjectName does.
func makeName(name1, name2, label string) string {
	over := 0
	if name2 != "" {
		over++
	}
	if label != "" {
		over += len(label) + 1
	}
	n1, n2 := len(name1), len(name2)
	for n1+n2 > maxName-over {
		if n1 > n2 {
			n1--
		} else {
			n2--
		}
	}
	out := clip(name1, n1)
	if name2 != "" {
		out += "_" + clip(name2, n2)
	}
	if label != "" {
		out += "_" + label
	}
	return out
}

// clip truncates a text to at most n bytes, at a character boundary.
func clip(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// chooseName generates a name that no relation or constraint of the schema has, and that the new
// table does not use.
func (c *change) chooseName(schema catalog.OID, t *catalog.Table, name2, label string, relation bool) string {
	for pass := 0; ; pass++ {
		l := label
		if pass > 0 {
			l = fmt.Sprintf("%s%d", label, pass)
		}
		name := makeName(t.Name, name2, l)
		if t.Constraint(name) != nil || c.constraintExists(schema, name, t.OID) || c.taken[name] {
			continue
		}
		if relation && c.relationTaken(schema, t, name) {
			continue
		}
		return name
	}
}

// relationTaken reports whether a relation of the schema has a name, with the table as the
// statement leaves it: an index that it drops does not count.
func (c *change) relationTaken(schema catalog.OID, t *catalog.Table, name string) bool {
	if name == t.Name || slices.ContainsFunc(t.Indexes, func(x catalog.Index) bool { return x.Name == name }) {
		return true
	}
	other, index := c.view.Relation(schema, name)
	return other != nil && (other.OID != t.OID || index == nil)
}

func (c *change) constraintExists(schema catalog.OID, name string, but catalog.OID) bool {
	for t := range c.view.TablesIn(schema) {
		if t.OID != but && t.Constraint(name) != nil {
			return true
		}
	}
	return false
}

// rangeVarOf parses a possibly qualified name.
func rangeVarOf(names []*pg_query.Node) *pg_query.RangeVar {
	parts := texts(names)
	if len(parts) > 3 {
		return &pg_query.RangeVar{Relname: strings.Join(parts, "."), Location: tooManyDots}
	}
	rv := &pg_query.RangeVar{Relname: parts[len(parts)-1], Location: -1}
	if len(parts) > 1 {
		rv.Schemaname = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		rv.Catalogname = parts[len(parts)-3]
	}
	return rv
}

func texts(nodes []*pg_query.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		if s := n.GetString_(); s != nil {
			out = append(out, s.Sval)
		}
	}
	return out
}

// TableOf returns the table that a function's regclass argument names by OID. It returns 42P01 if
// there is no such relation, and 42809 if the relation is not a table.
func TableOf(v *catalog.View, database, oid catalog.OID) (*catalog.Table, error) {
	t := v.Table(oid)
	if t != nil && t.Database == database && t.Kind == catalog.KindTable {
		return t, nil
	}
	if name := relationName(v, database, oid); name != "" {
		return nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not a table of this database`, name)
	}
	return nil, noRelation(oid)
}

// IndexOf is like TableOf for an index, and also returns its table.
func IndexOf(v *catalog.View, database, oid catalog.OID) (*catalog.Table, *catalog.Index, error) {
	t, ix := v.Index(oid)
	if ix != nil && t.Database == database {
		return t, ix, nil
	}
	if name := relationName(v, database, oid); name != "" {
		return nil, nil, pgerr.New(pgerr.WrongObjectType, `"%s" is not an index of this database`, name)
	}
	return nil, nil, noRelation(oid)
}

func noRelation(oid catalog.OID) error {
	return pgerr.New(pgerr.UndefinedTable, "relation with OID %d does not exist", oid)
}

// relationName returns the name of a relation that sessions of the database can name, or "".
func relationName(v *catalog.View, database, oid catalog.OID) string {
	if t := v.Table(oid); t != nil && t.Database == database && t.Kind != catalog.KindParts {
		return t.Name
	}
	if t, ix := v.Index(oid); ix != nil && t.Database == database && t.Kind != catalog.KindParts {
		return ix.Name
	}
	if r := pgcatalog.RelationByOID(oid); r != nil {
		return r.Name
	}
	return ""
}
