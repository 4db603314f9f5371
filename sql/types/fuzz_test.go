package types

import (
	"testing"
)

// fuzzTypes are all types with a text form.
func fuzzTypes() []OID {
	var oids []OID
	for o := range OID(tableLimit) {
		if k := KindOf(o); k != KindNull && k != KindVoid {
			oids = append(oids, o)
		}
	}
	return oids
}

// FuzzInput checks that the output of every accepted text is read back as the same value.
func FuzzInput(f *testing.F) {
	for _, s := range samples {
		f.Add(uint16(s.oid), s.text)
	}
	f.Add(uint16(TimestampTZ), "2004-10-19 10:23:54 America/New_York")
	f.Fuzz(func(t *testing.T, n uint16, text string) {
		oids := fuzzTypes()
		oid := oids[int(n)%len(oids)]
		if KindOf(OID(n)) != KindNull {
			oid = OID(n)
		}
		if ValidateText(text) != nil {
			return
		}
		d, err := Input(oid, -1, text, nil)
		if err != nil {
			return
		}
		if _, err := Input(oid, -1, Output(oid, d, nil), nil); err != nil && KindOf(oid) != KindArray &&
			oid != JSONPath {
			t.Fatalf("%s: %q prints %q: %v", TypeName(oid), text, Output(oid, d, nil), err)
		}
		AppendKey(nil, oid, d, true)
		Hash(oid, 0, d)
		AppendSend(nil, oid, d, nil)
		if !Equal(oid, d, d) {
			t.Fatalf("%s: %q is not equal to itself", TypeName(oid), text)
		}
	})
}

// FuzzReceive checks that any bytes are read as a value or an error.
func FuzzReceive(f *testing.F) {
	for _, s := range samples {
		f.Add(uint16(s.oid), AppendSend(nil, s.oid, s.datum(f), nil))
	}
	f.Fuzz(func(t *testing.T, n uint16, b []byte) {
		oids := fuzzTypes()
		oid := oids[int(n)%len(oids)]
		if KindOf(OID(n)) != KindNull {
			oid = OID(n)
		}
		d, err := Receive(oid, -1, b, nil)
		if err == nil {
			Output(oid, d, nil)
			AppendKey(nil, oid, d, false)
		}
	})
}

// FuzzRow checks that a damaged row returns values or errors and never panics.
func FuzzRow(f *testing.F) {
	row, _ := sampleRow(f, samples)
	f.Add(AppendRow(nil, row), uint8(3))
	f.Add(AppendRow(nil, Row{NewInt(1), NewText("a"), Null}), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, k uint8) {
		var r RowReader
		if r.Reset(b) != nil {
			return
		}
		kind := Kind(k % uint8(KindVoid+1))
		for i := range min(r.Len(), 50) {
			d, _, err := r.Column(i, kind)
			if err == nil && !d.IsNull() && kind != KindJSONB {
				AppendOutput(nil, 0, d, nil)
				hashKind(0, &d)
			}
		}
	})
}

// FuzzKey checks that a damaged key returns a value or an error, and that a valid one is encoded to
// the same key again.
func FuzzKey(f *testing.F) {
	for _, s := range samples {
		f.Add(uint16(s.oid), AppendKey(nil, s.oid, s.datum(f), false), false)
	}
	f.Fuzz(func(t *testing.T, n uint16, b []byte, desc bool) {
		d, _, err := DecodeKey(OID(n), b, desc)
		if err == nil && !d.IsNull() {
			AppendKey(nil, OID(n), d, desc)
		}
	})
}

// FuzzDatum is FuzzRow for values sent between fragments.
func FuzzDatum(f *testing.F) {
	for _, s := range samples {
		f.Add(AppendDatum(nil, s.datum(f)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, _, err := DecodeDatum(b)
		if err == nil && d.K == KindArray {
			AppendOutput(nil, 0, d, nil)
		}
	})
}
