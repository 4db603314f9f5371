package types

// OIDs of further built-in types.
const (
	XMLArray           OID   = 143
	MoneyArray         OID   = 791
	Int2VectorArray    OID   = 1006
	RegProcArray       OID   = 1008
	TidArray           OID   = 1010
	XidArray           OID   = 1011
	CidArray           OID   = 1012
	OidVectorArray     OID   = 1013
	TimeTZArray        OID   = 1270
	BitArray           OID   = 1561
	VarBitArray        OID   = 1563
	RefCursorArray     OID   = 2201
	RegProcedureArray  OID   = 2207
	RegOperArray       OID   = 2208
	RegOperatorArray   OID   = 2209
	RegClassArray      OID   = 2210
	RegTypeArray       OID   = 2211
	RegConfig          OID   = 3734
	RegConfigArray     OID   = 3735
	RegDictionary      OID   = 3769
	RegDictionaryArray OID   = 3770
	RegNamespaceArray  OID   = 4090
	RegRoleArray       OID   = 4097
	RegCollation       OID   = 4191
	RegCollationArray  OID   = 4192
	JSONPathArray      OID   = 4073
	Xid8               OID   = 5069
	Xid8Array          OID   = 271
	TriggerType        OID   = 2279
	LanguageHandler    OID   = 2280
	Internal           OID   = 2281
	EventTrigger       OID   = 3838
	AnyRange           OID   = 3831
	AnyCompatibleRange OID   = 5080
	AnyMultirange      OID   = 4537
	AclItem            OID   = 1033
	AclItemArray       OID   = 1034
	Char                     = CharInternal
	firstUserOID       OID   = 16384
	tableLimit               = 5200
	noTypmod           int32 = -1
)
