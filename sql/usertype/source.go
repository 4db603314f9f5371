package usertype

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
)

// Source has the types of a database, by the definitions of a view.
type Source struct {
	View     *catalog.View
	Database catalog.OID
	Path     []string // search_path, "$user" replaced
	// Newest returns the newest definitions; if it is nil, those of View are.
	Newest func() *catalog.View
	// Uncommitted and UncommittedRows list types as a transaction on another node has defined them.
	Uncommitted     []types.Enum
	UncommittedRows []types.Composite
}

// newestTimeout bounds the wait for the newest definitions.
const newestTimeout = 5 * time.Second

// NewestOf returns a function that returns the newest definitions of the cluster, as far as the
// catalog's leader answers.
func NewestOf(c *catalog.Catalog) func() *catalog.View {
	return func() *catalog.View {
		_ = c.CatchUp(context.Background(), newestTimeout) // without a leader, the last known ones have to do
		return c.View()
	}
}

// Attach makes env read and print values of the types.
func (s *Source) Attach(env *types.Env) {
	env.EnumIn, env.EnumOut, env.EnumValues, env.TypeOut = s.enumIn, s.enumOut, s.enumValues, s.Format
	env.Attributes = s.attributes
	env.Uncommitted, env.UncommittedRows = nil, nil
	for _, t := range catalog.UncommittedTypes(s.View, s.Database) {
		oid := t.TypeOID()
		switch t.Kind { // plans have the definitions of domains
		case catalog.EnumType:
			env.Uncommitted = append(env.Uncommitted,
				types.Enum{OID: oid, Name: s.Format(oid), Values: valuesOf(s.View, t)})
		case catalog.CompositeType:
			env.UncommittedRows = append(env.UncommittedRows,
				types.Composite{OID: oid, Name: s.Format(oid), Attributes: Attributes(s.View, oid)})
		}
	}
	for _, t := range catalog.UncommittedTables(s.View, s.Database) {
		oid := types.RowTypeOf(t.OID)
		env.UncommittedRows = append(env.UncommittedRows,
			types.Composite{OID: oid, Name: s.Format(oid), Attributes: Attributes(s.View, oid)})
	}
}

// Attributes returns the attributes of a composite type, or the columns of the table whose row type it
// is, without dropped ones; nil if there is no such type.
func Attributes(v *catalog.View, oid types.OID) []types.Attribute {
	if !types.IsComposite(oid) {
		return nil
	}
	out := []types.Attribute{}
	if t := catalog.TypeByOID(v, catalog.TypeNumber(oid)); t != nil {
		for _, a := range t.Live() {
			out = append(out, types.Attribute{Name: a.Name, Type: a.Type, Typmod: a.Typmod})
		}
		return out
	}
	t := v.Table(catalog.TypeNumber(oid))
	if t == nil {
		return nil
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.Dropped {
			out = append(out, types.Attribute{Name: c.Name, Type: c.Type, Typmod: c.Typmod})
		}
	}
	return out
}

func (s *Source) attributes(oid types.OID) ([]types.Attribute, error) {
	for i := range s.UncommittedRows {
		if x := &s.UncommittedRows[i]; x.OID == oid {
			return x.Attributes, nil
		}
	}
	if list := Attributes(s.View, oid); list != nil {
		return list, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "type with OID %d does not exist", oid)
}

func valuesOf(v *catalog.View, t *catalog.Type) []types.EnumValue {
	out := make([]types.EnumValue, len(t.Labels))
	for i := range t.Labels {
		l := &t.Labels[i]
		out[i] = types.EnumValue{Rank: l.Rank, Text: l.Text, Unsafe: l.Uncommitted(v, t)}
	}
	return out
}

func (s *Source) uncommitted(oid types.OID) *types.Enum {
	for i := range s.Uncommitted {
		if s.Uncommitted[i].OID == oid {
			return &s.Uncommitted[i]
		}
	}
	return nil
}

func (s *Source) enumIn(oid types.OID, text string) (string, error) {
	if e := s.uncommitted(oid); e != nil {
		for _, v := range e.Values {
			if v.Text == text {
				return v.Rank, types.CheckEnumValue(v, e.Name)
			}
		}
	} else if t := catalog.TypeByOID(s.View, catalog.TypeNumber(oid)); t != nil {
		if l := t.Label(text); l != nil {
			if l.Uncommitted(s.View, t) {
				return "", types.CheckEnumValue(types.EnumValue{Text: text, Unsafe: true}, s.Format(oid))
			}
			return l.Rank, nil
		}
	}
	return "", pgerr.New(pgerr.InvalidTextRepresentation, `invalid input value for enum %s: "%s"`, s.Format(oid), text)
}

