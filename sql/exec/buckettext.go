package exec

import (
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/types"
)

// appendBucketText appends the text by which a key's value chooses its bucket: equal values give equal texts (shardmap B3). Dates and times
// print in ISO form and UTC, whatever the session has set: that is the nil environment.
func appendBucketText(dst []byte, oid types.OID, d types.Datum) []byte {
	switch d.K {
	case types.KindBool:
		return append(dst, shardmap.BoolText(d.Bool())...)
	case types.KindInt:
		if oid == types.CharInternal {
			return types.AppendOutput(dst, oid, d, nil)
		}
		return types.AppendInt(dst, d.N)
	case types.KindText:
		if oid == types.BPChar {
			return append(dst, shardmap.CharText(d.S)...)
		}
		return append(dst, d.S...)
	case types.KindFloat8:
		return append(dst, shardmap.Float8Text(d.Float())...)
	case types.KindFloat4:
		return append(dst, shardmap.Float4Text(float32(d.Float()))...)
	case types.KindNumeric:
		return append(dst, shardmap.NumericText(string(types.AppendNumeric(nil, d)))...)
	case types.KindBytes:
		return append(dst, shardmap.ByteaText([]byte(d.S))...)
	case types.KindInterval:
		return append(dst, shardmap.IntervalText(types.IntervalParts(d))...)
	case types.KindTimeTZ:
		return append(dst, shardmap.TimetzText(d.N, d.A)...)
	case types.KindJSONB:
		return append(dst, shardmap.JSONText(string(types.AppendOutput(nil, oid, d, nil)))...)
	case types.KindArray:
		return appendArrayBucketText(dst, d)
	}
	return types.AppendOutput(dst, oid, d, nil)
}

func appendArrayBucketText(dst []byte, d types.Datum) []byte {
	a, err := types.ArrayOf(d)
	if err != nil {
		return dst
	}
	texts := make([]*string, a.Len())
	for i := range texts {
		if e := a.At(i); !e.IsNull() {
			s := string(appendBucketText(nil, a.Elem, e))
			texts[i] = &s
		}
	}
	return append(dst, shardmap.ArrayText(texts)...)
}
