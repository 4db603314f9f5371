package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Notes adds to EXPLAIN what only the executor knows. Any func may be nil.
type Notes struct {
	// Route names the fragments and buckets of a route: "fragments orders$0, orders$1, buckets
	// 0-349524".
	Route func(*Route) string
	// Index names the fragments and buckets where the entries of a global index are looked up.
	Index func(*IndexScan) string
	// Part says to what a Gather's reads are restricted besides its route, in lines.
	Part func(*Gather) []string
	// Measured returns what ANALYZE measured of a step: lines below it, and a suffix for its first
	// line.
	Measured func(Node) (suffix string, lines []string)
	// Env prints constants; nil prints those of reg* types as numbers.
	Env *types.Env
}

// Explain prints a plan as EXPLAIN does, one line per element.
func Explain(p *Plan, notes Notes) []string {
	x := &explainer{notes: notes}
	x.node(p.Root, 0, false, nil)
	return x.lines
}

type explainer struct {
	notes Notes
	lines []string
}

// below is a plan that a step runs beside its inputs: a subquery or a WITH query.
type below struct {
	label string
	plan  Node
	step  Node // of a recursive WITH query
}

// node prints a step at a column, behind an arrow where it is an input. Steps that PostgreSQL does
// not show go with their input.
func (x *explainer) node(n Node, col int, arrow bool, with []below) {
	switch s := n.(type) {
	case *With:
		for _, c := range s.CTEs {
			with = append(with, below{"CTE " + c.Name, c.Plan, c.Step})
		}
		x.node(s.Child, col, arrow, with)
		return
	case *Project:
		if !s.Sets && len(subPlansOf(s)) == 0 {
			x.node(s.Child, col, arrow, with)
			return
		}
	case *NestLoop:
		if names := initPlans(s); names != nil {
			x.node(s.Right, col, arrow, append(with, names...))
			return
		}
	}
	title, details := x.describe(n)
	if x.notes.Measured != nil {
		suffix, measured := x.notes.Measured(n)
		title, details = title+suffix, append(details, measured...)
	}
	x.title(title, col, arrow)
	inside := col + 2
	if arrow {
		inside += 4
	}
	for _, d := range details {
		x.lines = append(x.lines, strings.Repeat(" ", inside)+d)
	}
	for _, b := range with {
		x.below(b, inside)
	}
	for _, c := range n.Children() {
		if !isNothing(c) {
			x.node(c, inside, true, nil)
		}
	}
	for _, sp := range subPlansOf(n) {
		x.below(below{label: sp.Name, plan: sp.Plan}, inside)
	}
}

func (x *explainer) title(text string, col int, arrow bool) {
	head := strings.Repeat(" ", col)
	if arrow {
		head += "->  "
	}
	x.lines = append(x.lines, head+text)
}

func (x *explainer) below(b below, col int) {
	x.lines = append(x.lines, strings.Repeat(" ", col)+b.label)
	if b.step == nil {
		x.node(b.plan, col+2, true, nil)
		return
	}
	x.title("Recursive Union", col+2, true)
	x.node(b.plan, col+8, true, nil)
	x.node(b.step, col+8, true, nil)
}

// isNothing reports whether n is the one empty row of a SELECT without FROM.
func isNothing(n Node) bool {
	v, ok := n.(*Values)
	return ok && len(v.Cols) == 0 && len(v.Rows) == 1
}

// initPlans lists the subqueries that a NestLoop over nothing runs first, once; nil for other
// loops.
func initPlans(n *NestLoop) []below {
	if !isNothing(n.Left) || len(n.Binds) == 0 {
		return nil
	}
	out := []below{}
	for _, b := range n.Binds {
		if sp, ok := b.Expr.(*SubPlan); ok { // calls stand where their values are read
			out = append(out, below{
				label: fmt.Sprintf("InitPlan %d (returns $%d)", len(out)+1, b.Param), plan: sp.Plan,
			})
		}
	}
	return out
}

