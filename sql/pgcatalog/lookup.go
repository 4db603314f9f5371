package pgcatalog

import (
	"strconv"
	"strings"
)

// ProcByOID returns a function; nil if there is none.
func ProcByOID(oid uint32) *Proc { return catalogs().procs[oid] }

// ProcsByName returns the functions of a name in every schema; see Proc.Namespace.
func ProcsByName(name string) []*Proc { return catalogs().procsByName[name] }

// TypeByOID returns a type; nil if there is none. Types of users are in package catalog; of these it
// returns what follows from the OID, with the name that stored expressions have for them.
func TypeByOID(oid uint32) *Type {
	if t := catalogs().types[oid]; t != nil {
		return t
	}
	return userType(oid)
}

// TypeByName returns a type by its pg_type name (int4, _text), nil if there is none; schema "" is
// pg_catalog.
func TypeByName(schema, name string) *Type {
	if schema == "" {
		schema = "pg_catalog"
	}
	for _, t := range catalogs().typesByName[name] {
		if t.Namespace == schema {
			return t
		}
	}
	if digits, ok := strings.CutPrefix(name, storedName); ok && schema == "sherd" {
		if oid, err := strconv.ParseUint(digits, 10, 32); err == nil {
			return userType(uint32(oid))
		}
	}
	return nil
}

// ArrayOf returns the array type of an element type; 0 if there is none.
func ArrayOf(elem uint32) uint32 {
	if t := TypeByOID(elem); t != nil {
		return t.Array
	}
	return 0
}

// ElementOf returns the element type of a true array type; 0 for every other type, including name
// and point.
func ElementOf(array uint32) uint32 {
	if t := TypeByOID(array); t != nil && t.Subscript == "array_subscript_handler" {
		return t.Elem
	}
	return 0
}

// OperatorByOID returns an operator; nil if there is none.
func OperatorByOID(oid uint32) *Operator { return catalogs().ops[oid] }

// OperatorsByName returns the operators of a name.
func OperatorsByName(name string) []*Operator { return catalogs().opsByName[name] }

// OperatorFor returns the operator with exactly these input types, nil if there is none; left is 0
// for a prefix operator.
func OperatorFor(name string, left, right uint32) *Operator {
	for _, o := range catalogs().opsByName[name] {
		if o.Left == left && o.Right == right {
			return o
		}
	}
	return nil
}

// CastBetween returns the pg_cast row of a cast; nil if there is none.
func CastBetween(source, target uint32) *Cast { return catalogs().casts[[2]uint32{source, target}] }

// AggregateOf returns the pg_aggregate row of a function; nil if it is not an aggregate.
func AggregateOf(proc uint32) *Aggregate { return catalogs().aggs[proc] }

// NamespaceName returns the name of a built-in schema: pg_catalog, information_schema, pg_toast,
// public, sherd.
func NamespaceName(oid uint32) (string, bool) {
	name, ok := catalogs().namespaces[oid]
	return name, ok
}

// NamespaceOID returns the OID of a built-in schema.
func NamespaceOID(name string) (uint32, bool) {
	for oid, n := range catalogs().namespaces {
		if n == name {
			return oid, true
		}
	}
	return 0, false
}

// Procs emits every function, in no order.
func Procs(emit func(*Proc)) {
	for _, p := range catalogs().procs {
		emit(p)
	}
}