func (s *Source) enumOut(dst []byte, oid types.OID, rank string) []byte {
	if e := s.uncommitted(oid); e != nil {
		for _, v := range e.Values {
			if v.Rank == rank {
				return append(dst, v.Text...)
			}
		}
	}
	n := catalog.TypeNumber(oid)
	if l := labelOf(s.View, n, rank); l != nil {
		return append(dst, l.Text...)
	}
	if s.Newest != nil {
		if l := labelOf(s.Newest(), n, rank); l != nil {
			return append(dst, l.Text...)
		}
	}
	return hex.AppendEncode(dst, []byte(rank))
}

func labelOf(v *catalog.View, number catalog.OID, rank string) *catalog.EnumLabel {
	t := catalog.TypeByOID(v, number)
	if t == nil {
		return nil
	}
	return t.Ranked(rank)
}

func (s *Source) enumValues(oid types.OID) ([]types.EnumValue, error) {
	if e := s.uncommitted(oid); e != nil {
		return e.Values, nil
	}
	t := catalog.TypeByOID(s.View, catalog.TypeNumber(oid))
	if t == nil {
		return nil, pgerr.New(pgerr.WrongObjectType, "%s is not an enum", s.Format(oid))
	}
	return valuesOf(s.View, t), nil
}

// Format returns the SQL name of a type as format_type does: with its schema unless the bare name
// finds it. Types that are built in are named too.
func (s *Source) Format(oid types.OID) string {
	if catalog.TypeNumber(oid) == 0 {
		return pgcatalog.FormatType(oid, -1)
	}
	if elem := types.ElemOf(oid); elem != 0 && !types.IsDomain(oid) {
		return s.Format(elem) + "[]"
	}
	if e := s.uncommitted(oid); e != nil {
		return e.Name
	}
	for i := range s.UncommittedRows {
		if x := &s.UncommittedRows[i]; x.OID == oid {
			return x.Name
		}
	}
	schema, name, ok := NameOf(s.View, oid)
	if !ok {
		return "???"
	}
	if s.visible(oid, name) {
		return builtin.QuoteIdent(name)
	}
	return builtin.QuoteIdent(schema) + "." + builtin.QuoteIdent(name)
}

// visible reports whether the bare name finds the type.
func (s *Source) visible(oid types.OID, name string) bool {
	if pgcatalog.TypeByName("", name) != nil {
		return false
	}
	for _, schema := range s.Path {
		if found := Find(s.View, s.Database, schema, name); found != 0 {
			return found == oid
		}
		if t := s.View.FindTable(s.Database, schema, name); t != nil {
			return types.IsComposite(oid) && t.OID == catalog.TypeNumber(oid)
		}
	}
	return false
}

// Find returns the OID of the type with a name in a schema, which may be the name of an array type;
// 0 if there is none.
func Find(v *catalog.View, database catalog.OID, schema, name string) types.OID {
	in := v.SchemaByName(database, schema)
	if in == nil {
		return 0
	}
	if t := catalog.TypeNamed(v, in.OID, name); t != nil {
		return t.TypeOID()
	}
	for bare := name; len(bare) > 1 && bare[0] == '_'; {
		bare = bare[1:]
		if t := catalog.TypeNamed(v, in.OID, bare); t != nil && t.Domain == nil && ArrayName(v, t) == name {
			return types.ArrayTypeOf(t.TypeOID())
		}
	}
	return 0
}

// NameOf returns schema and pg_type name of a type of a user, or of its array type.
func NameOf(v *catalog.View, oid types.OID) (schema, name string, ok bool) {
	t := catalog.TypeByOID(v, catalog.TypeNumber(oid))
	if t == nil {
		return rowTypeName(v, oid)
	}
	if s := v.Schema(t.Schema); s != nil {
		schema = s.Name
	}
	if types.IsArray(oid) && !types.IsDomain(oid) {
		return schema, ArrayName(v, t), true
	}
	return schema, t.Name, true
}

// rowTypeName is NameOf of the row type of a table, or of its array type.
func rowTypeName(v *catalog.View, oid types.OID) (schema, name string, ok bool) {
	t := v.Table(catalog.TypeNumber(oid))
	if t == nil || types.IsDomain(oid) {
		return "", "", false
	}
	if s := v.Schema(t.Schema); s != nil {
		schema = s.Name
	}
	if types.IsArray(oid) {
		return schema, "_" + t.Name, true
	}
	return schema, t.Name, true
}

// ArrayName returns the pg_type name of the array type of a type: with an underscore before its name,
// or several if there is a type of that name.
func ArrayName(v *catalog.View, t *catalog.Type) string {
	name := t.Name
	for {
		name = types.TruncateName("_" + name)
		if catalog.TypeNamed(v, t.Schema, name) == nil && v.TableByName(t.Schema, name) == nil {
			return name
		}
	}
}

// BaseTypmod returns the type modifier of a domain's values, -1 if there is none.
func BaseTypmod(v *catalog.View, oid types.OID) int32 {
	for types.IsDomain(oid) {
		t := catalog.TypeByOID(v, catalog.TypeNumber(oid))
		if t == nil {
			return -1
		}
		if t.Domain.Typmod != -1 {
			return t.Domain.Typmod
		}
		oid = t.Domain.Base
	}
	return -1
}
