package builtin

import (
	"testing"

	"github.com/sherddb/sherd/sql/types"
)

// FuzzRegex checks that no expression makes the translation or the engines panic, and that a match
// lies within the text.
func FuzzRegex(f *testing.F) {
	for _, seed := range []string{`a(b|c)*?d{2,3}`, `^\m[[:alpha:]-]+\M$`, `(a)\1(?=x)`, `***=a*`, `(?x) a # b`,
		`[^]\w]`, `\`, `{1}`} {
		f.Add(seed, "abcd abcdd äö")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if types.ValidateText(pattern) != nil || types.ValidateText(text) != nil || len(pattern) > 64 ||
			len(text) > 64 {
			return
		}
		re, err := compileRegex(pattern, regexFlags{})
		if err != nil {
			return
		}
		loc, err := re.find(&Ctx{}, text, 0)
		if err == nil && loc != nil && (loc[0] < 0 || loc[1] < loc[0] || loc[1] > len(text)) {
			t.Fatalf("%q in %q: %v", pattern, text, loc)
		}
	})
}

// FuzzTemplates checks that no template makes to_char or its inverse panic.
func FuzzTemplates(f *testing.F) {
	for _, seed := range []string{"YYYY-MM-DD HH24:MI:SS.US", `FMDay "x" DDth`, "S999,990.99PR", "9.99EEEE", "FMRN",
		"Y,YYY TZH"} {
		f.Add(seed, "2020-03-05 14:05:06.7")
	}
	f.Fuzz(func(t *testing.T, template, text string) {
		c := &Ctx{Env: &types.Env{}}
		_, _ = timestampToChar(c, []types.Datum{types.NewTimestamp(636_000_000_123_456), types.NewText(template)})
		_, _ = formatNumber(types.NewNumeric(-1234567, 3), template)
		_, _ = toTimestamp(c, []types.Datum{types.NewText(text), types.NewText(template)})
	})
}

// BenchmarkAggregates measures a step of the hot aggregates.
func BenchmarkAggregates(b *testing.B) {
	args := []types.Datum{types.NewInt(42)}
	c := &Ctx{}
	for _, name := range []string{"count(2276)", "sum(23)", "sum(20)", "max(23)"} {
		b.Run(name, func(b *testing.B) {
			s := aggregates[name].New([]uint32{types.Int4}, types.Int8)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Step(c, args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