// describe returns a step's title and its details.
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
		switch {
		case len(n.Rows) == 0:
			return "Result", []string{"One-Time Filter: false"}
		case len(n.Cols) == 0:
			return "Result", nil
		}
		return `Values Scan on "*VALUES*"`, nil
	case *Filter:
		return "Filter", x.cond("Cond", n.Cond)
	case *Project:
		if n.Sets {
			return "ProjectSet", nil
		}
		return "Result", nil
	case *Aggregate:
		return x.aggregate(n)
	case *Modify:
		return x.modify(n)
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
		return title, []string{"Sort Key: " + x.keys(n.Keys, n.Child)}
	case *Limit:
		return "Limit", nil
	case *LockRows:
		return "LockRows", nil
	case *Distinct:
		if n.Sorted {
			return "Unique", nil
		}
		return "HashAggregate (distinct)", nil
	case *HashJoin:
		return x.hashJoin(n)
	case *LookupJoin:
		title, details := x.hashJoin(n.Join)
		details[0] = "Lookup" + strings.TrimPrefix(details[0], "Hash")
		return "Lookup" + strings.TrimPrefix(title, "Hash"), details
	case *NestLoop:
		return "Nested Loop" + joinSuffix(n.Kind), x.cond("Join Filter", n.On)
	case *SetOperation:
		return [...]string{"HashSetOp Union", "HashSetOp Intersect", "HashSetOp Except"}[n.Kind] +
			map[bool]string{true: " All"}[n.All], nil
	case *Append:
		return "Append", nil
	case *CTEScan:
		if n.Work {
			return "WorkTable Scan on " + n.Alias, nil
		}
		return "CTE Scan on " + n.Alias, nil
	case *Window:
		return "WindowAgg", nil
	case *Source:
		return "Copy Source", nil
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan."), nil
}

func (x *explainer) gather(n *Gather) (string, []string) {
	title := "Gather"
	var details []string
	if n.Merge != nil {
		title = "Gather Merge"
		details = append(details, "Merge Key: "+x.keys(n.Merge, n.Child))
	}
	if x.notes.Route != nil {
		title += "  (" + x.notes.Route(&n.Route) + ")"
	}
	details = append(details, x.route(&n.Route)...)
	if x.notes.Part != nil {
		details = append(details, x.notes.Part(n)...)
	}
	return title, details
}

// route prints by what a Gather is narrowed.
func (x *explainer) route(r *Route) []string {
	switch {
	case r.Never:
		return []string{"Routed by: a condition that is never true"}
	case len(r.Keys) > 0 || r.KeyArray != nil:
		return []string{"Routed by: primary key"}
	case r.Index != nil:
		text := "Routed by: global index " + r.Index.Index.Def.Name
		if x.notes.Index != nil {
			text += "  (" + x.notes.Index(r.Index) + ")"
		}
		return []string{text}
	case len(r.Content) > 0:
		var fields []string
		for _, f := range r.Table.Policy.Fields {
			fields = append(fields, f.String())
		}
		return []string{"Routed by: content (" + strings.Join(fields, ", ") + ")"}
	case r.Lo != nil || r.Hi != nil:
		return []string{"Routed by: bucket interval"}
	case r.Span != nil:
		return []string{"Routed by: key range"}
	case r.ByPrefix():
		return []string{"Routed by: prefix"}
	}
	return nil
}

func (x *explainer) scan(n *Scan) (string, []string) {
	table := named(n.Table.Name, n.Alias)
	switch n.Access {
	case ScanKeys:
		cond, rest := keyCond(n)
		return "Key Lookup on " + table, append(x.cond("Key", cond), x.cond("Filter", rest)...)
	case ScanOrdered:
		title := "Index Scan "
		if n.Desc {
			title += "Backward "
		}
		if ix := orderIndex(n.Table); ix != nil {
			title += "using " + ix.Name + " "
		}
		bounds, rest := boundCond(n)
		return title + "on " + table, append(x.cond("Index Cond", bounds), x.cond("Filter", rest)...)
	case ScanIndex, ScanFound:
		used, rest := n.Index.split(n.Filter)
		title := "Index Scan " + map[bool]string{true: "Backward "}[n.Index.Backward]
		return title + "using " + n.Index.Index.Def.Name + " on " + table,
			append(x.cond("Index Cond", used), x.cond("Filter", rest)...)
	}
	if n.Span != nil {
		return "Key Range Scan on " + table, x.cond("Filter", n.Filter)
	}
	return "Seq Scan on " + table, x.cond("Filter", n.Filter)
}

