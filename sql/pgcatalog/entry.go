package pgcatalog

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
