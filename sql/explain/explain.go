package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/operator"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/outline"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/sql/types"
)

// Explanation explains a program in a transaction.
type Explanation struct {
	Options
	Tx       *txblock.Transaction
	Executor *stmt.Executor
	NodeName string        // of the gateway
	Fragment string        // sherd.fragment
	Settings [][2]string   // names and values of those that EXPLAIN (SETTINGS) shows
	Planning time.Duration // what it took to get the program
}

// Rows returns the rows of EXPLAIN for a program: its plan, with the fragments and buckets that each
// step reaches. With ANALYZE it runs the program too. c is the context of a statement that runs the
// program.
func (x *Explanation) Rows(p *stmt.Program, c *exec.Ctx) ([]string, error) {
	notes := outline.Notes{
		Route: func(r *plan.Route) string { return x.route(c, r) },
		Index: func(i *plan.IndexScan) string { return x.index(c, i) },
		Part:  func(n *plan.Gather) []outline.Property { return x.part(c, n) },
		Env:   x.Executor.Values, Costs: x.Costs, Verbose: x.Verbose,
	}
	var footer []outline.Property
	if x.Analyze {
		var err error
		var steps bool
		if p, footer, steps, err = x.run(p, c); err != nil {
			return nil, err
		}
		m := &measurements{Explanation: x, from: c.Analyze, steps: steps}
		notes.Measured = m.of
	}
	out := outline.Of(p.Plan, notes)
	out.Properties = append(x.header(), footer...)
	switch x.Format {
	case JSON:
		return []string{out.JSON()}, nil
	case YAML:
		return []string{out.YAML()}, nil
	case XML:
		return []string{out.XML()}, nil
	}
	return out.Text(), nil
}

// header returns what is said below the plan whether it runs or not.
func (x *Explanation) header() (out []outline.Property) {
	if x.Options.Settings && (len(x.Settings) > 0 || x.Format != Text) {
		var list outline.Object
		var words []string
		for _, s := range x.Settings {
			list = append(list, outline.Property{Key: s[0], Value: s[1]})
			words = append(words, fmt.Sprintf("%s = '%s'", s[0], s[1]))
		}
		out = append(out, outline.Property{
			Key: "Settings", Value: list, Text: []string{"Settings: " + strings.Join(words, ", ")},
		})
	}
	if x.Summary {
		out = append(out, elapsed("Planning Time", x.Planning))
	}
	return out
}

func elapsed(key string, d time.Duration) outline.Property {
	ms := outline.Milliseconds(d)
	return outline.Property{Key: key, Value: ms, Text: []string{fmt.Sprintf("%s: %s ms", key, ms)}}
}

// run runs a program, and returns its form that has run, what is said of the run below its plan, and
// whether its steps were measured.
func (x *Explanation) run(p *stmt.Program, c *exec.Ctx) (
	_ *stmt.Program, footer []outline.Property, steps bool, err error,
) {
	t := x.Tx
	if p.WritesShared() && t.IsReadOnly() {
		return nil, nil, false, t.ReadOnlyError(p.Query.Command.String())
	}
	measure := operator.Counted
	if x.Timing {
		measure = operator.Timed
	}
	measured := *p
	if measured.Exec, err = exec.CompileMeasured(p.Plan, measure); err != nil {
		return nil, nil, false, err
	}
	c.Analyze, c.Before = &exec.Analysis{}, t.Parts.Mark()
	start := time.Now()
	rows := 0
	ran, err := t.Constraints.Perform(x.Executor, &measured, c, func([]types.Datum) error { rows++; return nil })
	if err != nil {
		return nil, nil, false, err
	}
	t.Used = true
	footer = []outline.Property{{Key: "Rows", Value: max(int64(rows), c.Affected)}}
	if x.Summary {
		footer = append(footer, elapsed("Execution Time", time.Since(start)))
	}
	return ran, footer, ran == &measured, nil
}

// route returns the fragments and buckets of a route, if they are known before the statement
// runs.
func (x *Explanation) route(c *exec.Ctx, r *plan.Route) string {
	if r.Table != nil && r.Table.IsTemporary() {
		return "fragment: " + catalog.TemporarySchema
	}
	m := x.Tx.Gateway.Map
	set, known, err := exec.RouteBuckets(c, r)
	switch {
	case err != nil || !known && c.Part == nil:
		return fmt.Sprintf("fragments: by the row, of %d", len(m.Fragments()))
	case !known:
		return fmt.Sprintf("fragments: by the row, of %d", len(m.Split(set)))
	}
	if r.Table != nil && len(r.Table.Segments) > 0 && !set.IsEmpty() {
		return x.fragments(set) + "; segments: " + segmentsText(r.Table, set)
	}
	return x.places(set)
}

// part returns the settings that narrow what a Gather reads, or may narrow it.
func (x *Explanation) part(c *exec.Ctx, n *plan.Gather) (out []outline.Property) {
	if exec.Whole(n) {
		return nil
	}
	if c.Part != nil {
		out = append(out, outline.Property{Key: "Restricted to", Value: x.Fragment + "  (" + settings.Fragment + ")"})
	}
	if c.Partial != nil {
		lacks := "fragments that cannot be reached  (" + settings.AllowPartial + ")"
		out = append(out, outline.Property{Key: "May lack", Value: lacks})
	}
	return out
}

// segmentsText returns the segments of a range table in set, by their keys.
func segmentsText(t *catalog.Table, set shardmap.BucketSet) string {
	names := sysview.SegmentNames(t, set)
	switch {
	case len(names) == len(t.Segments):
		return "all"
	case len(names) > maxBucketsShown:
		return fmt.Sprintf("%d of %d", len(names), len(t.Segments))
	}
	return strings.Join(names, ", ")
}

// index returns a line with the entries that a lookup in a global index reads.
func (x *Explanation) index(c *exec.Ctx, i *plan.IndexScan) string {
	if i.Table.IsTemporary() {
		return "fragment: " + catalog.TemporarySchema
	}
	set, known := exec.IndexBuckets(c, i)
	if !known {
		return "fragment: by the value"
	}
	return x.places(set)
}

func (x *Explanation) places(set shardmap.BucketSet) string {
	if set.IsEmpty() {
		return "fragments: none"
	}
	return x.fragments(set) + "; buckets: " + bucketsText(set)
}

func (x *Explanation) fragments(set shardmap.BucketSet) string {
	var names []string
	for _, sh := range x.Tx.Gateway.Map.Split(set) {
		names = append(names, x.Tx.Gateway.Name(sh.Fragment))
	}
	return "fragments: " + strings.Join(names, ", ")
}

// maxBucketsShown bounds the intervals that EXPLAIN lists.
const maxBucketsShown = 8

func bucketsText(set shardmap.BucketSet) string {
	if set.IsAll() {
		return "all"
	}
	ivs := set.Intervals()
	if len(ivs) > maxBucketsShown {
		return fmt.Sprintf("%d in %d ranges", set.Len(), len(ivs))
	}
	return set.String()
}
