package sql

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/types"
)

// explainOptions are the options of EXPLAIN.
type explainOptions struct {
	analyze bool
	timing  bool
	summary bool
}

func readExplainOptions(n *pg_query.ExplainStmt) (explainOptions, error) {
	o := explainOptions{timing: true}
	for _, x := range n.Options {
		d := x.GetDefElem()
		on := true
		if d.Arg != nil {
			v := explainValue(d.Arg)
			if b, ok := settings.ParseBool(v); ok {
				on = b
			} else if d.Defname != "format" {
				return o, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", d.Defname)
			} else if !strings.EqualFold(v, "text") {
				return o, pgerr.Unsupported("EXPLAIN (FORMAT %s) is not supported yet", strings.ToUpper(v)).
					WithHint("Use FORMAT TEXT.")
			}
		}
		switch d.Defname {
		case "analyze":
			o.analyze = on
		case "timing":
			o.timing = on
		case "summary":
			o.summary = on
		case "verbose", "costs", "buffers", "wal", "settings", "format", "generic_plan", "memory", "serialize":
		default:
			return o, pgerr.New(pgerr.SyntaxError, `unrecognized EXPLAIN option "%s"`, d.Defname)
		}
	}
	return o, nil
}

// explainValue returns the text of an option's value: a word or text is a String, a number an
// Integer or Float.
func explainValue(arg *pg_query.Node) string {
	switch v := arg.GetNode().(type) {
	case *pg_query.Node_String_:
		return v.String_.GetSval()
	case *pg_query.Node_Integer:
		return formatInt(int64(v.Integer.GetIval()))
	case *pg_query.Node_Float:
		return v.Float.GetFval()
	}
	return ""
}

// explain runs EXPLAIN: it returns the plan as text, with the fragments and buckets that each step
// reaches. With ANALYZE it runs the plan too.
func (s *Session) explain(ctx context.Context, st parse.Statement, n *pg_query.ExplainStmt, w stmt.ResultWriter) error {
	o, err := readExplainOptions(n)
	if err != nil {
		return err
	}
	inner := parse.Statement{Node: n.Query, Source: st.Source, Start: st.Start, End: st.End}
	var args []types.Datum
	var p *stmt.Program
	if ex := n.Query.GetExecuteStmt(); ex != nil {
		p, args, err = s.executed(ctx, ex)
	} else if !parse.IsQuery(n.Query) {
		return pgerr.Unsupported("EXPLAIN of %s is not supported yet", parse.Name(n.Query))
	} else {
		p, args, err = s.containedProgram(ctx, inner)
	}
	if err != nil {
		return err
	}
	if s.block.Tx == nil {
		s.block.Begin()
	}
	if p, err = s.settle(ctx, p); err != nil {
		return err
	}
	lines, err := s.explained(ctx, p, args, o)
	if err != nil {
		return err
	}
	if err := s.sendNotices(w); err != nil {
		return err
	}
	if err := w.Describe([]stmt.Column{textColumn("QUERY PLAN")}); err != nil {
		return err
	}
	for _, l := range lines {
		if err := w.Row([]types.Datum{types.NewText(l)}); err != nil {
			return err
		}
	}
	return w.Complete("EXPLAIN")
}

