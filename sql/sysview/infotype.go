package sysview

import (
	"strings"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
)

// OIDs of types that information_schema describes in a special way.
const (
	maxTextOctets = 1 << 30
	utf8MaxBytes  = 4
)

// dataType sets the columns about a type: data_type, lengths, precisions and udt_*. Columns that
// the view lacks are left out.
func (r *record) dataType(typ types.OID, typmod int32) *record {
	base, mod := typ, typmod
	t := pgcatalog.TypeByOID(typ)
	if t != nil && t.Kind == 'd' {
		base, mod = t.BaseType, usertype.BaseTypmod(r.b.env.View, typ)
		schema, name, _ := r.b.env.TypeName(typ)
		r.setIfPresent("domain_schema", schema).setIfPresent("domain_name", name)
		if _, ok := r.b.at["domain_catalog"]; ok {
			r.database("domain_catalog")
		}
	}
	r.setIfPresent("data_type", r.b.env.dataTypeName(base))
	schema, name, _ := r.b.env.TypeName(base)
	r.setIfPresent("udt_schema", schema).setIfPresent("udt_name", name)
	r.charLengths(base, mod)
	r.numericParts(base, mod)
	return r.timeParts(base, mod)
}

// setIfPresent sets a text column if the view has it.
func (r *record) setIfPresent(column, s string) *record {
	if _, ok := r.b.at[column]; !ok {
		return r
	}
	return r.text(column, s)
}

func (e *Env) dataTypeName(typ types.OID) string {
	if _, array, ok := tableOfType(typ); ok {
		if array {
			return "ARRAY"
		}
		return "USER-DEFINED"
	}
	t := pgcatalog.TypeByOID(typ)
	switch {
	case t == nil:
		return "USER-DEFINED"
	case pgcatalog.ElementOf(typ) != 0 || t.Elem != 0 && t.Len == -1:
		return "ARRAY"
	case t.Namespace == pgCatalog:
		return e.FormatType(typ, -1)
	}
	return "USER-DEFINED"
}

func (r *record) charLengths(typ types.OID, mod int32) *record {
	switch typ {
	case types.Text:
		r.int("character_octet_length", maxTextOctets)
	case types.VarChar, types.BPChar:
		if mod < 4 {
			return r.int("character_octet_length", maxTextOctets)
		}
		n := int64(mod - 4)
		r.int("character_maximum_length", n).int("character_octet_length", min(n*utf8MaxBytes, maxTextOctets))
	case types.Bit, types.VarBit:
		if mod >= 0 {
			r.int("character_maximum_length", int64(mod))
		}
	}
	return r
}

func (r *record) numericParts(typ types.OID, mod int32) *record {
	set := func(precision, radix int64) *record {
		return r.int("numeric_precision", precision).int("numeric_precision_radix", radix)
	}
	switch typ {
	case types.Int2:
		set(16, 2).int("numeric_scale", 0)
	case types.Int4:
		set(32, 2).int("numeric_scale", 0)
	case types.Int8:
		set(64, 2).int("numeric_scale", 0)
	case types.Float4:
		set(24, 2)
	case types.Float8:
		set(53, 2)
	case types.Numeric:
		r.int("numeric_precision_radix", 10)
		if precision, scale, ok := types.NumericPrecision(mod); ok {
			set(int64(precision), 10).int("numeric_scale", int64(scale))
		}
	}
	return r
}

func (r *record) timeParts(typ types.OID, mod int32) *record {
	precision := func(p int32) *record {
		if p < 0 || p > 6 {
			p = 6
		}
		return r.int("datetime_precision", int64(p))
	}
	switch typ {
	case types.Date:
		precision(0)
	case types.Time, types.TimeTZ, types.Timestamp, types.TimestampTZ:
		precision(mod)
	case types.Interval:
		if mod < 0 {
			return precision(-1)
		}
		precision(mod & 0xffff)
		fields, _, _ := strings.Cut(strings.TrimPrefix(pgcatalog.FormatType(typ, mod), "interval"), "(")
		if fields = strings.ToUpper(strings.TrimSpace(fields)); fields != "" {
			r.text("interval_type", fields)
		}
	}
	return r
}

// collation sets the collation of a column with an explicit one.
func (r *record) collation(oid uint32) *record {
	const defaultCollation = 100
	_, name, ok := r.b.env.Name(collationKind, oid)
	if !ok || oid == defaultCollation {
		return r
	}
	return r.database("collation_catalog").text("collation_schema", pgCatalog).text("collation_name", name)
}
