package regexrun

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var errCause = errors.New("canceled by the test")

// TestFindAsGo compares the search of a long text, which reads it character by character, with that
// of Go's engine.
func TestFindAsGo(t *testing.T) {
	text := strings.Repeat("ab ", 500_000) + "éneedle xyz" + strings.Repeat(" cd", 200_000)
	for _, pattern := range []string{
		"needle", `(n)(e+)(x)?`, `\bxyz\b`, `z(?: cd)+$`, "absent", "^ab", "^b", "(?i)NEEDLE", ".eedle", "cd$",
	} {
		re := regexp.MustCompile(pattern)
		ctx, cancel := context.WithCancelCause(t.Context())
		got, err := Find(ctx, re, text, pattern[0] != '^')
		if want := re.FindStringSubmatchIndex(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v, want %v", pattern, got, err, want)
		}
		cancel(errCause)
		if _, err = Find(ctx, regexp.MustCompile("z(a)*[^a]{3}$"), text, true); !errors.Is(err, errCause) {
			t.Errorf("canceled: got %v", err)
		}
	}
}

func TestIndex(t *testing.T) {
	text := strings.Repeat("a", 3*short) + "b" + strings.Repeat("c", short)
	ctx, cancel := context.WithCancelCause(t.Context())
	for _, sub := range []string{"b", "ab", "abc", "", "d", "bc", strings.Repeat("a", short) + "b", text, text + "x"} {
		if got, err := Index(ctx, text, sub); err != nil || got != strings.Index(text, sub) {
			t.Errorf("%.5q: got %d, %v, want %d", sub, got, err, strings.Index(text, sub))
		}
	}
	cancel(errCause)
	if got, err := Index(ctx, text, "b"); got != -1 || !errors.Is(err, errCause) {
		t.Errorf("canceled: got %d, %v", got, err)
	}
}

// TestBacktrackPanics: a panic of the engine reaches the caller, which can recover.
func TestBacktrackPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the caller does not hear of a panic")
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, _ = Backtrack(ctx, nil, []rune("text"), 0)
}
