package types

import "testing"

// The printed form of a key at which a segment begins is read back as the same key, whatever texts
// the key contains.
func TestSplitKeysText(t *testing.T) {
	one := []KeyColumn{{"id", Text, -1}}
	two := []KeyColumn{{"a", Text, -1}, {"n", Int4, -1}}
	key := func(columns []KeyColumn, values ...string) (out []byte) {
		for i, v := range values {
			d, err := Input(columns[i].Type, -1, v, nil)
			if err != nil {
				t.Fatal(err)
			}
			out = AppendKey(out, columns[i].Type, d, false)
		}
		return out
	}
	for _, x := range []struct {
		columns []KeyColumn
		key     []byte
		want    string
	}{
		{one, key(one, "eu/"), "{eu/}"},
		{one, key(one, `a,"b"`), `{"a,\"b\""}`},
		{one, key(one, " x"), ""},
		{one, key(one, `key:\x61`), ""},
		{one, []byte{0x61, 0xff}, ""},
		{two, key(two, "m", "7"), "{m/7}"},
		{two, key(two, "m/n", "7"), ""},
		{two, key(two, "m/n"), ""},
		{two, key(two, "m"), "{m}"},
	} {
		text := splitKeysText(x.columns, [][]byte{x.key})
		if x.want != "" && text != x.want {
			t.Errorf("%x is printed as %s, want %s", x.key, text, x.want)
		}
		v, err := Input(ArrayTypeOf(Text), -1, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := ArrayOf(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseSplitKey(x.columns, a.Elems()[0].S, nil)
		if err != nil || string(got) != string(x.key) {
			t.Errorf("%s is read as %x, %v, want %x", text, got, err, x.key)
		}
	}
	if _, err := ParseSplitKey(one, `key:\x6`, nil); err == nil {
		t.Error("half a byte is a key")
	}
}
