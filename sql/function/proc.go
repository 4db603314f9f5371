package function

import (
	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Proc returns a function of a user as analysis and plans see it.
func Proc(v *catalog.View, f *catalog.Function) *query.Proc {
	p := &query.Proc{
		OID: f.OID, Name: f.Name, Kind: f.Kind, Strict: f.Strict, RetSet: f.Set, Volatility: f.Volatility,
		ArgTypes: f.InputTypes(), RetType: f.Result, Language: f.Language,
		Leakproof: f.Leakproof,
	}
	if s := v.Schema(f.Schema); s != nil {
		p.Namespace = s.Name
	}
	names, outputs := false, false
	for i := range f.Arguments {
		a := &f.Arguments[i]
		p.AllArgTypes, p.ArgModes = append(p.AllArgTypes, a.Type), p.ArgModes+string(rune(a.Mode))
		p.ArgNames = append(p.ArgNames, a.Name)
		names, outputs = names || a.Name != "", outputs || a.Mode != 'i'
		if a.Mode == 'v' {
			p.Variadic = a.Type
			if a.Type != types.Any {
				p.Variadic = variadicElement(a.Type)
			}
		}
		if a.Default != "" {
			p.Defaults = append(p.Defaults, a.Default)
		}
	}
	if !names {
		p.ArgNames = nil
	}
	if !outputs {
		p.AllArgTypes, p.ArgModes = nil, ""
	}
	return p
}

// variadicElement returns the type of one argument of a VARIADIC parameter.
func variadicElement(array types.OID) types.OID {
	switch array {
	case types.AnyArray:
		return types.AnyElement
	case types.AnyCompatibleArray:
		return types.AnyCompatible
	}
	if elem := types.ElemOf(array); elem != 0 {
		return elem
	}
	return pgcatalog.ElementOf(array)
}

// ByOID returns the function with an OID: one that is built in, or one of a user; nil if there is none.
func ByOID(v *catalog.View, oid types.OID) *query.Proc {
	if p := pgcatalog.ProcByOID(oid); p != nil || v == nil {
		return p
	}
	if f := catalog.FunctionByOID(v, oid); f != nil {
		return Proc(v, f)
	}
	return nil
}

// Named returns the functions of users with a name in a schema.
func Named(v *catalog.View, database catalog.OID, schema, name string) []*query.Proc {
	if v == nil {
		return nil
	}
	s := v.SchemaByName(database, schema)
	if s == nil {
		return nil
	}
	var out []*query.Proc
	for _, f := range catalog.FunctionsNamed(v, s.OID, name) {
		out = append(out, Proc(v, f))
	}
	return out
}
