package explain

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/outline"
)

// measurements are what a run has measured. It is asked for a step before those below it.
type measurements struct {
	*Explanation
	from    *exec.Analysis
	steps   bool               // what steps did is known
	unknown map[plan.Node]bool // steps that ran in part on other nodes
}

// of returns what was measured of a step.
func (x *measurements) of(n plan.Node) outline.Measured {
	done := x.from.Of(n)
	out := outline.Measured{Work: x.work(done)}
	if m, ok := n.(*plan.Merge); ok {
		out.Work = append(merged(x.from.MergedBy(m)), out.Work...)
	}
	for _, f := range done {
		if f.Node != "" && f.Node != x.NodeName {
			x.lacks(n.Children())
			break
		}
	}
	if !x.steps || x.unknown[n] {
		return out
	}
	s := x.from.Steps.Of(n)
	out.Actual = &outline.Actual{
		Loops: s.Loops, Rows: s.Rows, Removed: s.Removed, Startup: s.Startup, Total: s.Total, Timed: x.Timing,
		Sort: outline.Sort(s.Sort),
	}
	return out
}

// merged returns how many rows of its input a Merge has inserted, updated, deleted and left alone.
func merged(m exec.Merged) []outline.Property {
	text, total := "Tuples:", int64(0)
	var out []outline.Property
	for _, x := range []struct {
		name string
		n    int64
	}{{"Inserted", m.Inserted}, {"Updated", m.Updated}, {"Deleted", m.Deleted}, {"Skipped", m.Skipped}} {
		out = append(out, outline.Property{Key: "Tuples " + x.name, Value: x.n, In: outline.Structured})
		if total += x.n; x.n > 0 {
			text += fmt.Sprintf(" %s=%d", strings.ToLower(x.name), x.n)
		}
	}
	if total > 0 {
		out = append(out, outline.Property{Key: "Tuples", Value: total, Text: []string{text}, In: outline.OnlyText})
	}
	return out
}

// lacks notes that steps, and those below them, ran on other nodes too, which do not report them.
func (x *measurements) lacks(steps []plan.Node) {
	if x.unknown == nil {
		x.unknown = map[plan.Node]bool{}
	}
	for _, n := range steps {
		x.unknown[n] = true
		x.lacks(n.Children())
	}
}

// work returns what each fragment did for a step, a line for each.
func (x *measurements) work(done []exec.FragmentWork) []outline.Property {
	if len(done) == 0 {
		return nil
	}
	list := outline.Objects{Name: "Fragment"}
	var lines []string
	for _, f := range done {
		name, node := x.Tx.Gateway.Name(f.Fragment), cmp.Or(f.Node, x.NodeName)
		line := fmt.Sprintf("%s: read %d rows, sent %d rows, %d bytes", name, f.Rows, f.Sent, f.Bytes)
		o := outline.Object{
			{Key: "Fragment", Value: name}, {Key: "Node", Value: node}, {Key: "Rows Read", Value: f.Rows},
			{Key: "Rows Sent", Value: f.Sent}, {Key: "Bytes Sent", Value: f.Bytes},
		}
		if x.Timing {
			ms := outline.Milliseconds(f.Elapsed)
			line += fmt.Sprintf(", %s ms", ms)
			o = append(o, outline.Property{Key: "Elapsed Time", Value: ms})
		}
		if f.Loops > 1 {
			line += fmt.Sprintf(", %d loops", f.Loops)
		}
		o = append(o, outline.Property{Key: "Loops", Value: int64(f.Loops)})
		lines, list.List = append(lines, line+", node "+node), append(list.List, o)
	}
	return []outline.Property{{Key: "Fragments", Value: list, Text: lines}}
}
