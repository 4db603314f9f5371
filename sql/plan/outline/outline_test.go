package outline

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sherddb/sherd/sql/plan"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files; read them before they are kept")

// example is a plan with every kind of property.
func example() *Outline {
	scan := step("Seq Scan", Property{Key: "Filter", Value: `(("a\b" < 'x' || chr(9)) AND (n > 1))`}).
		titled("Seq Scan on t").on("Relation Name", "t").on("Alias", "t")
	scan.Relation = "Outer"
	scan.Estimate = &plan.Estimate{Rows: 333.3, Width: 36.5, Total: 1000}
	scan.Actual = &Actual{
		Loops: 3, Rows: 10, Startup: 3 * time.Millisecond, Total: 30 * time.Millisecond, Timed: true,
	}
	never := step("Result", Property{Key: "One-Time Filter", Value: "false"})
	never.Label, never.Relation, never.Actual = "InitPlan 1 (returns $0)", "InitPlan", &Actual{}
	root := step("Sort", Property{Key: "Sort Key", Value: []string{"a", `"B" DESC`}}).
		titled("Top-N Sort").works("Strategy", "Top-N")
	root.Estimate = &plan.Estimate{Rows: 10, Width: 36.5, Startup: 1999.6, Total: 2000}
	root.Properties = append(root.Properties,
		Property{Key: "Route", Value: "fragments: a", In: Structured}, Property{Key: "Hint", Value: "text", In: OnlyText},
		Property{Key: "Fragments", Text: []string{"a: 1", "b: 2"}, Value: Objects{"Fragment", []Object{
			{{Key: "Rows Read", Value: int64(1)}}, {{Key: "Rows Read", Value: int64(2)}, {Key: "Whole", Value: true}},
		}}})
	root.Inputs = []*Step{never, scan}
	return &Outline{Root: root, Properties: []Property{
		{Key: "Settings", Value: Object{{Key: "work_mem", Value: "4MB"}}, Text: []string{"Settings: work_mem = '4MB'"}},
		{Key: "Planning Time", Value: Milliseconds(1234567), Text: []string{"Planning Time: 1.235 ms"}},
	}}
}

// TestForms prints one plan in every form. The layouts are those of PostgreSQL 15.
func TestForms(t *testing.T) {
	o := example()
	for file, got := range map[string]string{
		"plan.txt": strings.Join(o.Text(), "\n"), "plan.json": o.JSON(), "plan.yaml": o.YAML(), "plan.xml": o.XML(),
	} {
		file = "testdata/" + file
		if *rewrite {
			if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got+"\n" != string(want) {
			t.Errorf("%s:\n%s\n-- want:\n%s", file, got, want)
		}
	}
	var plans []struct {
		Plan map[string]any
	}
	if err := json.Unmarshal([]byte(o.JSON()), &plans); err != nil || plans[0].Plan["Node Type"] != "Sort" {
		t.Errorf("no JSON: %v, %v", plans, err)
	}
	for d := xml.NewDecoder(strings.NewReader(o.XML())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("no XML: %v", err)
		}
	}
}
