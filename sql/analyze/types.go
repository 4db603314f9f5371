package analyze

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
)

// Type OIDs that package types does not need.
const (
	anyRange                types.OID = 3831
	anyMultirange           types.OID = 4537
	anyCompatibleRange      types.OID = 5080
	anyCompatibleMultirange types.OID = 4538
)

// Type categories of pg_type.typcategory in the rules of overloading.
const (
	categoryUnknown = 'X'
	categoryString  = 'S'
	categoryInvalid = 0
)

// coercion is the kind of coercion that a context allows, in increasing order.
type coercion uint8

const (
	implicit coercion = iota
	assignment
	explicit
)

func (c coercion) mark() byte { return "iae"[c] }

// allows reports whether a pg_cast row with this context may be used.
func (c coercion) allows(castContext byte) bool {
	switch castContext {
	case 'i':
		return true
	case 'a':
		return c >= assignment
	}
	return c == explicit
}

// baseType returns the base type of a domain; other types are returned unchanged.
func baseType(t types.OID) types.OID {
	for i := 0; i < 32; i++ {
		p := pgcatalog.TypeByOID(t)
		if p == nil || p.Kind != 'd' {
			return t
		}
		t = p.BaseType
	}
	return t
}

func category(t types.OID) byte {
	if p := pgcatalog.TypeByOID(t); p != nil {
		return p.Category
	}
	return categoryInvalid
}

func preferred(category byte, t types.OID) bool {
	p := pgcatalog.TypeByOID(t)
	return p != nil && p.Preferred && (category == p.Category || category == categoryInvalid)
}

// elementOf returns the element type of a true array, through domains; 0 for others.
func elementOf(t types.OID) types.OID { return pgcatalog.ElementOf(baseType(t)) }

func isArray(t types.OID) bool { return elementOf(t) != 0 }

func isEnum(t types.OID) bool {
	p := pgcatalog.TypeByOID(t)
	return p != nil && p.Kind == 'e'
}

func isRange(t types.OID) bool {
	p := pgcatalog.TypeByOID(baseType(t))
	return p != nil && p.Kind == 'r'
}

func isMultirange(t types.OID) bool {
	p := pgcatalog.TypeByOID(baseType(t))
	return p != nil && p.Kind == 'm'
}

// isComposite reports whether values of t are rows.
func isComposite(t types.OID) bool {
	if t == types.Record {
		return true
	}
	p := pgcatalog.TypeByOID(baseType(t))
	return p != nil && p.Kind == 'c'
}

func isPolymorphic1(t types.OID) bool {
	switch t {
	case types.AnyElement, types.AnyArray, types.AnyNonArray, types.AnyEnum, anyRange, anyMultirange:
		return true
	}
	return false
}

func isPolymorphic2(t types.OID) bool {
	switch t {
	case types.AnyCompatible, types.AnyCompatibleArray, types.AnyCompatibleNonArray, anyCompatibleRange,
		anyCompatibleMultirange:
		return true
	}
	return false
}

func isPolymorphic(t types.OID) bool { return isPolymorphic1(t) || isPolymorphic2(t) }

// name returns a type's name for messages.
func (ctx *Context) name(t types.OID) string {
	if catalog.TypeNumber(t) == 0 || ctx.Catalog == nil {
		return pgcatalog.FormatType(t, -1)
	}
	source := usertype.Source{View: ctx.Catalog, Database: ctx.Database, Path: ctx.SearchPath}
	return source.Format(t)
}

// commonTypmod returns the common type modifier of exprs, -1 if they differ or are not of type t.
func commonTypmod(exprs []query.Expr, t types.OID) int32 {
	mod := int32(-1)
	for i, e := range exprs {
		if e.Type() != t {
			return -1
		}
		if i == 0 {
			mod = e.Typmod()
		} else if e.Typmod() != mod {
			return -1
		}
	}
	return mod
}
