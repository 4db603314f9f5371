package types

// typeInfo is what this package knows about a built-in type without the catalog.
type typeInfo struct {
	kind  Kind
	elem  OID // of an array type, and of int2vector and oidvector
	array OID // the array type of this type
	name  string
}

var typeTable = makeTypeTable()

func makeTypeTable() *[tableLimit]typeInfo {
	var t [tableLimit]typeInfo
	base := func(oid OID, k Kind, array OID, name string) {
		t[oid] = typeInfo{kind: k, array: array, name: name}
		if array != 0 {
			t[array] = typeInfo{kind: KindArray, elem: oid, name: name + "[]"}
		}
	}
	base(Bool, KindBool, BoolArray, "boolean")
	base(Bytea, KindBytes, ByteaArray, "bytea")
	base(CharInternal, KindInt, CharArray, `"char"`)
	base(Name, KindText, NameArray, "name")
	base(Int8, KindInt, Int8Array, "bigint")
	base(Int2, KindInt, Int2Array, "smallint")
	base(Int4, KindInt, Int4Array, "integer")
	base(Text, KindText, TextArray, "text")
	base(Float4, KindFloat4, Float4Array, "real")
	base(Float8, KindFloat8, Float8Array, "double precision")
	base(Numeric, KindNumeric, NumericArray, "numeric")
	base(JSON, KindText, JSONArray, "json")
	base(XML, KindText, XMLArray, "xml")
	base(Unknown, KindText, 0, "unknown")
	base(PgNodeTree, KindText, 0, "pg_node_tree")
	base(PgNDistinct, KindText, 0, "pg_ndistinct")
	base(PgDependencies, KindText, 0, "pg_dependencies")
	base(PgMCVList, KindBytes, 0, "pg_mcv_list")
	base(CString, KindText, CStringArray, "cstring")
	base(Money, KindInt, MoneyArray, "money")
	base(BPChar, KindText, BPCharArray, "character")
	base(VarChar, KindText, VarCharArray, "character varying")
	base(RefCursor, KindText, RefCursorArray, "refcursor")
	base(AclItem, KindText, AclItemArray, "aclitem")
	base(Date, KindDate, DateArray, "date")
	base(Time, KindTime, TimeArray, "time without time zone")
	base(TimeTZ, KindTimeTZ, TimeTZArray, "time with time zone")
	base(Timestamp, KindTimestamp, TimestampArray, "timestamp without time zone")
	base(TimestampTZ, KindTimestamp, TimestampTZArray, "timestamp with time zone")
	base(Interval, KindInterval, IntervalArray, "interval")
	base(UUID, KindUUID, UUIDArray, "uuid")
	base(JSONB, KindJSONB, JSONBArray, "jsonb")
	base(JSONPath, KindJSONPath, JSONPathArray, "jsonpath")
	base(Bit, KindBit, BitArray, "bit")
	base(VarBit, KindBit, VarBitArray, "bit varying")
	base(Tid, KindTid, TidArray, "tid")
	base(Record, KindRecord, RecordArray, "record")
	base(Void, KindVoid, 0, "void")
	base(Xid8, KindInt, Xid8Array, "xid8")
	base(Int2Vector, KindArray, Int2VectorArray, "int2vector")
	base(OidVector, KindArray, OidVectorArray, "oidvector")
	t[Int2Vector].elem, t[OidVector].elem = Int2, Oid
	oidTypes(base)
	return &t
}

// oidTypes are the types whose values are OIDs of objects.
func oidTypes(base func(OID, Kind, OID, string)) {
	base(Oid, KindOid, OidArray, "oid")
	base(Xid, KindOid, XidArray, "xid")
	base(Cid, KindOid, CidArray, "cid")
	base(RegProc, KindOid, RegProcArray, "regproc")
	base(RegProcedure, KindOid, RegProcedureArray, "regprocedure")
	base(RegOper, KindOid, RegOperArray, "regoper")
	base(RegOperator, KindOid, RegOperatorArray, "regoperator")
	base(RegClass, KindOid, RegClassArray, "regclass")
	base(RegType, KindOid, RegTypeArray, "regtype")
	base(RegRole, KindOid, RegRoleArray, "regrole")
	base(RegNamespace, KindOid, RegNamespaceArray, "regnamespace")
	base(RegConfig, KindOid, RegConfigArray, "regconfig")
	base(RegDictionary, KindOid, RegDictionaryArray, "regdictionary")
	base(RegCollation, KindOid, RegCollationArray, "regcollation")
}

func info(oid OID) typeInfo {
	if oid < tableLimit {
		return typeTable[oid]
	}
	return userType(oid)
}

// KindOf returns the kind of a type's values; KindNull for pseudo-types and unknown types.
func KindOf(oid OID) Kind { return info(oid).kind }

// ElemOf returns the element type of an array type (or of int2vector and oidvector), 0 for others.
func ElemOf(oid OID) OID { return info(oid).elem }

// ArrayTypeOf returns the array type of an element type, 0 if there is none.
func ArrayTypeOf(elem OID) OID { return info(elem).array }

// IsArray reports whether oid is an array type; vectors are not.
func IsArray(oid OID) bool {
	i := info(oid)
	oid = BaseOf(oid)
	return i.kind == KindArray && oid != Int2Vector && oid != OidVector
}

// TypeName returns the SQL name of a type without modifier, "" for unknown types.
func TypeName(oid OID) string { return info(oid).name }

// unreadable has the names of base types of pg_type that this package does not know, for messages.
var unreadable = map[OID]string{
	600: "point", 601: "lseg", 602: "path", 603: "box", 604: "polygon", 628: "line", 650: "cidr", 718: "circle",
	774: "macaddr8", 829: "macaddr", 869: "inet", 2970: "txid_snapshot", 3220: "pg_lsn",
	3614: "tsvector", 3615: "tsquery", 3642: "gtsvector", 3904: "int4range",
	3906: "numrange", 3908: "tsrange", 3910: "tstzrange", 3912: "daterange", 3926: "int8range",
	4451: "int4multirange", 4532: "nummultirange", 4533: "tsmultirange", 4534: "tstzmultirange",
	4535: "datemultirange", 4536: "int8multirange", 4600: "pg_brin_bloom_summary",
	4601: "pg_brin_minmax_multi_summary", 5038: "pg_snapshot",
}

// typeLabel returns the name of a type for messages, because clients do not know OIDs.
func typeLabel(oid OID) string {
	if n := TypeName(oid); n != "" {
		return n
	}
	if n := unreadable[oid]; n != "" {
		return "type " + n
	}
	return "this type"
}
