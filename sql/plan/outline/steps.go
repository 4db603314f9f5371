package outline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/walk"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Of describes a plan.
func Of(p *plan.Plan, notes Notes) *Outline {
	x := &describer{plan: p, notes: notes}
	return &Outline{Root: x.node(p.Root, nil, nil)}
}

type describer struct {
	plan  *plan.Plan
	notes Notes
}

// below is a plan that a step runs beside its inputs: a subquery or a WITH query.
type below struct {
	label string
	plan  plan.Node
	step  plan.Node // of a recursive WITH query
}

// node describes a step. Steps that PostgreSQL does not show go with their input: their columns are
// those of the step that is shown.
func (x *describer) node(n plan.Node, columns []query.Expr, with []below) *Step {
	if columns == nil {
		columns = columnsOf(n)
	}
	switch s := n.(type) {
	case *plan.With:
		for _, c := range s.CTEs {
			with = append(with, below{"CTE " + c.Name, c.Plan, c.Step})
		}
		return x.node(s.Child, columns, with)
	case *plan.Batch:
		return x.node(s.Child, columns, with)
	case *plan.Each:
		return x.node(s.Child, columns[:len(s.Child.Output())], with)
	case *plan.Project:
		if !s.Sets && len(subPlansOf(s)) == 0 {
			return x.node(s.Child, columns, with)
		}
	case *plan.NestLoop:
		if names := initPlans(s); names != nil {
			return x.node(s.Right, columns, append(with, names...))
		}
	}
	s := x.describe(n)
	if x.notes.Verbose && len(columns) > 0 {
		s.Properties = append([]Property{{Key: "Output", Value: x.list(columns)}}, s.Properties...)
	}
	x.measure(s, n)
	for _, b := range with {
		s.Inputs = append(s.Inputs, x.below(b, "InitPlan"))
	}
	for i, c := range n.Children() {
		if !isNothing(c) {
			in := x.node(c, nil, nil)
			in.Relation = relation(n, i)
			s.Inputs = append(s.Inputs, in)
		}
	}
	for _, sp := range subPlansOf(n) {
		s.Inputs = append(s.Inputs, x.below(below{label: sp.Name, plan: sp.Plan}, "SubPlan"))
	}
	return s
}

// measure adds to a step what was expected of it, and what a run has measured.
func (x *describer) measure(s *Step, n plan.Node) {
	if e, ok := x.plan.Estimates[n]; ok && x.notes.Costs {
		s.Estimate = &e
	}
	if x.notes.Measured != nil {
		m := x.notes.Measured(n)
		s.Actual = m.Actual
		s.removed()
		s.sorted()
		s.Properties = append(s.Properties, m.Work...)
	}
}

// sorted adds how the step has sorted.
func (s *Step) sorted() {
	if s.Actual == nil || s.Actual.Sort.Method == "" {
		return
	}
	sort, where := s.Actual.Sort, "Memory"
	if sort.Disk {
		where = "Disk"
	}
	kilobytes := (sort.Bytes + 1023) >> 10
	text := fmt.Sprintf("Sort Method: %s  %s: %dkB", sort.Method, where, kilobytes)
	if sort.Groups > 0 {
		text = fmt.Sprintf("Full-sort Groups: %d  Sort Method: %s  Average %s: %dkB  Peak %s: %dkB",
			sort.Groups, sort.Method, where, (sort.Sum/sort.Groups+1023)>>10, where, kilobytes)
		s.Properties = append(s.Properties, Property{Key: "Full-sort Groups", Value: sort.Groups, In: Structured})
	}
	s.Properties = append(s.Properties,
		Property{Key: "Sort Method", Value: sort.Method, Text: []string{text}},
		Property{Key: "Sort Space Used", Value: kilobytes, In: Structured},
		Property{Key: "Sort Space Type", Value: where, In: Structured},
	)
}

func relation(n plan.Node, input int) string {
	switch n.(type) {
	case *plan.Append, *plan.SetOperation:
		return "Member"
	}
	return [...]string{"Outer", "Inner"}[input]
}

