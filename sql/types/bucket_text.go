package types

import (
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
)

// AppendBucketText appends the text of a primary key value from which the bucket of its row is
// hashed. Equal values have equal texts under all session settings (package shardmap has the
// rules). A type without such a text returns 0A000 and cannot be a key.
func AppendBucketText(dst []byte, oid OID, d Datum) ([]byte, error) {
	if d.IsNull() {
		return dst, pgerr.New(pgerr.NotNullViolation, "a key column cannot be null")
	}
	s, err := bucketText(oid, d, 0)
	return append(dst, s...), err
}

func bucketText(oid OID, d Datum, depth int) (string, error) {
	oid = BaseOf(oid)
	switch d.K {
	case KindBool:
		return shardmap.BoolText(d.N != 0), nil
	case KindInt:
		if oid == Xid8 || oid == CharInternal {
			return Output(oid, d, nil), nil
		}
		return shardmap.IntText(d.N), nil
	case KindOid:
		return shardmap.IntText(d.N), nil
	case KindFloat8:
		return shardmap.Float8Text(d.Float()), nil
	case KindFloat4:
		return shardmap.Float4Text(float32(d.Float())), nil
	case KindNumeric:
		return shardmap.NumericText(Output(Numeric, d, nil)), nil
	case KindText:
		switch oid {
		case BPChar:
			return shardmap.CharText(d.S), nil
		case JSON, XML, PgNodeTree, PgNDistinct, PgDependencies:
			return "", noBucketText(oid)
		}
		return d.S, nil
	case KindBytes:
		return shardmap.ByteaText([]byte(d.S)), nil
	case KindInterval:
		m, days, us := IntervalParts(d)
		return shardmap.IntervalText(m, days, us), nil
	case KindTimeTZ:
		return shardmap.TimetzText(d.N, d.A), nil
	case KindJSONB:
		return shardmap.JSONText(Output(JSONB, d, nil)), nil
	case KindEnum: // the rank, because the text may change
		return Output(oid, d, nil), nil
	case KindUUID, KindDate, KindTime, KindTimestamp, KindBit:
		return Output(oid, d, nil), nil
	case KindArray, KindRecord:
		return nestedBucketText(oid, d, depth)
	}
	return "", noBucketText(oid)
}

func noBucketText(oid OID) error {
	return pgerr.Unsupported("type %s cannot be part of a primary key", typeLabel(oid))
}

func nestedBucketText(oid OID, d Datum, depth int) (string, error) {
	if depth > keyMaxDepth {
		return "", noBucketText(oid)
	}
	var parts []*string
	add := func(oid OID, v Datum) error {
		if v.IsNull() {
			parts = append(parts, nil)
			return nil
		}
		s, err := bucketText(oid, v, depth+1)
		parts = append(parts, &s)
		return err
	}
	if d.K == KindArray {
		a, err := ArrayOf(d)
		for i := 0; err == nil && i < a.Len(); i++ {
			err = add(a.Elem, a.At(i))
		}
		return shardmap.ArrayText(parts), err
	}
	r, err := RecordOf(d)
	for i := 0; err == nil && i < r.Len(); i++ {
		err = add(r.Type(i), r.At(i))
	}
	return shardmap.RowText(parts), err
}
