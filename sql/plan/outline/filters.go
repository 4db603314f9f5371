package outline

import (
	"slices"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/query"
)

// runtimeFilters describes the filters of a scan by the keys of the other side of a join.
func (x *describer) runtimeFilters(n *plan.Scan) (out []Property) {
	columns := columnsOf(n)
	for _, f := range n.KeyFilters {
		var keys []string
		for _, slot := range f.Keys {
			keys = append(keys, x.text(columns[slot]))
		}
		out = append(out, Property{Key: "Runtime Filter", Value: keys})
	}
	return out
}

// bitmapScan describes a scan that finds rows by the terms of a condition first, and then reads them in
// their own order.
func (x *describer) bitmapScan(n *plan.Scan, name string, used query.Expr, filter []Property) *Step {
	s := step("Bitmap Heap Scan", append(x.cond("Recheck Cond", used), filter...)...).
		titled("Bitmap Heap Scan on %s", name)
	index := n.ReadIndex().Name
	by := step("Bitmap Index Scan", x.cond("Index Cond", used)...).titled("Bitmap Index Scan on %s", index)
	by.on("Index Name", index).Relation = "Outer"
	s.Inputs = []*Step{by}
	return s
}

// removed adds how many rows the step's filter has removed.
func (s *Step) removed() {
	for i, p := range s.Properties {
		by := "Filter"
		switch {
		case s.Actual == nil || p.Key != "Filter" && p.Key != "Cond" && p.Key != "Recheck Cond":
			continue
		case p.Key == "Recheck Cond" && i == len(s.Properties)-1:
			by = "Index Recheck"
		case p.Key == "Recheck Cond":
			continue
		}
		n := s.Actual.perLoop(s.Actual.Removed)
		more := Property{Key: "Rows Removed by " + by, Value: n}
		if n == 0 {
			more.In = Structured
		}
		s.Properties = slices.Insert(s.Properties, i+1, more)
		return
	}
}
