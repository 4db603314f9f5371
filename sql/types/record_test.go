package types

import (
	"encoding/hex"
	"strings"
	"testing"
)

const (
	testComplex = rowTypes | 16390
	testAddress = rowTypes | 16391
)

// compositeEnv has complex (r float8, i float8) and address (at complex, lines text[], zip varchar(3)).
var compositeEnv = &Env{Attributes: func(oid OID) ([]Attribute, error) {
	if oid == testComplex {
		return []Attribute{{"r", Float8, -1}, {"i", Float8, -1}}, nil
	}
	return []Attribute{{"at", testComplex, -1}, {"lines", TextArray, -1}, {"zip", VarChar, 7}}, nil
}}

// TestCompositeText reads texts of composite types, and prints them as PostgreSQL does.
func TestCompositeText(t *testing.T) {
	for _, c := range []struct {
		oid      OID
		in, want string
	}{
		{testComplex, "(1.50,2)", "(1.5,2)"},
		{testComplex, "(,)", "(,)"},
		{testAddress, `("(1,)","{""a b"",NULL}",x)`, `("(1,)","{""a b"",NULL}",x)`},
		{testAddress, `(,{},"")`, `(,{},"")`},
		{ArrayTypeOf(testComplex), `{"(1,2)",NULL,"(,3)"}`, `{"(1,2)",NULL,"(,3)"}`},
		{testAddress, `(,{},long)`, `value too long for type character varying(3)`},
		{testComplex, `(1,2,3)`, `malformed record literal: "(1,2,3)"`},
		{testComplex, `(1,x)`, `invalid input syntax for type double precision: "x"`},
	} {
		d, err := Input(c.oid, -1, c.in, compositeEnv)
		if err != nil {
			if !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%q: %v", c.in, err)
			}
			continue
		}
		if got := Output(c.oid, d, compositeEnv); got != c.want {
			t.Errorf("%q: %q instead of %q", c.in, got, c.want)
		}
		sent, err := Receive(c.oid, -1, AppendSend(nil, c.oid, d, compositeEnv), compositeEnv)
		if err != nil || Compare(c.oid, d, sent) != 0 || Output(c.oid, sent, compositeEnv) != c.want {
			t.Errorf("%q: read from binary as %v, %v", c.in, sent, err)
		}
	}
	if _, err := Input(testComplex, -1, "(1,2)", nil); err == nil {
		t.Error("a text is read without a catalog")
	}
}

// TestCompositeValue: the stored form of a composite value does not change.
func TestCompositeValue(t *testing.T) {
	d, err := Input(testAddress, -1, `("(1,)",{a},xyz)`, compositeEnv)
	if err != nil {
		t.Fatal(err)
	}
	const want = "030006400010f1030000130400000016262902" + // three types; offsets
		"00bd020000bd02000004020808000000000000f03f" + // (1,)
		"1900000001010000000100000000016178797a"
	if got := hex.EncodeToString([]byte(d.S)); got != want {
		t.Errorf("%s instead of %s", got, want)
	}
	stored := StoredRows(compositeEnv.Attributes)
	if d, err = Input(testAddress, -1, `("(1,)")`, stored); err != nil || Output(testAddress, d, stored) != `("(1,)",,)` {
		t.Errorf("a row from before attributes were added: %v, %v", d, err)
	}
}

// TestCompositeBinary: what record_recv refuses is refused.
func TestCompositeBinary(t *testing.T) {
	for in, want := range map[string]string{
		"00000001" + "000002bd" + "ffffffff": "wrong number of columns: 1, expected 2",
		"00000002" + "00000017" + "ffffffff" + "000002bd" + "ffffffff": "binary data has type 23 (integer) instead of " +
			"expected 701 (double precision) in record column 1",
		"00000002" + "000002bd" + "00000004" + "00000000": "improper binary format in array element",
		"000000": "insufficient data left in message",
	} {
		b, _ := hex.DecodeString(in)
		if _, err := Receive(testComplex, -1, b, compositeEnv); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// FuzzComposite checks that any text and any bytes are read as a value or an error.
func FuzzComposite(f *testing.F) {
	f.Add(`("(1,)","{a}",x)`)
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := Receive(testAddress, -1, []byte(text), compositeEnv); err == nil {
			AppendKey(nil, testAddress, d, false)
			Output(testAddress, d, compositeEnv)
		}
		if ValidateText(text) != nil {
			return
		}
		d, err := Input(testAddress, -1, text, compositeEnv)
		if err != nil {
			return
		}
		out := Output(testAddress, d, compositeEnv)
		if again, err := Input(testAddress, -1, out, compositeEnv); err != nil || Compare(testAddress, d, again) != 0 {
			t.Fatalf("%q prints %q: %v", text, out, err)
		}
	})
}
