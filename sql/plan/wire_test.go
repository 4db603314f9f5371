package plan_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/outline"
	"github.com/sherddb/sherd/sql/plan/wire"
)

// TestPlansSent sends every plan of the golden files, and those of the statements of answers.sql,
// as to another node: EXPLAIN says the same of what comes out, and its bytes are the same again.
// They are those that the protobuf library writes by plan.proto.
func TestPlansSent(t *testing.T) {
	ctx, sent := testContext(t), 0
	message := dynamicpb.NewMessage(planMessage(t))
	for _, text := range goldenStatements(t) {
		_, p, err := build(ctx, text)
		if err != nil {
			continue
		}
		b, err := wire.Encode(p.Root)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		n, err := wire.Decode(ctx.Catalog, b)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		sent++
		must(t, proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(b, message))
		known, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
		if err != nil || !bytes.Equal(known, b) {
			t.Errorf("%s: its bytes are not those of plan.proto (%v)", text, err)
		}
		notes := outline.Notes{Route: routeText}
		want := outline.Of(p, notes).Text()
		if got := outline.Of(&plan.Plan{Root: n, Outers: p.Outers}, notes).Text(); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\n-- sent as\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if again, err := wire.Encode(n); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: sent again it is another plan (%v)", text, err)
		}
	}
	if sent < 200 {
		t.Errorf("only %d plans were sent", sent)
	}
}

// planMessage is the message of plans, as the protobuf library reads it in plan.proto.
func planMessage(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	source := &protocompile.SourceResolver{ImportPaths: []string{"wire"}}
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(source)}
	files, err := c.Compile(t.Context(), "plan.proto")
	must(t, err)
	return files[0].Messages().ByName("Plan")
}

// goldenEntries are the statements of a file of golden plans.
func goldenEntries(t *testing.T, file string) []string {
	raw, err := os.ReadFile(file)
	must(t, err)
	var out []string
	for _, entry := range strings.Split(string(raw), "\n\n") {
		for _, line := range strings.Split(entry, "\n") {
			if !strings.HasPrefix(line, "#") {
				out = append(out, line)
				break
			}
		}
	}
	return out
}
