package plan

import (
	"fmt"
	"strings"

	"github.com/sherddb/sherd/sql/query"
)

// Notes adds to EXPLAIN what only the executor knows. Any func may be nil.
type Notes struct {
	// Route names the fragments and buckets of a route: "fragments orders$0, orders$1, buckets 0-349524".
	Route func(*Route) string
	// Measured gives what ANALYZE measured of a step: lines below it, and a suffix for its first line.
	Measured func(Node) (suffix string, lines []string)
	// Expr prints an expression as SQL.
	Expr func(query.Expr) string
}

// Explain prints a plan as EXPLAIN does, one line per element.
func Explain(p *Plan, notes Notes) []string {
	if notes.Expr == nil {
		notes.Expr = func(e query.Expr) string { return fmt.Sprintf("%T", e) }
	}
	x := &explainer{notes: notes}
	x.node(p.Root, 0, true)
	return x.lines
}

type explainer struct {
	notes Notes
	lines []string
}

func (x *explainer) node(n Node, depth int, first bool) {
	indent := strings.Repeat("      ", depth)
	head := indent
	if !first {
		head = indent[:max(0, len(indent)-4)] + "->  "
	}
	title, details := x.describe(n)
	var measured []string
	if x.notes.Measured != nil {
		var suffix string
		suffix, measured = x.notes.Measured(n)
		title += suffix
	}
	x.lines = append(x.lines, head+title)
	for _, d := range append(details, measured...) {
		x.lines = append(x.lines, indent+"  "+d)
	}
	for _, c := range n.Children() {
		x.node(c, depth+1, false)
	}
	for _, sp := range subPlansOf(n) {
		x.lines = append(x.lines, indent+"  "+sp.Name)
		x.node(sp.Plan, depth+1, false)
	}
}

// describe gives a step's title and its details.
func (x *explainer) describe(n Node) (string, []string) {
	switch n := n.(type) {
	case *Gather:
		return x.gather(n)
	case *Scan:
		return x.scan(n)
	case *SystemScan:
		return "System Scan on " + named(n.Name, n.Alias), x.cond("Filter", n.Filter)
	case *FunctionScan:
		return "Function Scan on " + n.Alias, nil
	case *Values:
		if len(n.Cols) == 0 {
			return "Result", nil
		}
		return fmt.Sprintf("Values Scan  (%d rows)", len(n.Rows)), nil
	case *Filter:
		return "Filter", x.cond("Cond", n.Cond)
	case *Project:
		if n.Sets {
			return "ProjectSet", nil
		}
		return "Project", []string{"Output: " + x.exprs(n.Exprs)}
	case *Aggregate:
		return x.aggregate(n)
	case *Modify:
		return x.modify(n), nil
	}
	return x.describeMore(n)
}

