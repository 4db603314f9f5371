package builtin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/types"
)

// TestRegexCanceled cancels a match with a back reference that would take exponential time: the
// error is the cause of the cancellation, not the engine's time-out.
func TestRegexCanceled(t *testing.T) {
	cause := errors.New("canceled by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	impl, _ := Lookup("textregexeq")
	a := []types.Datum{types.NewText(strings.Repeat("a", 40) + "b"), types.NewText(`(a*)*\1c`)}
	if _, err := impl.Func(&Ctx{Context: ctx}, a); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	ok, err := impl.Func(&Ctx{Context: t.Context()}, []types.Datum{types.NewText("abab"), types.NewText(`^(ab)\1$`)})
	if err != nil || !ok.Bool() {
		t.Errorf("a match that is not canceled: %v, %v", ok.Bool(), err)
	}
	many := []types.Datum{types.NewText(strings.Repeat("ab", 1<<20)), types.NewText("a"), types.NewText("c"),
		types.NewText("g")}
	replace, _ := Lookup("textregexreplace")
	if _, err := replace.Func(&Ctx{Context: ctx}, many); !errors.Is(err, cause) {
		t.Errorf("a replacement of many matches: got %v", err)
	}
}
