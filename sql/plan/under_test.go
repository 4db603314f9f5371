package plan

import "testing"

func TestCommonStart(t *testing.T) {
	for _, x := range []struct {
		lo, hi    string
		inclusive bool
		want      string
	}{
		{"eu/", "eu0", false, "eu/"},
		{"eu/", "eu0", true, "eu"},
		{"eu/", "eu/zz", true, "eu/"},
		{"eu/a", "eu/b", false, "eu/a"},
		{"eu/a", "eu/c", false, "eu/"},
		{"a", "c", false, ""},
		{"", "c", false, ""},
		{"b", "a", false, "b"}, // nothing is between them
		{"a\xff", "b", false, "a"},
	} {
		if got := CommonStart(x.lo, x.hi, x.inclusive); got != x.want {
			t.Errorf("from %q to %q, %v: %q, want %q", x.lo, x.hi, x.inclusive, got, x.want)
		}
	}
}