func (x *describer) below(b below, relation string) *Step {
	s := &Step{}
	if b.step == nil {
		s = x.node(b.plan, nil, nil)
	} else {
		s.Title, s.Kind = "Recursive Union", []Property{{Key: "Node Type", Value: "Recursive Union"}}
		for i, n := range []plan.Node{b.plan, b.step} {
			in := x.node(n, nil, nil)
			in.Relation = [...]string{"Outer", "Inner"}[i]
			s.Inputs = append(s.Inputs, in)
		}
	}
	s.Label, s.Relation = b.label, relation
	return s
}

// isNothing reports whether n is the one empty row of a SELECT without FROM.
func isNothing(n plan.Node) bool {
	v, ok := n.(*plan.Values)
	return ok && len(v.Cols) == 0 && len(v.Rows) == 1
}

// initPlans lists the subqueries that a NestLoop over nothing runs first, once; nil for other
// loops.
func initPlans(n *plan.NestLoop) []below {
	if !isNothing(n.Left) || len(n.Binds) == 0 {
		return nil
	}
	out := []below{}
	for _, b := range n.Binds {
		if sp, ok := b.Expr.(*plan.SubPlan); ok { // calls stand where their values are read
			out = append(out, below{
				label: fmt.Sprintf("InitPlan %d (returns $%d)", len(out)+1, b.Param), plan: sp.Plan,
			})
		}
	}
	return out
}

// subPlansOf lists the subqueries in a step's own expressions.
func subPlansOf(n plan.Node) []*plan.SubPlan {
	var out []*plan.SubPlan
	for _, e := range walk.Exprs(n) {
		query.Walk(e, func(x query.Expr) bool {
			if s, ok := x.(*plan.SubPlan); ok {
				out = append(out, s)
			}
			return true
		})
	}
	return out
}

// step returns a step of a type. Its title is the type unless it says more.
func step(kind string, details ...Property) *Step {
	return &Step{Title: kind, Kind: []Property{{Key: "Node Type", Value: kind}}, Properties: details}
}

// titled sets the title.
func (s *Step) titled(format string, args ...any) *Step {
	s.Title = fmt.Sprintf(format, args...)
	return s
}

// works adds how the step works, as a key and its value.
func (s *Step) works(key, value string) *Step {
	s.Kind = append(s.Kind, Property{Key: key, Value: value})
	return s
}

// on adds what the step is about, as a key and its value.
func (s *Step) on(key, value string) *Step {
	if value != "" {
		s.Target = append(s.Target, Property{Key: key, Value: value})
	}
	return s
}

// describe returns a step with its title and its own properties.
func (x *describer) describe(n plan.Node) *Step {
	switch n := n.(type) {
	case *plan.Gather:
		return x.gather(n)
	case *plan.Scan:
		return x.scan(n)
	case *plan.SystemScan:
		return step("System Scan", x.cond("Filter", n.Filter)...).titled("System Scan on %s", named(n.Name, n.Alias)).
			on("Relation Name", n.Name).on("Alias", n.Alias)
	case *plan.FunctionScan:
		return functionScan(n)
	case *plan.Values:
		switch {
		case len(n.Rows) == 0:
			return step("Result", Property{Key: "One-Time Filter", Value: "false"})
		case len(n.Cols) == 0:
			return step("Result")
		}
		return step("Values Scan").titled(`Values Scan on "*VALUES*"`).on("Alias", "*VALUES*")
	case *plan.Filter:
		return step("Filter", x.cond("Cond", n.Cond)...)
	case *plan.Project:
		if n.Sets {
			return step("ProjectSet")
		}
		return step("Result")
	case *plan.Aggregate:
		return x.aggregate(n)
	case *plan.Modify:
		return x.modify(n)
	case *plan.Merge:
		return x.writes("Merge", n.Table.Name, n.Schema)
	}
	return x.describeMore(n)
}

