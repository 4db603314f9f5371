package scenario

import (
	"slices"
	"testing"
)

func TestRows(t *testing.T) {
	for _, x := range []struct {
		values [][]byte
		want   string
	}{
		{nil, "()"},
		{[][]byte{nil}, "NULL"},
		{[][]byte{{}, []byte("x")}, "''|x"},
		{[][]byte{[]byte("a|b\n\\")}, `a\|b\n\\`},
	} {
		a := &answer{}
		a.row(x.values)
		if got := a.String(); got != x.want {
			t.Errorf("%q: %s, want %s", x.values, got, x.want)
		}
	}
}

func TestMasked(t *testing.T) {
	const text = "changed by transaction 117 at 2026-11-26 22:46:01.123456Z+3, after 2026-11-26T22:46:00Z."
	const want = "changed by transaction N at TIME, after TIME."
	if got := masked(text); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if text := "Key (id)=(117) of transaction x"; masked(text) != text {
		t.Error(masked(text))
	}
}

func TestLines(t *testing.T) {
	p := &player{values: map[string]string{"x": "17"}}
	got := p.lines("SELECT {x}\n  FROM t\n-- a comment\n\nSELECT '{y}'")
	if want := []string{"SELECT 17\n  FROM t", "SELECT '{y}'"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
