package scramsecret

import (
	"strings"
	"testing"
)

// The verifier of "pencil" with the salt of RFC 7677; its server signature is checked by the
// exchange in pgwire's tests.
func TestParseReadsWhatMakeWrites(t *testing.T) {
	for _, password := range []string{"pencil", "", "pässwörd", "\u0007bell"} {
		v, err := Make(password)
		if err != nil {
			t.Fatalf("Make(%q): %v", password, err)
		}
		c, err := Parse(v)
		if err != nil {
			t.Fatalf("Parse(%q): %v", v, err)
		}
		if format(c) != v {
			t.Errorf("%q reads as %q", v, format(c))
		}
		if !Matches(v, password) || Matches(v, password+"x") || Matches("", password) {
			t.Errorf("%q is taken for another password's, or not for its own", v)
		}
		again, err := derive(password, c.Salt)
		if err != nil || again != v {
			t.Errorf("the same salt gives %q, not %q (%v)", again, v, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	good, err := Make("x")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "secret", "md5aabbcc", prefix, strings.Replace(good, "4096", "0", 1),
		strings.Replace(good, "4096", "x", 1), good[:len(good)-8], good + ":AAAA",
	} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was taken for a verifier", bad)
		}
	}
}

func TestMockIsSteadyAndSecret(t *testing.T) {
	a, b, other := Mock([]byte("n"), "bob"), Mock([]byte("n"), "bob"), Mock([]byte("m"), "bob")
	if format(a) != format(b) {
		t.Error("the same name gives two salts")
	}
	if format(a) == format(other) {
		t.Error("the salt does not depend on the server's secret")
	}
}
