package plan_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/outline"
)

// TestMethods runs testdata/answers.sql with methods of the planner switched off: the rows are those
// of PostgreSQL, and each method alone changes a plan.
func TestMethods(t *testing.T) {
	statements := statementsOf(t, "testdata/answers.sql")
	raw, err := os.ReadFile("testdata/answers.golden")
	must(t, err)
	want := strings.Split(string(raw), separator)
	ctx := testContext(t)
	for _, names := range switchedOff() {
		t.Run(strings.Join(names, " "), func(t *testing.T) {
			var off plan.Methods
			for _, name := range names {
				reflect.ValueOf(&off).Elem().FieldByName(name).SetBool(true)
			}
			change := func(env *plan.Env) { env.Off = off }
			d, changed := openDatabase(t, 2), 0
			for i, text := range statements {
				got := text + "\n" + d.answer(ctx, text, change)
				if strings.TrimSpace(want[i]) != strings.TrimSpace(got) {
					t.Errorf("%s\n-- PostgreSQL:\n%s", got, want[i])
				}
				_, usual, err := build(ctx, text)
				_, other, otherErr := build(ctx, text, change)
				if err == nil && otherErr == nil && !slices.Equal(described(usual), described(other)) {
					changed++
				}
			}
			if changed == 0 {
				t.Error("no plan is another one")
			}
		})
	}
}

func described(p *plan.Plan) []string { return outline.Of(p, outline.Notes{}).Text() }

// switchedOff lists each method alone, and some together.
func switchedOff() (out [][]string) {
	methods := reflect.TypeFor[plan.Methods]()
	for i := range methods.NumField() {
		out = append(out, []string{methods.Field(i).Name})
	}
	return append(out,
		[]string{"HashJoin", "LookupJoin"}, []string{"HashJoin", "NestLoop", "LookupJoin"},
		[]string{"SeqScan", "Sort"}, []string{"IndexScan", "KeyLookup"}, []string{"LocalJoin", "LocalAggregate"},
	)
}
