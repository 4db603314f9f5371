package types

// OID is the object identifier of a type in pg_type.
type OID = uint32

// OIDs of the built-in types, as in PostgreSQL's pg_type.dat.
const (
	Bool                  OID = 16
	Bytea                 OID = 17
	CharInternal          OID = 18 // "char"
	Name                  OID = 19
	Int8                  OID = 20
	Int2                  OID = 21
	Int2Vector            OID = 22
	Int4                  OID = 23
	RegProc               OID = 24
	Text                  OID = 25
	Oid                   OID = 26
	Tid                   OID = 27
	Xid                   OID = 28
	Cid                   OID = 29
	OidVector             OID = 30
	JSON                  OID = 114
	XML                   OID = 142
	PgNodeTree            OID = 194
	Float4                OID = 700
	Float8                OID = 701
	Unknown               OID = 705
	Money                 OID = 790
	BPChar                OID = 1042
	VarChar               OID = 1043
	Date                  OID = 1082
	Time                  OID = 1083
	Timestamp             OID = 1114
	TimestampTZ           OID = 1184
	Interval              OID = 1186
	TimeTZ                OID = 1266
	Bit                   OID = 1560
	VarBit                OID = 1562
	Numeric               OID = 1700
	RefCursor             OID = 1790
	RegProcedure          OID = 2202
	RegOper               OID = 2203
	RegOperator           OID = 2204
	RegClass              OID = 2205
	RegType               OID = 2206
	RegRole               OID = 4096
	RegNamespace          OID = 4089
	Record                OID = 2249
	CString               OID = 2275
	Any                   OID = 2276
	AnyArray              OID = 2277
	Void                  OID = 2278
	AnyElement            OID = 2283
	AnyNonArray           OID = 2776
	UUID                  OID = 2950
	AnyEnum               OID = 3500
	JSONB                 OID = 3802
	JSONPath              OID = 4072
	AnyCompatible         OID = 5077
	AnyCompatibleArray    OID = 5078
	AnyCompatibleNonArray OID = 5079

	BoolArray        OID = 1000
	ByteaArray       OID = 1001
	CharArray        OID = 1002
	NameArray        OID = 1003
	Int2Array        OID = 1005
	Int4Array        OID = 1007
	TextArray        OID = 1009
	BPCharArray      OID = 1014
	VarCharArray     OID = 1015
	Int8Array        OID = 1016
	Float4Array      OID = 1021
	Float8Array      OID = 1022
	OidArray         OID = 1028
	TimestampArray   OID = 1115
	DateArray        OID = 1182
	TimeArray        OID = 1183
	TimestampTZArray OID = 1185
	IntervalArray    OID = 1187
	NumericArray     OID = 1231
	CStringArray     OID = 1263
	JSONArray        OID = 199
	JSONBArray       OID = 3807
	UUIDArray        OID = 2951
	RecordArray      OID = 2287
)