// keyCond takes the filter of a lookup apart: the conditions that name the keys, and the rest.
func keyCond(n *Scan) (keys, rest query.Expr) {
	m := matcher{s: n}
	var named, others []query.Expr
	for _, c := range conjuncts(n.Filter) {
		one := false
		for _, col := range keyPositions(n.Table) {
			list, array := choices([]query.Expr{c}, m.column(col))
			one = one || list != nil || array != nil
		}
		if _, or := c.(*query.Or); one || or && len(keyPositions(n.Table)) > 1 {
			named = append(named, c)
		} else {
			others = append(others, c)
		}
	}
	if len(named) > 0 {
		return conjunction(named), conjunction(others)
	}
	var es []query.Expr // a lookup made by a join
	for _, tuple := range n.Keys {
		es = append(es, tuple...)
	}
	if n.KeyArray != nil {
		es = append(es, n.KeyArray)
	}
	if len(es) == 1 {
		return es[0], n.Filter
	}
	return &query.Row{T: query.Of(types.Record), Fields: es}, n.Filter
}

// boundCond does so for a scan in key order.
func boundCond(n *Scan) (bounds, rest query.Expr) {
	by := &IndexScan{Table: n.Table, KeyBounds: KeyBounds{Lo: n.Lo, Hi: n.Hi}}
	if n.Span != nil {
		by.Equal, by.KeyBounds = n.Span.Equal, n.Span.KeyBounds
	}
	m := matcher{s: n, conds: conjuncts(n.Filter)}
	if by.Conds = m.usedBy(by, keyColumns(n.Table)); len(by.Conds) == 0 { // a lookup made by a join
		by.Conds = slices.Concat(by.Equal...)
	}
	return by.split(n.Filter)
}

func (x *explainer) aggregate(n *Aggregate) (string, []string) {
	title := map[AggMode]string{AggPartial: "Partial ", AggFinal: "Finalize "}[n.Mode]
	switch {
	case n.Sets != nil:
		var sets []string
		for _, s := range n.Sets {
			var keys []query.Expr
			for _, k := range s {
				keys = append(keys, n.Keys[k])
			}
			sets = append(sets, "("+x.exprs(keys)+")")
		}
		return title + "MixedAggregate", []string{"Grouping Sets: " + strings.Join(sets, ", ")}
	case len(n.Keys) == 0:
		return title + "Aggregate", nil
	}
	return title + "HashAggregate", []string{"Group Key: " + x.exprs(n.Keys)}
}

func (x *explainer) hashJoin(n *HashJoin) (string, []string) {
	var conds []string
	for i := range n.LeftKeys {
		op := " = "
		if n.NullsEqual[i] {
			op = " IS NOT DISTINCT FROM "
		}
		conds = append(conds, "("+x.text(n.LeftKeys[i])+op+x.text(n.RightKeys[i])+")")
	}
	text := strings.Join(conds, " AND ")
	if len(conds) > 1 {
		text = "(" + text + ")"
	}
	details := []string{"Hash Cond: " + text}
	return "Hash" + joinSuffix(n.Kind) + " Join", append(details, x.cond("Join Filter", n.On)...)
}

func (x *explainer) modify(n *Modify) (string, []string) {
	var details []string
	if oc := n.OnConflict; oc != nil {
		details = append(details, "Conflict Resolution: "+map[bool]string{false: "NOTHING", true: "UPDATE"}[oc.Update])
	}
	return [...]string{"Insert", "Update", "Delete"}[n.Kind] + " on " + n.Table.Name, details
}

func (x *explainer) cond(name string, e query.Expr) []string {
	if e == nil {
		return nil
	}
	return []string{name + ": " + x.text(e)}
}

func (x *explainer) text(e query.Expr) string { return exprText(e, x.notes.Env) }

func (x *explainer) exprs(es []query.Expr) string {
	var out []string
	for _, e := range es {
		out = append(out, x.text(e))
	}
	return strings.Join(out, ", ")
}

func (x *explainer) keys(keys []SortKey, input Node) string {
	var out []string
	for _, k := range keys {
		s := x.text(slotText(input, k.Slot))
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

// slotText returns what a slot of a step holds, where a projection below says so.
func slotText(n Node, i int) query.Expr {
	switch s := n.(type) {
	case *Project:
		return s.Exprs[i]
	case *Sort:
		return slotText(s.Child, i)
	case *Limit:
		return slotText(s.Child, i)
	case *LockRows:
		return slotText(s.Child, i)
	case *Gather:
		return slotText(s.Child, i)
	case *Distinct:
		return slotText(s.Child, i)
	}
	c := n.Output()[i]
	return slot(i, c)
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
	add(stepExprs(n)...)
	return out
}
