package privilege

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/catalog/acl"
	"github.com/sherddb/sherd/internal/pgerr"
)

// publicSchema is the schema that all roles may use, unless GRANT or REVOKE has changed that.
const publicSchema = "public"

// KindOf returns the kind of a relation.
func KindOf(t *catalog.Table) acl.Kind {
	if t.Sequence != nil {
		return acl.Sequence
	}
	return acl.Relation
}

// SchemaList returns the access list of a schema, nil if it is the default one. That of schema public
// is not stored before it is changed.
func SchemaList(s *catalog.Schema) acl.List {
	if s.ACL == nil && s.Name == publicSchema {
		return acl.List{
			{Grantee: s.Owner, Grantor: s.Owner, Mode: acl.Usage | acl.Create},
			{Grantee: acl.Public, Grantor: s.Owner, Mode: acl.Usage},
		}
	}
	return s.ACL
}

// Relation returns which of the privileges in mask the role has on a table, view or sequence as a
// whole. With any, it may stop at the first one.
func (s *Subject) Relation(t *catalog.Table, mask acl.Mode, any bool) acl.Mode {
	out := s.mask(t.ACL, KindOf(t), t.Owner, mask, any)
	if out == mask || any && out != 0 {
		return out
	}
	if mask&^out&acl.Select != 0 && s.Acts(readAllDataRole) {
		out |= acl.Select
	}
	const writes = acl.Insert | acl.Update | acl.Delete
	if mask&^out&writes != 0 && s.Acts(writeAllDataRole) {
		out |= mask & writes
	}
	return out
}

// Column returns which of the privileges in mask the access list of a column grants.
func (s *Subject) Column(t *catalog.Table, c *catalog.Column, mask acl.Mode, any bool) acl.Mode {
	if c.ACL == nil || c.Dropped {
		return 0
	}
	return s.mask(c.ACL, acl.Column, t.Owner, mask, any)
}

// HasColumn reports whether the role has a privilege on a column, or on its table.
func (s *Subject) HasColumn(t *catalog.Table, c *catalog.Column, mode acl.Mode) bool {
	return s.Relation(t, mode, true) != 0 || s.Column(t, c, mode, true) != 0
}

// HasAnyColumn reports whether the role has a privilege on a column or on the table.
func (s *Subject) HasAnyColumn(t *catalog.Table, mode acl.Mode) bool {
	if s.Relation(t, mode, true) != 0 {
		return true
	}
	for i := range t.Columns {
		if s.Column(t, &t.Columns[i], mode, true) != 0 {
			return true
		}
	}
	return false
}

// Schema returns which of the privileges in mask the role has on a schema.
func (s *Subject) Schema(x *catalog.Schema, mask acl.Mode) acl.Mode {
	if x.Temporary {
		return mask // the session's own
	}
	out := s.mask(SchemaList(x), acl.Schema, x.Owner, mask, false)
	if mask&^out&acl.Usage != 0 && (s.Acts(readAllDataRole) || s.Acts(writeAllDataRole)) {
		out |= acl.Usage
	}
	return out
}

// OnDatabase returns which of the privileges in mask the role has on a database.
func (s *Subject) OnDatabase(d *catalog.Database, mask acl.Mode) acl.Mode {
	return s.mask(d.ACL, acl.Database, d.Owner, mask, false)
}

// Function returns which of the privileges in mask the role has on a function.
func (s *Subject) Function(f *catalog.Function, mask acl.Mode) acl.Mode {
	return s.mask(f.ACL, acl.Function, f.Owner, mask, false)
}

// Type returns which of the privileges in mask the role has on a type.
func (s *Subject) Type(t *catalog.Type, mask acl.Mode) acl.Mode {
	return s.mask(t.ACL, acl.Type, t.Owner, mask, false)
}

// Language returns which of the privileges in mask the role has on a built-in language.
func (s *Subject) Language(oid catalog.OID, mask acl.Mode) acl.Mode {
	var list acl.List
	if s.Database != nil {
		list = s.Database.LanguageACLs[oid]
	}
	return s.mask(list, acl.Language, catalog.BootstrapRole, mask, false)
}

// UsesSchema returns an error unless the role may find objects in a schema of its database. Built-in
// schemas and those that do not exist are no error.
func (s *Subject) UsesSchema(name string) error {
	if s.Database == nil || catalog.IsBuiltinSchema(name) {
		return nil
	}
	x := s.View.SchemaByName(s.Database.OID, name)
	if x == nil || s.Schema(x, acl.Usage) != 0 {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for schema %s", name)
}

// Path returns the schemas of a search path that the role may find objects in.
func (s *Subject) Path(path []string) []string {
	var out []string
	for _, name := range path {
		if s.UsesSchema(name) == nil {
			out = append(out, name)
		}
	}
	return out
}

// RelationWord returns the kind of a relation as messages about privileges name it.
func RelationWord(t *catalog.Table) string {
	switch {
	case t.Sequence != nil:
		return "sequence"
	case t.IsMaterialized():
		return "materialized view"
	case t.IsView():
		return "view"
	}
	return "table"
}

// Denied returns the error of a relation that may not be used.
func Denied(t *catalog.Table) error {
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for %s %s", RelationWord(t), t.Name)
}

// languages are the OIDs of the built-in languages by name. The first ones are for superusers only.
var languages = map[string]catalog.OID{"internal": 12, "c": 13, "sql": 14, "plpgsql": 13563}

// LanguageOID returns the OID of a built-in language, 0 if there is none of the name, and reports
// whether roles other than superusers may use it.
func LanguageOID(name string) (oid catalog.OID, trusted bool) {
	oid = languages[name]
	return oid, oid >= languages["sql"]
}

// MayCall returns an error unless the role may call a function.
func (s *Subject) MayCall(f *catalog.Function) error {
	if s.Function(f, acl.Execute) != 0 {
		return nil
	}
	kind := "function"
	if f.Kind == 'p' {
		kind = "procedure"
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for %s %s", kind, f.Name)
}
