package types

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// sample is a value of a type with a frozen stored form.
type sample struct {
	oid  OID
	text string
}

var samples = []sample{
	{Bool, "t"}, {Bool, "f"}, {Int2, "-32768"}, {Int4, "0"}, {Int4, "1"}, {Int4, "-1"}, {Int4, "255"}, {Int4, "256"},
	{Int4, "-256"}, {Int4, "-257"},
	{Int8, "9223372036854775807"}, {Int8, "-9223372036854775808"}, {Oid, "4294967295"}, {Float8, "-Infinity"},
	{Float8, "-1.5"},
	{Float8, "0"}, {Float8, "1e300"}, {Float8, "Infinity"}, {Float8, "NaN"}, {Float4, "1.1"}, {Numeric, "-Infinity"},
	{Numeric, "-123.45"},
	{Numeric, "-0.001"}, {Numeric, "0"}, {Numeric, "0.001"}, {Numeric, "1.50"}, {Numeric, "12345678901234567890.12"},
	{Numeric, "1e300"},
	{Numeric, "Infinity"}, {Numeric, "NaN"}, {Text, ""}, {Text, "a"}, {Text, "ab"}, {Text, "é"}, {VarChar, "x"},
	{BPChar, "ab  "}, {Name, "n"},
	{CharInternal, "c"}, {Bytea, `\x`}, {Bytea, `\x00`}, {Bytea, `\x0001ff`},
	{UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, {Date, "-infinity"},
	{Date, "1999-12-31"}, {Date, "2000-01-01"}, {Date, "infinity"}, {Time, "12:34:56.789"}, {TimeTZ, "12:34:56+02"},
	{Timestamp, "2020-02-03 04:05:06.7"},
	{Timestamp, "-infinity"}, {TimestampTZ, "2020-02-03 04:05:06.7"}, {Interval, "1 mon -2 days 03:04:05"},
	{Interval, "0"}, {Interval, "-178000000 years"},
	{Bit, "1011"}, {VarBit, ""}, {VarBit, "111111111"}, {Tid, "(7,9)"}, {Int4Array, "{}"}, {Int4Array, "{1,2}"},
	{Int4Array, "{1,NULL}"},
	{Int4Array, "[0:1][2:2]={{1},{2}}"}, {TextArray, `{a,"",NULL}`}, {NumericArray, "{1.0,2}"}, {OidVector, "1 2"},
	{JSONB, "null"}, {JSONB, "[]"}, {JSONB, `"a"`}, {JSONB, "1.0"}, {JSONB, "true"}, {JSONB, "[1]"}, {JSONB, "[1,[]]"},
	{JSONB, "{}"}, {JSONB, `{"a":1,"b":[null]}`},
	{JSON, `{"a" : 1}`}, {JSONPath, "$.a[*]"},
}

// enumSamples are values of a type of a user, by their ranks.
var enumSamples = []sample{
	{enumTypes | 16384, "80"}, {enumTypes | 16384, "0080"}, {enumTypes | arrayOfEnum | 16384, "{80,NULL}"},
}

func (s sample) datum(t testing.TB) Datum {
	d, err := Input(s.oid, -1, s.text, StoredEnv)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// golden compares got with a frozen file. -rewrite updates the file, which is only right while no
// data of the format exists.
func golden(t *testing.T, name string, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from the frozen format:\n%s", name, got)
	}
}

func TestKeyFormat(t *testing.T) {
	var b strings.Builder
	for _, s := range slices.Concat(samples, enumSamples) {
		if !CanKey(s.oid) {
			continue
		}
		d := s.datum(t)
		for _, desc := range []bool{false, true} {
			k := AppendKey(nil, s.oid, d, desc)
			if !desc {
				fmt.Fprintf(&b, "%s %q %x\n", TypeName(s.oid), s.text, k)
			}
			if s.oid == JSONB {
				continue
			}
			e, rest, err := DecodeKey(s.oid, append(k, 0xaa), desc)
			if err != nil || len(rest) != 1 || !Equal(s.oid, d, e) {
				t.Errorf("%v desc %v: key %x gives %v, %v", s, desc, k, e, err)
			}
		}
	}
	golden(t, "testdata/keys.golden", b.String())
}

// TestKeyOrder checks that bytes.Compare of keys agrees with Compare of values, and that equal
// values have equal hashes.
func TestKeyOrder(t *testing.T) {
	byType := map[OID][]Datum{}
	for _, s := range slices.Concat(samples, enumSamples) {
		if CanKey(s.oid) {
			byType[s.oid] = append(byType[s.oid], s.datum(t))
		}
	}
	for _, extra := range []sample{{Numeric, "1.5"}, {Numeric, "1.500"}, {Numeric, "-123.450"}, {Numeric, "10"},
		{Numeric, "100"}, {Numeric, "9.99"}, {Numeric, "-9"},
		{Numeric, "-10"}, {Numeric, "9223372036854775808"}, {Numeric, "9223372036854775807.5"}, {Float8, "-0"},
		{Float8, "2"}, {BPChar, "ab"}, {BPChar, "a"}, {Interval, "30 days"}, {Interval, "1 mon"},
		{Interval, "-1 mon"}, {Interval, "1 us"}, {JSONB, "1.00"}, {JSONB, "2"}, {JSONB, `{"a":1,"b":[1]}`},
		{JSONB, `[[1],2]`}, {JSONB, `["a",{}]`}, {JSONB, "false"},
		{TextArray, "{a}"}, {TextArray, "{b}"}, {TextArray, "{}"}, {TextArray, "{NULL}"}, {Int4Array, "[2:3]={1,2}"},
		{Int4Array, "{1,2,3}"}, {TimeTZ, "11:34:56+01"}, {TimeTZ, "12:34:57+02"},
		{Bytea, `\x00ff`}, {Bytea, `\xff`}, {Bytea, `\x0000`}, {VarBit, "1"}, {VarBit, "10"}} {
		byType[extra.oid] = append(byType[extra.oid], extra.datum(t))
	}
	for oid, vals := range byType {
		cmp := Comparer(oid)
		for _, a := range vals {
			for _, b := range vals {
				want := cmp(a, b)
				for _, desc := range []bool{false, true} {
					got := bytes.Compare(AppendKey(nil, oid, a, desc), AppendKey(nil, oid, b, desc))
					if desc {
						got = -got
					}
					if got != want {
						t.Errorf("%s: %s and %s compare %d, keys %d (desc %v)", TypeName(oid), Output(oid, a, nil),
							Output(oid, b, nil), want, got, desc)
					}
				}
				if want == 0 && Hash(oid, 7, a) != Hash(oid, 7, b) {
					t.Errorf("%s: equal values %s and %s hash differently", TypeName(oid), Output(oid, a, nil),
						Output(oid, b, nil))
				}
			}
		}
	}
}

func TestKeyNulls(t *testing.T) {
	v := AppendKey(nil, Int4, NewInt(1), false)
	w := AppendKey(nil, Int4, NewInt(1), true)
	if bytes.Compare(v, AppendKey(nil, Int4, Null, false)) >= 0 ||
		bytes.Compare(AppendKey(nil, Int4, Null, true), w) >= 0 {
		t.Error("null must be last ascending, first descending")
	}
}

func sampleRow(t testing.TB, samples []sample) (row Row, kinds []Kind) {
	for _, s := range samples {
		row = append(row, s.datum(t), Null)
		kinds = append(kinds, KindOf(s.oid), KindInt)
	}
	return row, kinds
}

func TestRowFormat(t *testing.T) {
	enums, _ := sampleRow(t, enumSamples)
	row, kinds := sampleRow(t, samples)
	stored := AppendRow(nil, row)
	var r RowReader
	if err := r.Reset(stored); err != nil {
		t.Fatal(err)
	}
	for i := range row {
		d, missing, err := r.Column(i, kinds[i])
		if err != nil || missing || d != row[i] {
			t.Errorf("column %d: %v, %v, %v; want %v", i, d, missing, err, row[i])
		}
	}
	if _, missing, _ := r.Column(len(row), KindInt); !missing {
		t.Error("a column added later must be missing")
	}
	wide := AppendRow(nil, Row{NewText(strings.Repeat("x", 300)), NewText("y"), NewInt(-5)})
	huge := AppendRow(nil, Row{NewText(strings.Repeat("x", 70000)), NewText("y")})
	golden(t, "testdata/rows.golden", hex.EncodeToString(stored)+"\n"+hex.EncodeToString(wide)+"\n"+
		hex.EncodeToString(huge[:40])+"\n"+
		hex.EncodeToString(AppendRow(nil, Row{NewInt(1), NewText("a")}))+"\n"+hex.EncodeToString(AppendRow(nil, nil))+
		"\n"+hex.EncodeToString(AppendRow(nil, enums))+"\n")
	if err := r.Reset(huge); err != nil {
		t.Fatal(err)
	}
	if d, _, _ := r.Column(1, KindText); d.S != "y" {
		t.Error("wide offsets")
	}
}

func TestDatumCodec(t *testing.T) {
	row, _ := sampleRow(t, samples)
	var b []byte
	for _, d := range row {
		b = AppendDatum(b, d)
	}
	for i, want := range row {
		var d Datum
		var err error
		if d, b, err = DecodeDatum(b); err != nil || d != want {
			t.Fatalf("%d: %v, %v; want %v", i, d, err, want)
		}
	}
	if len(b) != 0 {
		t.Error("bytes left")
	}
}

func TestBinaryRoundTrip(t *testing.T) {
	for _, s := range samples {
		d := s.datum(t)
		e, err := Receive(s.oid, -1, AppendSend(nil, s.oid, d, nil), StoredEnv)
		if err != nil || Output(s.oid, e, nil) != Output(s.oid, d, nil) {
			t.Errorf("%v: %v, %v", s, e, err)
		}
	}
}

func TestBucketText(t *testing.T) {
	for _, c := range []struct {
		oid  OID
		text string
		want string
	}{{Numeric, "1.500", "1.5"}, {Float8, "-0", "0"}, {BPChar, "a ", "a"}, {TextArray, "{a,NULL}", "{a,NULL}"},
		{TimestampTZ, "2020-01-01 00:00+01", "2019-12-31 23:00:00+00"},
		{Interval, "1 mon", "2592000000000"}, {JSONB, `{"a":1.0}`, `{"a": 1}`},
		{UUID, "A0EEBC999C0B4EF8BB6D6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}} {
		got, err := AppendBucketText(nil, c.oid, sample{c.oid, c.text}.datum(t))
		if err != nil || string(got) != c.want {
			t.Errorf("%v: %q, %v", c, got, err)
		}
	}
	if _, err := AppendBucketText(nil, JSON, NewText("{}")); err == nil {
		t.Error("json must be refused")
	}
}

func TestValidateText(t *testing.T) {
	for s, want := range map[string]string{"a\xffb": "0xff", "a\x00": "0x00", "\xc3(": "0xc3 0x28",
		"\xe2\x82": "0xe2 0x82", "ok é": ""} {
		err := ValidateText(s)
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want+" (SQLSTATE 22021)")) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestSums(t *testing.T) {
	var s IntSum
	var n, m NumericSum
	for _, v := range []int64{1 << 62, 1 << 62, 1 << 62, -5} {
		s.Add(v)
		n.Add(NewNumeric(v, 0))
	}
	m.Add(NewNumeric(25, 1))
	m.Merge(&n)
	sum, _ := m.Sum()
	if got := Output(Numeric, s.Numeric(), nil); got != "13835058055282163707" {
		t.Error(got)
	}
	if got := Output(Numeric, sum, nil); got != "13835058055282163709.5" || m.N != 5 {
		t.Error(got, m.N)
	}
}

func TestArrayOps(t *testing.T) {
	arr := func(s string) Datum { return sample{Int4Array, s}.datum(t) }
	out := func(d Datum, err error) string {
		if err != nil {
			return err.Error()
		}
		return Output(Int4Array, d, nil)
	}
	p := func(n int32) *int32 { return &n }
	var got []string
	got = append(got, out(ArraySlice(arr("{1,2,3,4}"), []*int32{p(2)}, []*int32{p(3)})),
		out(ArraySlice(arr("{{1,2},{3,4}}"), []*int32{nil, p(2)}, []*int32{p(1), nil})),
		out(ArraySlice(arr("{1}"), []*int32{p(5)}, []*int32{p(6)})),
		out(ArrayAppend(arr("[0:1]={1,2}"), Int4, NewInt(3))), out(ArrayPrepend(arr("{2}"), Int4, NewInt(1))),
		out(ArrayConcat(arr("{1,2}"), arr("{3}"))), out(ArrayConcat(arr("{{1,2}}"), arr("{3,4}"))),
		out(ArrayConcat(arr("{1,2}"), arr("{{3,4}}"))),
		out(ArrayConcat(arr("{{1,2}}"), arr("{3}"))), out(ArraySet(arr("{1,2}"), Int4, []int32{4}, NewInt(9))),
		out(ArraySet(arr("{1,2}"), Int4, []int32{-1}, NewInt(9))))
	want := []string{"{2,3}", "{{2}}", "{}", "[0:2]={1,2,3}", "{1,2}", "{1,2,3}", "{{1,2},{3,4}}", "{{1,2},{3,4}}",
		"cannot concatenate incompatible arrays (SQLSTATE 2202E): Arrays with differing dimensions are not " +
			"compatible for concatenation.", "{1,2,NULL,9}", "[-1:2]={9,NULL,1,2}"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