func (x *explainer) describeMore(n Node) (string, []string) {
	switch n := n.(type) {
	case *Sort:
		title := "Sort"
		if n.Limit != nil {
			title = "Top-N Sort"
		}
		return title, []string{"Sort Key: " + x.keys(n.Keys, n.Cols)}
	case *Limit:
		return "Limit", nil
	case *Distinct:
		return "Unique", nil
	case *HashJoin:
		return x.hashJoin(n)
	case *NestLoop:
		return "Nested Loop" + joinSuffix(n.Kind), x.cond("Join Filter", n.On)
	case *SetOperation:
		return [...]string{"Union", "Intersect", "Except"}[n.Kind] + map[bool]string{true: " All"}[n.All], nil
	case *Append:
		return "Append", nil
	case *With:
		var names []string
		for _, c := range n.CTEs {
			names = append(names, c.Name)
		}
		return "With " + strings.Join(names, ", "), nil
	case *CTEScan:
		if n.Work {
			return "WorkTable Scan on " + n.Alias, nil
		}
		return "CTE Scan on " + n.Alias, nil
	case *Window:
		return "WindowAgg", nil
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan."), nil
}

func (x *explainer) gather(n *Gather) (string, []string) {
	title := "Gather"
	var details []string
	if n.Merge != nil {
		title = "Gather Merge"
		details = append(details, "Merge Key: "+x.keys(n.Merge, n.Cols))
	}
	if x.notes.Route != nil {
		title += "  (" + x.notes.Route(&n.Route) + ")"
	}
	return title, append(details, x.route(&n.Route)...)
}

// route prints by what a Gather is narrowed.
func (x *explainer) route(r *Route) []string {
	switch {
	case r.Never:
		return []string{"Routed by: a condition that is never true"}
	case len(r.Keys) > 0 || r.KeyArray != nil:
		return []string{"Routed by: primary key"}
	case len(r.Content) > 0:
		var fields []string
		for _, f := range r.Table.Policy.Fields {
			fields = append(fields, f.String())
		}
		return []string{"Routed by: content (" + strings.Join(fields, ", ") + ")"}
	case r.Lo != nil || r.Hi != nil:
		return []string{"Routed by: bucket interval"}
	}
	return nil
}

func (x *explainer) scan(n *Scan) (string, []string) {
	title := "Seq Scan on "
	var details []string
	switch n.Access {
	case ScanKeys:
		title = "Key Lookup on "
	case ScanOrdered:
		title = "Index Scan "
		if n.Desc {
			title += "Backward "
		}
		if ix := orderIndex(n.Table); ix != nil {
			title += "using " + ix.Name + " "
		}
		title += "on "
	}
	return title + named(n.Table.Name, n.Alias), append(details, x.cond("Filter", n.Filter)...)
}

func (x *explainer) aggregate(n *Aggregate) (string, []string) {
	title := map[AggMode]string{AggPartial: "Partial ", AggFinal: "Finalize "}[n.Mode]
	if len(n.Keys) == 0 {
		return title + "Aggregate", nil
	}
	return title + "HashAggregate", []string{"Group Key: " + x.exprs(n.Keys)}
}

func (x *explainer) hashJoin(n *HashJoin) (string, []string) {
	var conds []string
	for i := range n.LeftKeys {
		conds = append(conds, "("+x.notes.Expr(n.LeftKeys[i])+" = "+x.notes.Expr(n.RightKeys[i])+")")
	}
	details := []string{"Hash Cond: " + strings.Join(conds, " AND ")}
	return "Hash" + joinSuffix(n.Kind) + joinWord(n.Kind), append(details, x.cond("Join Filter", n.On)...)
}

func (x *explainer) modify(n *Modify) string {
	return [...]string{"Insert", "Update", "Delete"}[n.Kind] + " on " + n.Table.Name
}

func (x *explainer) cond(name string, e query.Expr) []string {
	if e == nil {
		return nil
	}
	return []string{name + ": " + x.notes.Expr(e)}
}

func (x *explainer) exprs(es []query.Expr) string {
	var out []string
	for _, e := range es {
		out = append(out, x.notes.Expr(e))
	}
	return strings.Join(out, ", ")
}

func (x *explainer) keys(keys []SortKey, cols []Col) string {
	var out []string
	for _, k := range keys {
		s := cols[k.Slot].Name
		if k.Desc {
			s += " DESC"
		}
		if k.NullsFirst != k.Desc {
			s += map[bool]string{true: " NULLS FIRST", false: " NULLS LAST"}[k.NullsFirst]
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func named(name, alias string) string {
	if alias == "" || alias == name || strings.HasSuffix(name, "."+alias) {
		return name
	}
	return name + " " + alias
}

func joinSuffix(k query.JoinKind) string {
	return [...]string{"", " Left", " Right", " Full", " Semi", " Anti"}[k]
}

func joinWord(k query.JoinKind) string { return " Join" }

// subPlansOf lists the subqueries in a step's own expressions.
func subPlansOf(n Node) []*SubPlan {
	var out []*SubPlan
	add := func(es ...query.Expr) {
		for _, e := range es {
			query.Walk(e, func(x query.Expr) bool {
				if s, ok := x.(*SubPlan); ok {
					out = append(out, s)
				}
				return true
			})
		}
	}
	switch n := n.(type) {
	case *Filter:
		add(n.Cond)
	case *Project:
		add(n.Exprs...)
	case *SystemScan:
		add(n.Filter)
	case *NestLoop:
		add(n.On)
	case *HashJoin:
		add(n.On)
	case *Aggregate:
		add(n.Keys...)
	case *Modify:
		for _, a := range n.Assign {
			add(a.Expr)
		}
		add(n.Returning...)
	}
	return out
}