func (s *Session) explained(
	ctx context.Context, p *stmt.Program, args []types.Datum, o explainOptions,
) ([]string, error) {
	if p.Plan.Failing != nil {
		return nil, p.Plan.Failing
	}
	args, err := s.withCurrent(p.Query, args)
	if err != nil {
		return nil, err
	}
	if o.analyze {
		if err := s.block.Tx.ReadPastAsSet(); err != nil {
			return nil, err
		}
	}
	if err := s.block.Tx.ConsiderReplicas(p.Reading()); err != nil {
		return nil, err
	}
	defer func() { s.block.Tx.Near = false }()
	s.running = ctx
	x := s.executor(ctx)
	c := x.Context(ctx, s.block.Tx.Tx, args)
	if c.Part, err = s.part(p); err != nil {
		return nil, err
	}
	c.Partial = s.partial(p, opening{})
	notes := plan.Notes{
		Route: func(r *plan.Route) string { return s.explainRoute(c, r) },
		Index: func(x *plan.IndexScan) string { return s.explainIndex(c, x) },
		Part:  func(n *plan.Gather) []string { return s.explainPart(c, n) },
		Env:   s.Env(),
	}
	var footer []string
	if o.analyze {
		if p.Writes && s.block.Tx.IsReadOnly() {
			return nil, s.block.Tx.ReadOnlyError(commandName(p.Query.Command))
		}
		c.Analyze, c.Before = &exec.Analysis{}, s.block.Tx.Parts.Mark()
		c.Deferred = s.block.Tx.Constraints.DeferredUniques(p)
		start := time.Now()
		rows := 0
		if p, err = x.Perform(s.block.Tx.Tx, p, c, func([]types.Datum) error { rows++; return nil }); err != nil {
			return nil, err
		}
		if err := s.block.Tx.Constraints.AfterStatement(&x, p, c); err != nil {
			return nil, err
		}
		s.block.Tx.Used = true
		footer = append(footer, fmt.Sprintf("Rows: %d", max(int64(rows), c.Affected)))
		if o.timing {
			footer = append(footer, fmt.Sprintf("Execution Time: %.3f ms", time.Since(start).Seconds()*1000))
		}
		notes.Measured = func(n plan.Node) (string, []string) { return "", s.measured(c.Analyze.Of(n), o.timing) }
	}
	return append(plan.Explain(p.Plan, notes), footer...), nil
}

// measured returns lines with what each fragment did for a step.
func (s *Session) measured(work []exec.FragmentWork, timing bool) []string {
	var out []string
	for _, f := range work {
		line := fmt.Sprintf("%s: read %d rows, sent %d rows, %d bytes", s.block.Tx.Gateway.Name(f.Fragment), f.Rows,
			f.Sent, f.Bytes)
		if timing {
			line += fmt.Sprintf(", %.3f ms", f.Elapsed.Seconds()*1000)
		}
		if f.Loops > 1 {
			line += fmt.Sprintf(", %d loops", f.Loops)
		}
		out = append(out, line+", node "+cmp.Or(f.Node, s.db.cfg.NodeName))
	}
	return out
}

// explainRoute returns the fragments and buckets of a route, if they are known before the statement
// runs.
func (s *Session) explainRoute(c *exec.Ctx, r *plan.Route) string {
	m := s.block.Tx.Gateway.Map
	set, known, err := exec.RouteBuckets(c, r)
	switch {
	case err != nil || !known && c.Part == nil:
		return fmt.Sprintf("fragments: by the row, of %d", len(m.Fragments()))
	case !known:
		return fmt.Sprintf("fragments: by the row, of %d", len(m.Split(set)))
	}
	if r.Table != nil && len(r.Table.Segments) > 0 && !set.IsEmpty() {
		return s.fragmentsText(set) + "; segments: " + segmentsText(r.Table, set)
	}
	return s.placesText(set)
}

// explainPart returns lines with the settings that narrow what a Gather reads, or may narrow it.
func (s *Session) explainPart(c *exec.Ctx, n *plan.Gather) (lines []string) {
	if exec.Whole(n) {
		return nil
	}
	if c.Part != nil {
		v, _ := s.vars.Get(settings.Fragment)
		lines = append(lines, "Restricted to: "+v+"  ("+settings.Fragment+")")
	}
	if c.Partial != nil {
		lines = append(lines, "May lack: fragments that cannot be reached  ("+partialSetting+")")
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

// explainIndex returns a line with the entries that a lookup in a global index reads.
func (s *Session) explainIndex(c *exec.Ctx, x *plan.IndexScan) string {
	set, known := exec.IndexBuckets(c, x)
	if !known {
		return "fragment: by the value"
	}
	return s.placesText(set)
}

func (s *Session) placesText(set shardmap.BucketSet) string {
	if set.IsEmpty() {
		return "fragments: none"
	}
	return s.fragmentsText(set) + "; buckets: " + bucketsText(set)
}

func (s *Session) fragmentsText(set shardmap.BucketSet) string {
	var names []string
	for _, sh := range s.block.Tx.Gateway.Map.Split(set) {
		names = append(names, s.block.Tx.Gateway.Name(sh.Fragment))
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
