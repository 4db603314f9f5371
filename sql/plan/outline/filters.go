package outline

import "github.com/sherddb/sherd/sql/plan"

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
