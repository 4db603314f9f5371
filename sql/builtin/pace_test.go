package builtin

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/jsonb"
	"github.com/sherddb/sherd/sql/types"
)

var errPaced = errors.New("canceled by the test")

// countedContext counts how often it is checked; it is canceled at the check after the last one
// allowed.
type countedContext struct {
	context.Context
	looks, allowed int
}

func (c *countedContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *countedContext) Err() error {
	if c.looks++; c.looks > c.allowed {
		return errPaced
	}
	return nil
}

// longCalls returns calls whose first argument is a text of 8 MB.
func longCalls() map[string][]types.Datum {
	text := types.NewText
	long := strings.Repeat("abcdefg,", 1<<20)
	numbers, _ := jsonb.Parse("[" + strings.Repeat("1234567,", 1<<20) + "1]")
	list := make([]types.Datum, 1<<20)
	for i := range list {
		list[i] = text("abcdefgh")
	}
	return map[string][]types.Datum{
		"replace_text": {text(long), text(","), text(";")}, "translate": {text(long), text("a,"), text("b")},
		"upper": {text(long)}, "lower": {text(long)}, "initcap": {text(long)}, "text_reverse": {text(long)},
		"md5_text": {text(long)}, "sha224_bytea": {types.NewBytes(long)}, "sha256_bytea": {types.NewBytes(long)},
		"sha384_bytea": {types.NewBytes(long)}, "sha512_bytea": {types.NewBytes(long)},
		"text_to_array": {text(long), text(",")}, "text_to_array_null": {text(long), types.Null, text("a")},
		"array_to_text":         {types.NewList(types.Text, list), text(",")},
		"textregexreplace":      {text(long), text("[,x]"), text("y"), text("g")},
		"regexp_match_no_flags": {text(long), text("[xyz]")}, "textregexeq": {text(long), text("[xyz]")},
		"regexp_count_no_flags":          {text(long), text(","), types.NewInt(1)},
		"regexp_split_to_array_no_flags": {text(long), text("[,x]")},
		"regexp_substr": {text(long), text("[XYZ]"), types.NewInt(1), types.NewInt(1), text("i"),
			types.NewInt(0)},
		"repeat":        {text("abc"), types.NewInt(8 << 20)},
		"lpad":          {text("a"), types.NewInt(8 << 20), text("bc")},
		"rpad":          {text("a"), types.NewInt(8 << 20), text("bc")},
		"binary_encode": {types.NewBytes(long), text("base64")}, "textpos": {text(long), text("x")},
		"split_part": {text(long), text(","), types.NewInt(1 << 20)}, "textlike": {text(long), text("%x%y_")},
		"texticlike": {text(long), text("%x%y_")}, "byteapos": {types.NewBytes(long), types.NewBytes("x")},
		"binary_decode":     {text(strings.Repeat("abcdefgh", 1<<20)), text("base64")},
		"jsonb_pretty":      {types.NewJSONB(string(numbers))},
		"jsonb_path_exists": {types.NewJSONB(string(numbers)), text("$[*] ? (@ > 1234567)")},
	}
}

// TestLongTextCanceled calls functions over long texts and checks that each checks the context at
// least once in two strides, and returns its error.
func TestLongTextCanceled(t *testing.T) {
	for name, args := range longCalls() {
		impl, ok := Lookup(name)
		if !ok {
			t.Errorf("no function %s", name)
			continue
		}
		all := &countedContext{Context: t.Context(), allowed: 1 << 30}
		if _, err := impl.Func(&Ctx{Context: all}, args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if all.looks < 4 {
			t.Errorf("%s looked at the context %d times within 8 MB", name, all.looks)
		}
		some := &countedContext{Context: t.Context(), allowed: all.looks / 2}
		if _, err := impl.Func(&Ctx{Context: some}, args); !errors.Is(err, errPaced) {
			t.Errorf("%s, canceled: got %v", name, err)
		}
	}
}

// TestLikeRegexCanceled cancels a like_regex with a back reference that would take exponential
// time.
func TestLikeRegexCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errPaced)
	impl, _ := Lookup("jsonb_path_exists_opr")
	args := []types.Datum{types.NewJSONB(string(jsonb.OfString(strings.Repeat("a", 40) + "b"))),
		types.NewText(`$ ? (@ like_regex "(a*)*\\1c")`)}
	if _, err := impl.Func(&Ctx{Context: ctx}, args); !errors.Is(err, errPaced) {
		t.Errorf("got %v", err)
	}
}

// TestTooLongText builds values beyond 1 GB, which PostgreSQL refuses.
func TestTooLongText(t *testing.T) {
	a, b := types.NewText(strings.Repeat("a", 20_000)), types.NewText(strings.Repeat("b", 100_000))
	for name, args := range map[string][]types.Datum{
		"replace_text": {a, types.NewText("a"), b}, "textregexreplace": {a, types.NewText("a"), b, types.NewText("g")},
	} {
		impl, _ := Lookup(name)
		if _, err := impl.Func(&Ctx{}, args); pgerr.Code(err) != pgerr.ProgramLimitExceeded {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestEndlessSeries cancels a series of timestamps that has no end.
func TestEndlessSeries(t *testing.T) {
	impl, _ := Lookup("generate_series_timestamp")
	day, end := types.NewInterval(0, 1, 0), types.NewTimestamp(math.MaxInt64)
	for _, start := range []types.Datum{types.NewTimestamp(0), end} {
		ctx := &countedContext{Context: t.Context(), allowed: 1000}
		err := impl.Set(&Ctx{Context: ctx}, []types.Datum{start, end, day}, func([]types.Datum) error { return nil })
		if !errors.Is(err, errPaced) {
			t.Errorf("from %d: got %v", start.N, err)
		}
	}
}
