package sysview

import (
	"strings"
	"sync"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
)

// Names resolves names and OIDs of catalog objects from a session's point of view.
type Names struct {
	View     *catalog.View
	Database *catalog.Database
	Path     []string // search_path as written, "$user" replaced
	// Uses returns an error unless the role may find objects in a schema; nil: it may in all.
	Uses func(schema string) error
	// Portable leaves out objects that PostgreSQL does not have: policies, and Sherd's storage
	// parameters (sherd.portable_dump).
	Portable bool
	// Spell returns a stored expression over a table's columns (table 0: over none) as pg_get_expr
	// does. If it is nil, the stored text is printed.
	Spell func(table uint32, text string, pretty bool) string
	// ViewText returns the query of a view as pg_get_viewdef does. Lists continue on another line
	// beyond width. If it is nil, the stored text is returned.
	ViewText func(view *catalog.Table, pretty bool, width int) string
	// BodyText returns the body of a function as pg_get_function_sqlbody does. If it is nil, the stored
	// text is returned.
	BodyText func(f *catalog.Function) string
}

const pgCatalog = "pg_catalog"

// searchPath returns the effective path: existing schemas, with pg_catalog first unless it is
// listed.
func (n *Names) searchPath() []string {
	out := make([]string, 0, len(n.Path)+1)
	listed := false
	for _, s := range n.Path {
		listed = listed || s == pgCatalog
	}
	if !listed {
		out = append(out, pgCatalog)
	}
	return append(out, n.Schemas()...)
}

// Schemas returns the search path without schemas that do not exist.
func (n *Names) Schemas() []string {
	var out []string
	for _, s := range n.Path {
		if _, ok := n.SchemaOID(s); ok {
			out = append(out, s)
		}
	}
	return out
}

// SchemaOID finds a schema.
func (n *Names) SchemaOID(name string) (uint32, bool) {
	if s := n.View.SchemaByName(n.Database.OID, name); s != nil {
		return s.OID, true
	}
	if !catalog.IsBuiltinSchema(name) {
		return 0, false
	}
	return pgcatalog.NamespaceOID(name)
}

// SchemaName returns the name of a schema of the database.
func (n *Names) SchemaName(oid uint32) (string, bool) {
	if s := n.View.Schema(oid); s != nil && s.Database == n.Database.OID {
		return s.Name, true
	}
	name, ok := pgcatalog.NamespaceName(oid)
	return name, ok && catalog.IsBuiltinSchema(name)
}

// systemClasses are the system relations by schema and name, indexes included.
var systemClasses = sync.OnceValue(func() map[[2]string]*pgcatalog.Relation {
	m := map[[2]string]*pgcatalog.Relation{}
	for _, r := range pgcatalog.Relations() {
		m[[2]string{r.Schema, r.Name}] = r
	}
	return m
})

// relationIn finds a relation of any kind in a schema; 0 if there is none.
func (n *Names) relationIn(schema, name string) uint32 {
	if r := systemClasses()[[2]string{schema, name}]; r != nil {
		return r.OID
	}
	s := n.View.SchemaByName(n.Database.OID, schema)
	if s == nil {
		return 0
	}
	t, ix := n.View.Relation(s.OID, name)
	switch {
	case ix != nil:
		return ix.OID
	case t != nil:
		return t.OID
	}
	if c := catalog.TypeNamed(n.View, s.OID, name); c != nil && c.Kind == catalog.CompositeType {
		return c.OID
	}
	return 0
}

// compositeOf returns the composite type of CREATE TYPE whose relation has an OID.
func compositeOf(n *Names, oid uint32) *catalog.Type {
	t := catalog.TypeByOID(n.View, oid)
	if t == nil || t.Kind != catalog.CompositeType || t.Database != n.Database.OID {
		return nil
	}
	return t
}

// table returns a table of the database.
func (n *Names) table(oid uint32) *catalog.Table {
	if t := n.View.Table(oid); t != nil && t.Database == n.Database.OID {
		return t
	}
	return nil
}

func (n *Names) index(oid uint32) (*catalog.Table, *catalog.Index) {
	if t, ix := n.View.Index(oid); t != nil && t.Database == n.Database.OID {
		return t, ix
	}
	return nil, nil
}

// RelationName returns schema and name of a table, view or index.
func (n *Names) RelationName(oid uint32) (schema, name string, ok bool) {
	if r := pgcatalog.RelationByOID(oid); r != nil {
		return r.Schema, r.Name, true
	}
	t, name := n.table(oid), ""
	if t != nil {
		name = t.Name
	} else if owner, ix := n.index(oid); ix != nil {
		t, name = owner, ix.Name
	} else if c := compositeOf(n, oid); c != nil {
		schema, _ = n.SchemaName(c.Schema)
		return schema, c.Name, true
	}
	if t == nil {
		return "", "", false
	}
	schema, _ = n.SchemaName(t.Schema)
	return schema, name, true
}

// FindRelation resolves a possibly qualified name; 0 if there is none.
func (n *Names) FindRelation(parts []string) uint32 {
	return n.first(parts, n.relationIn)
}

// first resolves a name along the search path.
func (n *Names) first(parts []string, in func(schema, name string) uint32) uint32 {
	name := parts[len(parts)-1]
	if len(parts) > 1 {
		return in(parts[len(parts)-2], name)
	}
	for _, schema := range n.searchPath() {
		if oid := in(schema, name); oid != 0 {
			return oid
		}
	}
	return 0
}

// SplitName splits a possibly qualified name into its parts, as textToQualifiedNameList does. It
// returns 42602 for an invalid name.
func SplitName(text string) ([]string, error) {
	var parts []string
	for s := text; ; {
		s = strings.TrimLeft(s, " \t\n\r\f")
		name, rest, ok := firstIdentifier(s)
		if !ok {
			return nil, pgerr.New(pgerr.InvalidName, "invalid name syntax")
		}
		parts = append(parts, name)
		rest = strings.TrimLeft(rest, " \t\n\r\f")
		if rest == "" {
			return parts, nil
		}
		if rest[0] != '.' {
			return nil, pgerr.New(pgerr.InvalidName, "invalid name syntax")
		}
		s = rest[1:]
	}
}

func firstIdentifier(s string) (name, rest string, ok bool) {
	if s == "" {
		return "", "", false
	}
	if s[0] != '"' {
		end := strings.IndexAny(s, ". \t\n\r\f")
		if end < 0 {
			end = len(s)
		}
		return lowerASCII(s[:end]), s[end:], end > 0
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			b.WriteByte('"')
			i++
			continue
		}
		return b.String(), s[i+1:], true
	}
	return "", "", false
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// QualifiedName splits a name, in which the database may come first.
func (n *Names) QualifiedName(text string) ([]string, error) {
	parts, err := SplitName(text)
	if err != nil {
		return nil, err
	}
	if len(parts) == 3 {
		if parts[0] != n.Database.Name {
			return nil, pgerr.New(pgerr.FeatureNotSupported, "cross-database references are not implemented: %s",
				strings.Join(parts, "."))
		}
		parts = parts[1:]
	}
	if len(parts) > 2 {
		return nil, pgerr.New(pgerr.SyntaxError, "improper relation name (too many dotted names): %s",
			strings.Join(parts, "."))
	}
	return parts, nil
}
