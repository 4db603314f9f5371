package pgcatalog

import "strconv"

// Proc is a row of pg_proc.
type Proc struct {
	OID       uint32
	Name      string
	Namespace string // pg_catalog, or sherd for Sherd's own
	Kind      byte   // prokind: 'f' function, 'a' aggregate, 'w' window, 'p' procedure
	Strict    bool
	// number of optional last arguments of a strict function: a null among them means the default
	Options     int
	RetSet      bool
	Volatility  byte     // 'i', 's', 'v'
	ArgTypes    []uint32 // input arguments
	AllArgTypes []uint32 // including OUT and TABLE arguments; nil if there are none
	ArgModes    string   // a byte per AllArgTypes: i o b v t
	ArgNames    []string
	Defaults    []string // SQL text of the defaults of the last len(Defaults) input arguments
	RetType     uint32
	Variadic    uint32 // element type; 0 if not variadic
	Src         string // prosrc: the implementation's name, which is its key in package builtin
	Comment     string // of Sherd's functions; those of PostgreSQL's are in pg_description
	Language    string // of a function that a user has defined; "" of all that are built in
	Leakproof   bool   // as a user has declared a function
}

// Type is a row of pg_type.
type Type struct {
	OID       uint32
	Name      string
	Namespace string
	Len       int16
	ByVal     bool
	Kind      byte // typtype: b c d e p r m
	Category  byte
	Preferred bool
	Delim     byte
	RelID     uint32
	Elem      uint32
	Array     uint32
	Subscript string // typsubscript's name; "" if none
	Input     string // typinput's name
	Output    string
	Align     byte
	Storage   byte
	NotNull   bool
	BaseType  uint32
	Collation uint32
}

// Operator is a row of pg_operator.
type Operator struct {
	OID        uint32
	Name       string
	Kind       byte // 'b' or 'l'
	Left       uint32
	Right      uint32
	Result     uint32
	Proc       uint32 // oprcode
	Commutator uint32
	Negator    uint32
	CanHash    bool
	CanMerge   bool
}

// Cast is a row of pg_cast.
type Cast struct {
	Source  uint32
	Target  uint32
	Func    uint32 // 0 if Method is not 'f'
	Context byte   // 'e', 'a', 'i'
	Method  byte   // 'f' function, 'b' binary-coercible, 'i' input/output
}

// Aggregate is a row of pg_aggregate.
type Aggregate struct {
	Proc      uint32
	Kind      byte // 'n' normal, 'o' ordered-set, 'h' hypothetical-set
	NumDirect int
}

// OIDs of enums and of their array types, and of composite types and theirs, as in package catalog.
const (
	enumTypes   = 3 << 28
	arrayOfEnum = 1 << 27
	rowTypes    = 1 << 28
	rowArrays   = 2 << 28
)

// storedName is what the names of users' types begin with in stored expressions.
const storedName = "type_"

// userType returns what is the same of all enums, of all composite types, or of their array types; nil
// for other types.
func userType(oid uint32) *Type {
	switch {
	case oid >= domains:
		return domainType(oid)
	case oid>>28 == rowTypes>>28:
		return &Type{
			OID: oid, Name: storedName + strconv.FormatUint(uint64(oid), 10), Namespace: "sherd", Len: -1, Kind: 'c',
			Category: 'C', Delim: ',', RelID: oid &^ rowTypes, Array: oid ^ (rowTypes | rowArrays), Input: "record_in",
			Output: "record_out", Align: 'd', Storage: 'x',
		}
	case oid>>28 == rowArrays>>28:
		return arrayType(oid, oid^(rowTypes|rowArrays), 'd')
	case oid>>28 != enumTypes>>28:
		return nil
	case oid&arrayOfEnum != 0:
		return arrayType(oid, oid&^arrayOfEnum, 'i')
	}
	return &Type{
		OID: oid, Name: storedName + strconv.FormatUint(uint64(oid), 10), Namespace: "sherd", Len: 4, ByVal: true,
		Kind: 'e', Category: 'E', Delim: ',', Array: oid | arrayOfEnum, Input: "enum_in", Output: "enum_out",
		Align: 'i', Storage: 'p',
	}
}

func arrayType(oid, elem uint32, align byte) *Type {
	return &Type{
		OID: oid, Name: "_" + storedName + strconv.FormatUint(uint64(elem), 10), Namespace: "sherd", Len: -1,
		Kind: 'b', Category: 'A', Delim: ',', Elem: elem, Subscript: "array_subscript_handler", Input: "array_in",
		Output: "array_out", Align: align, Storage: 'x',
	}
}

// OIDs of domains have their built-in base type, as in package sql/types.
const (
	domains    = 1 << 31
	domainBits = 18
)

// domainType returns what a domain of a user has of its base type.
func domainType(oid uint32) *Type {
	base := catalogs().types[(oid&^domains)>>domainBits]
	if base == nil {
		return nil
	}
	t := *base
	t.OID, t.Name, t.Namespace = oid, storedName+strconv.FormatUint(uint64(oid), 10), "sherd"
	t.Kind, t.BaseType, t.Array, t.Preferred = 'd', base.OID, base.Array, false
	t.Elem, t.Subscript, t.Input = 0, "", "domain_in"
	return &t
}
