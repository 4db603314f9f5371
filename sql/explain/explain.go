package explain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/sql/types"
)

// Columns are the columns of the rows that EXPLAIN returns: one line of text each.
var Columns = []stmt.Column{stmt.TextColumn("QUERY PLAN")}

// Explanation explains a program in a transaction.
type Explanation struct {
	Options
	Tx       *txblock.Transaction
	Executor *stmt.Executor
	NodeName string // of the gateway
	Fragment string // sherd.fragment
}

// Lines returns the plan of a program as text, with the fragments and buckets that each step
// reaches. With ANALYZE it runs the program too. c is the context of a statement that runs the
// program.
func (x *Explanation) Lines(p *stmt.Program, c *exec.Ctx) ([]string, error) {
	notes := plan.Notes{
		Route: func(r *plan.Route) string { return x.route(c, r) },
		Index: func(i *plan.IndexScan) string { return x.index(c, i) },
		Part:  func(n *plan.Gather) []string { return x.part(c, n) },
		Env:   x.Executor.Values,
	}
	if !x.Analyze {
		return plan.Explain(p.Plan, notes), nil
	}
	p, footer, err := x.run(p, c)
	if err != nil {
		return nil, err
	}
	notes.Measured = func(n plan.Node) (string, []string) { return "", x.measured(c.Analyze.Of(n)) }
	return append(plan.Explain(p.Plan, notes), footer...), nil
}

// run runs a program and returns the lines below its plan.
func (x *Explanation) run(p *stmt.Program, c *exec.Ctx) (*stmt.Program, []string, error) {
	t := x.Tx
	if p.Writes && t.IsReadOnly() {
		return nil, nil, t.ReadOnlyError(p.Query.Command.String())
	}
	c.Analyze, c.Before = &exec.Analysis{}, t.Parts.Mark()
	c.Deferred = t.Constraints.DeferredUniques(p)
	start := time.Now()
	rows := 0
	p, err := x.Executor.Perform(t.Tx, p, c, func([]types.Datum) error { rows++; return nil })
	if err != nil {
		return nil, nil, err
	}
	if err := t.Constraints.AfterStatement(x.Executor, p, c); err != nil {
		return nil, nil, err
	}
	t.Used = true
	footer := []string{fmt.Sprintf("Rows: %d", max(int64(rows), c.Affected))}
	if x.Timing {
		footer = append(footer, fmt.Sprintf("Execution Time: %.3f ms", time.Since(start).Seconds()*1000))
	}
	return p, footer, nil
}

// measured returns lines with what each fragment did for a step.
func (x *Explanation) measured(work []exec.FragmentWork) []string {
	var out []string
	for _, f := range work {
		line := fmt.Sprintf("%s: read %d rows, sent %d rows, %d bytes", x.Tx.Gateway.Name(f.Fragment), f.Rows,
			f.Sent, f.Bytes)
		if x.Timing {
			line += fmt.Sprintf(", %.3f ms", f.Elapsed.Seconds()*1000)
		}
		if f.Loops > 1 {
			line += fmt.Sprintf(", %d loops", f.Loops)
		}
		out = append(out, line+", node "+cmp.Or(f.Node, x.NodeName))
	}
	return out
}

// route returns the fragments and buckets of a route, if they are known before the statement
// runs.
func (x *Explanation) route(c *exec.Ctx, r *plan.Route) string {
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

// part returns lines with the settings that narrow what a Gather reads, or may narrow it.
func (x *Explanation) part(c *exec.Ctx, n *plan.Gather) (lines []string) {
	if exec.Whole(n) {
		return nil
	}
	if c.Part != nil {
		lines = append(lines, "Restricted to: "+x.Fragment+"  ("+settings.Fragment+")")
	}
	if c.Partial != nil {
		lines = append(lines, "May lack: fragments that cannot be reached  ("+settings.AllowPartial+")")
	}
	return lines
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