func (x *describer) describeMore(n plan.Node) *Step {
	switch n := n.(type) {
	case *plan.Sort:
		keys := x.keys(n.Keys, n.Child)
		s := step("Sort", Property{Key: "Sort Key", Value: keys})
		switch {
		case n.Presorted > 0:
			presorted := Property{Key: "Presorted Key", Value: x.keys(n.Keys[:n.Presorted], n.Child)}
			s = step("Incremental Sort", s.Properties[0], presorted)
		case n.Limit != nil:
			s.titled("Top-N Sort").works("Strategy", "Top-N")
		}
		return s
	case *plan.Limit:
		return step("Limit")
	case *plan.LockRows:
		return step("LockRows")
	case *plan.Distinct:
		if n.Sorted {
			return step("Unique")
		}
		return step("Aggregate").works("Strategy", "Hashed").works("Partial Mode", "Simple").
			titled("HashAggregate (distinct)")
	case *plan.HashJoin:
		return x.hashJoin(n, "Hash")
	case *plan.LookupJoin:
		return x.hashJoin(n.Join, "Lookup")
	case *plan.NestLoop:
		return step("Nested Loop", x.cond("Join Filter", n.On)...).titled("Nested Loop%s", joinSuffix(n.Kind)).
			on("Join Type", joinType(n.Kind))
	case *plan.SetOperation:
		command := [...]string{"Union", "Intersect", "Except"}[n.Kind] + map[bool]string{true: " All"}[n.All]
		return step("SetOp").works("Strategy", "Hashed").titled("HashSetOp %s", command).on("Command", command)
	case *plan.Append:
		return step("Append")
	case *plan.CTEScan:
		if n.Work {
			return step("WorkTable Scan").titled("WorkTable Scan on %s", n.Alias).on("Alias", n.Alias)
		}
		return step("CTE Scan").titled("CTE Scan on %s", n.Alias).on("Alias", n.Alias)
	case *plan.Window:
		return step("WindowAgg")
	case *plan.Source:
		return step("Copy Source")
	}
	return step(strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan."))
}

func functionScan(n *plan.FunctionScan) *Step {
	s := step("Function Scan").titled("Function Scan on %s", n.Alias)
	if len(n.Functions) == 1 {
		if c, ok := n.Functions[0].Call.(*query.Call); ok {
			s.on("Function Name", c.Proc.Name)
		}
	}
	return s.on("Alias", n.Alias)
}

func (x *describer) gather(n *plan.Gather) *Step {
	s := step("Gather")
	if n.Merge != nil {
		s = step("Gather Merge", Property{Key: "Merge Key", Value: x.keys(n.Merge, n.Child)})
	}
	if x.notes.Route != nil {
		route := x.notes.Route(&n.Route)
		s.Title += "  (" + route + ")"
		s.Properties = append(s.Properties, Property{Key: "Route", Value: route, In: Structured})
	}
	s.Properties = append(s.Properties, x.route(&n.Route)...)
	s.Properties = append(s.Properties, x.batched(n)...)
	if x.notes.Part != nil {
		s.Properties = append(s.Properties, x.notes.Part(n)...)
	}
	return s
}

// batched names the outer values by which a Gather reads for many rows at once.
func (x *describer) batched(n *plan.Gather) []Property {
	each, ok := n.Child.(*plan.Each)
	if !ok {
		return nil
	}
	by := make([]string, len(each.Params))
	visit := func(e query.Expr) {
		if o, ok := e.(*query.Outer); ok {
			if i := slices.Index(each.Params, o.N); i >= 0 {
				by[i] = x.text(o)
			}
		}
	}
	var descend func(plan.Node)
	descend = func(n plan.Node) {
		for _, e := range walk.Exprs(n) {
			walk.Visit(e, visit)
		}
		for _, c := range n.Children() {
			descend(c)
		}
	}
	descend(each)
	if len(by) == 0 {
		return []Property{{Key: "Reads", Value: "once"}}
	}
	return []Property{{Key: "Batched by", Value: by}}
}

// route says by what a Gather is narrowed.
func (x *describer) route(r *plan.Route) []Property {
	by := func(text string) []Property { return []Property{{Key: "Routed by", Value: text}} }
	switch {
	case r.Never:
		return by("a condition that is never true")
	case len(r.Keys) > 0 || r.KeyArray != nil:
		return by("primary key")
	case r.Index != nil:
		text := "global index " + r.Index.Index.Def.Name
		if x.notes.Index != nil {
			text += "  (" + x.notes.Index(r.Index) + ")"
		}
		return by(text)
	case len(r.Content) > 0:
		var fields []string
		for _, f := range r.Table.Policy.Fields {
			fields = append(fields, f.String())
		}
		return by("content (" + strings.Join(fields, ", ") + ")")
	case r.Lo != nil || r.Hi != nil:
		return by("bucket interval")
	case r.Span != nil:
		return by("key range")
	case r.ByPrefix():
		return by("prefix")
	}
	return nil
}

func (x *describer) scan(n *plan.Scan) *Step {
	name := named(n.Table.Name, n.Alias)
	if x.notes.Verbose && n.Schema != "" {
		name = n.Schema + "." + name
	}
	used, rest := n.Conditions()
	filter := x.cond("Filter", rest)
	var s *Step
	switch ix := n.ReadIndex(); {
	case n.Access == plan.ScanKeys:
		s = step("Key Lookup", append(x.cond("Key", used), filter...)...).titled("Key Lookup on %s", name)
	case n.Access == plan.ScanIndex && len(n.Index.Terms) > 0:
		s = x.bitmapScan(n, name, used, filter)
	case n.Access != plan.ScanBuckets:
		kind := "Index Scan"
		if _, ok := n.EntryColumns(); ok {
			kind = "Index Only Scan"
		}
		s = step(kind, append(x.cond("Index Cond", used), filter...)...)
		direction := "Forward"
		if s.Title = kind + " "; n.Desc || n.Index != nil && n.Index.Backward {
			s.Title, direction = kind+" Backward ", "Backward"
		}
		s.on("Scan Direction", direction)
		if ix != nil {
			s.Title += "using " + ix.Name + " "
			s.on("Index Name", ix.Name)
		}
		s.Title += "on " + name
	case n.Span != nil:
		s = step("Key Range Scan", filter...).titled("Key Range Scan on %s", name)
	default:
		s = step("Seq Scan", filter...).titled("Seq Scan on %s", name)
	}
	s.Properties = append(s.Properties, x.runtimeFilters(n)...)
	return x.table(s, n.Table.Name, n.Schema, n.Alias)
}

// table adds what table a step reads or writes.
func (x *describer) table(s *Step, name, schema, alias string) *Step {
	s.on("Relation Name", name)
	if x.notes.Verbose {
		s.on("Schema", schema)
	}
	if alias == "" {
		alias = name
	}
	return s.on("Alias", alias)
}

func (x *describer) aggregate(n *plan.Aggregate) *Step {
	prefix := map[plan.AggMode]string{plan.AggPartial: "Partial ", plan.AggFinal: "Finalize "}[n.Mode]
	mode := map[plan.AggMode]string{
		plan.AggComplete: "Simple", plan.AggPartial: "Partial", plan.AggFinal: "Finalize",
	}[n.Mode]
	s := step("Aggregate")
	switch {
	case n.Sets != nil:
		s.titled("%sMixedAggregate", prefix).works("Strategy", "Mixed")
		var sets []string
		for _, set := range n.Sets {
			var keys []query.Expr
			for _, k := range set {
				keys = append(keys, n.Keys[k])
			}
			sets = append(sets, "("+strings.Join(x.list(keys), ", ")+")")
		}
		s.Properties = []Property{{Key: "Grouping Sets", Value: sets}}
	case len(n.Keys) == 0:
		s.titled("%sAggregate", prefix).works("Strategy", "Plain")
	default:
		if s.titled("%sHashAggregate", prefix); n.Sorted {
			s.titled("%sGroupAggregate", prefix)
		}
		s.works("Strategy", map[bool]string{false: "Hashed", true: "Sorted"}[n.Sorted])
		s.Properties = []Property{{Key: "Group Key", Value: x.list(groupKeys(n))}}
	}
	return s.works("Partial Mode", mode)
}

// groupKeys returns the keys of an aggregate, as they were before a projection computed them.
func groupKeys(n *plan.Aggregate) []query.Expr {
	out := slices.Clone(n.Keys)
	for i, k := range out {
		s, ok := k.(*query.Slot)
		switch {
		case !ok || s.Name != "":
		case n.Mode == plan.AggFinal:
			out[i] = columnsOf(n.Child)[i]
		default:
			out[i] = columnsOf(n.Child)[s.N]
		}
	}
	return out
}

// hashJoin describes a join by equality of keys, whose method is Hash or Lookup.
func (x *describer) hashJoin(n *plan.HashJoin, method string) *Step {
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
	details := append([]Property{{Key: method + " Cond", Value: text}}, x.cond("Join Filter", n.On)...)
	return step(method+" Join", details...).titled("%s%s Join", method, joinSuffix(n.Kind)).
		on("Join Type", joinType(n.Kind))
}

func (x *describer) modify(n *plan.Modify) *Step {
	operation := [...]string{"Insert", "Update", "Delete"}[n.Kind]
	s := x.writes(operation, n.Table.Name, n.Schema)
	if oc := n.OnConflict; oc != nil {
		text := map[bool]string{false: "NOTHING", true: "UPDATE"}[oc.Update]
		s.Properties = []Property{{Key: "Conflict Resolution", Value: text}}
	}
	return s
}

// writes describes a step that writes to a table.
func (x *describer) writes(operation, table, schema string) *Step {
	s := step("ModifyTable").works("Operation", operation).titled("%s on %s", operation, table)
	if x.notes.Verbose && schema != "" {
		s.titled("%s on %s.%s", operation, schema, table)
	}
	return x.table(s, table, schema, "")
}

func (x *describer) cond(key string, e query.Expr) []Property {
	if e == nil {
		return nil
	}
	return []Property{{Key: key, Value: x.text(e)}}
}

func (x *describer) text(e query.Expr) string { return plan.ExprText(e, x.notes.Env) }

func (x *describer) list(es []query.Expr) []string {
	var out []string
	for _, e := range es {
		out = append(out, x.text(e))
	}
	return out
}

func (x *describer) keys(keys []plan.SortKey, input plan.Node) []string {
	columns := columnsOf(input)
	var out []string
	for _, k := range keys {
		s := x.text(columns[k.Slot])
		if k.Desc {
			s += " DESC"
		}
		if k.NullsFirst != k.Desc {
			s += map[bool]string{true: " NULLS FIRST", false: " NULLS LAST"}[k.NullsFirst]
		}
		out = append(out, s)
	}
	return out
}

// columnsOf returns what the slots of a step hold, where a projection below says so.
func columnsOf(n plan.Node) []query.Expr {
	switch s := n.(type) {
	case *plan.Project:
		return s.Exprs
	case *plan.Sort:
		return columnsOf(s.Child)
	case *plan.Limit:
		return columnsOf(s.Child)
	case *plan.LockRows:
		return columnsOf(s.Child)
	case *plan.Gather:
		return columnsOf(s.Child)[:len(s.Cols)]
	case *plan.Batch:
		return columnsOf(s.Child)
	case *plan.Each:
		own := len(s.Child.Output())
		set := &query.Slot{T: query.Of(types.Int4), N: own, Name: s.Cols[own].Name}
		return append(columnsOf(s.Child)[:own:own], set)
	case *plan.Distinct:
		return columnsOf(s.Child)
	}
	out := make([]query.Expr, len(n.Output()))
	for i, c := range n.Output() {
		out[i] = &query.Slot{T: query.T{OID: c.Type, Mod: c.Typmod}, N: i, Name: c.Name}
	}
	if a, ok := n.(*plan.Aggregate); ok {
		for i, k := range groupKeys(a) {
			if n.Output()[i].Name == "" {
				out[i] = k
			}
		}
	}
	return out
}

func named(name, alias string) string {
	if alias == "" || alias == name || strings.HasSuffix(name, "."+alias) {
		return name
	}
	return name + " " + alias
}

func joinSuffix(k query.JoinKind) string {
	return [...]string{"", " Left", " Right", " Full", " Semi", " Anti", " Right Semi", " Right Anti"}[k]
}

func joinType(k query.JoinKind) string {
	return [...]string{"Inner", "Left", "Right", "Full", "Semi", "Anti", "Right Semi", "Right Anti"}[k]
}
