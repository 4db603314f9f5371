package pattern

import "testing"

func TestLikePrefix(t *testing.T) {
	for pattern, want := range map[string]string{
		"": "", "abc": "abc", "abc%": "abc", "a_c": "a", "%": "", `a\_c%`: "a_c", `a\\%`: `a\`, `ab\`: "ab",
	} {
		if got := LikePrefix(pattern); got != want {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
}

func TestRegexPrefix(t *testing.T) {
	for pattern, want := range map[string]string{
		"abc": "", "^abc": "abc", "^abc*": "ab", "^ab.c": "ab", "^a|b": "", "^": "", "^é?x": "", "^abc$": "abc", "^a{2}": "",
	} {
		if got := RegexPrefix(pattern); got != want {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
}
