package types

import (
	"github.com/sherddb/sherd/internal/pgerr"
)

// Input parses the text form of a value, as the type's input function does, and applies typmod (-1
// is none) as an assignment does: text too long for varchar(n) is an error. The text must be valid
// in the server's encoding (ValidateText); Input does not check it again.
func Input(oid OID, typmod int32, text string, env *Env) (Datum, error) {
	oid = BaseOf(oid)
	d, err := input(oid, typmod, text, env.orDefault())
	if err != nil || typmod < 0 {
		return d, err
	}
	return ApplyTypmod(oid, typmod, d, false)
}

func input(oid OID, typmod int32, s string, env *Env) (Datum, error) {
	switch oid {
	case Text, VarChar, BPChar, Unknown, CString, RefCursor, XML, AclItem, PgNodeTree, PgNDistinct,
		PgDependencies:
		return NewText(s), nil
	case Name:
		return NewText(TruncateName(s)), nil
	case Bool:
		return parseBool(s)
	case Int2, Int4, Int8:
		return parseIntDatum(oid, s)
	case Float4, Float8:
		return parseFloatDatum(oid, s)
	case Numeric:
		return ParseNumeric(s)
	case JSONB:
		return parseJSONB(s)
	case JSON:
		return parseJSON(s)
	case JSONPath:
		return parseJSONPath(s)
	case Bytea:
		return parseBytea(s)
	case UUID:
		return parseUUID(s)
	case CharInternal:
		return parseChar(s), nil
	case Oid, Xid, Cid:
		return parseOidDatum(oid, s)
	case Tid:
		return parseTid(s)
	case Xid8:
		return parseXid8(s)
	case Bit, VarBit:
		return parseBit(s, oid, typmod)
	case Void:
		return Datum{K: KindVoid}, nil
	case Int2Vector, OidVector:
		return parseVector(oid, s)
	}
	return inputOther(oid, typmod, s, env)
}

// inputOther parses values of the types that need the environment.
func inputOther(oid OID, typmod int32, s string, env *Env) (Datum, error) {
	switch oid {
	case Date:
		return parseDate(s, env)
	case Time:
		return parseTime(s, env)
	case TimeTZ:
		return parseTimeTZ(s, env)
	case Timestamp:
		return parseTimestamp(s, env)
	case TimestampTZ:
		return parseTimestampTZ(s, env)
	case Interval:
		return parseInterval(s, typmod, env)
	case Money:
		return parseMoney(s)
	case Record:
		return Null, pgerr.New(pgerr.FeatureNotSupported, "input of anonymous composite types is not implemented")
	}
	switch in := info(oid); in.kind {
	case KindEnum:
		return parseEnum(oid, s, env)
	case KindOid:
		return parseReg(oid, s, env)
	case KindArray:
		return parseArray(in.elem, typmod, s, env)
	case KindRecord:
		return parseComposite(oid, s, env)
	}
	return Null, noInput(oid)
}

// Readable reports whether Input knows a type, or returns a specific error for a pseudo-type.
func Readable(oid OID) bool {
	return KindOf(oid) != KindNull || TypeName(oid) != "" || pseudoName(oid) != ""
}

func noInput(oid OID) error {
	if name := pseudoName(oid); name != "" {
		return pgerr.New(pgerr.FeatureNotSupported, "cannot accept a value of type %s", name)
	}
	return pgerr.Unsupported("values of %s are not supported yet", typeLabel(oid)).WithHint("Use text or jsonb.")
}

func pseudoName(oid OID) string {
	switch oid {
	case Any:
		return "any"
	case AnyArray:
		return "anyarray"
	case AnyElement:
		return "anyelement"
	case AnyNonArray:
		return "anynonarray"
	case AnyEnum:
		return "anyenum"
	case AnyRange:
		return "anyrange"
	case AnyCompatible:
		return "anycompatible"
	case AnyCompatibleArray:
		return "anycompatiblearray"
	case AnyCompatibleNonArray:
		return "anycompatiblenonarray"
	case Internal:
		return "internal"
	case TriggerType:
		return "trigger"
	case LanguageHandler:
		return "language_handler"
	case EventTrigger:
		return "event_trigger"
	}
	return ""
}

// AppendOutput appends the text form of d, which must not be null. The form depends on the kind of
// d and, for some kinds, on oid.
func AppendOutput(dst []byte, oid OID, d Datum, env *Env) []byte {
	oid = BaseOf(oid)
	switch d.K {
	case KindText:
		return append(dst, d.S...)
	case KindInt:
		return appendIntOutput(dst, oid, d.N)
	case KindJSONB:
		return appendJSONB(dst, d.S)
	case KindBool:
		if d.N != 0 {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case KindFloat4:
		return appendFloat(dst, d.Float(), 32, env)
	case KindFloat8:
		return appendFloat(dst, d.Float(), 64, env)
	case KindNumeric:
		return AppendNumeric(dst, d)
	case KindOid:
		return appendOidOutput(dst, oid, uint32(d.N), env)
	case KindBytes:
		return appendBytea(dst, d.S, env)
	case KindUUID:
		return appendUUID(dst, d.S)
	case KindJSONPath:
		return append(dst, d.S...)
	case KindArray:
		return appendArray(dst, oid, d, env)
	case KindRecord:
		return appendRecord(dst, d, env)
	case KindBit:
		return appendBits(dst, d)
	case KindTid:
		return appendTid(dst, d.N)
	case KindEnum:
		return appendEnum(dst, oid, d, env.orDefault())
	}
	return appendTemporal(dst, oid, d, env.orDefault())
}

func appendTemporal(dst []byte, oid OID, d Datum, env *Env) []byte {
	switch d.K {
	case KindDate:
		return appendDate(dst, d.N, env)
	case KindTime:
		return appendTime(dst, d.N)
	case KindTimeTZ:
		return appendTimeTZ(dst, d)
	case KindTimestamp:
		if oid == TimestampTZ {
			return appendTimestampTZ(dst, d.N, env)
		}
		return appendTimestamp(dst, d.N, env)
	case KindInterval:
		return appendInterval(dst, d, env)
	}
	return dst
}

// Output returns the text form of d as a string; "" for null.
func Output(oid OID, d Datum, env *Env) string {
	if d.K == KindText {
		return d.S
	}
	if d.K == KindNull {
		return ""
	}
	return string(AppendOutput(nil, oid, d, env))
}

// The type money is not supported yet: columns of it cannot be created, so no value reaches the
// output.

func parseMoney(string) (Datum, error) {
	return Null, pgerr.Unsupported("type money is not supported yet").WithHint("Use numeric.")
}

func appendMoney(dst []byte, n int64) []byte { return AppendNumeric(dst, NewNumeric(n, 2)) }
