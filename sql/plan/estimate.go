package plan

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/plan/selectivity"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// estimates says how many rows steps return and what they cost, from what is known of tables, or
// guessed where nothing is known.
type estimates struct {
	known  func(*catalog.Table) *statistics.Table // Env.Statistics
	also   func(*catalog.Table) []query.StatisticsExpression
	rowsOf map[Node]float64 // of steps for which the planner knew more than the steps say
	costOf map[Node]costs   // of scans, by the way that was chosen
	// lookups has the cost of one look-up of joins.
	lookups map[Node]float64
	guesses []guess // that depend on arguments

	// hashed has the subqueries that may run as a hash table instead, as such.
	hashed map[*SubPlan]*SubPlan

	ctes map[cteRows]float64 // what the scans of WITH queries return

	done   map[Node]Estimate
	widths map[Node][]float64 // of the columns of the steps in done
	alone  bool               // requests for several rows are not sent together
}

// cteRows names the rows of a WITH query: all of them, or those of one step of a recursive one.
type cteRows struct {
	id   int
	work bool
}

func newEstimates(env Env) estimates {
	return estimates{
		known: env.Statistics, also: env.Together, alone: env.Off.Batch, ctes: map[cteRows]float64{},
		hashed: map[*SubPlan]*SubPlan{},
		rowsOf: map[Node]float64{}, costOf: map[Node]costs{}, lookups: map[Node]float64{},
	}
}

// Estimate is what the planner expects of a step.
type Estimate struct {
	Rows    float64 // that it returns
	Width   float64 // of a row, in bytes
	Startup float64 // what it costs, with the steps below it, before its first row
	Total   float64 // what all its rows cost, in rows that are read in sequence
	Meets   float64 // of a HashJoin: the share of left rows that meet a right one
}

// of returns the estimates of a step of a plan that is complete, and of all steps below it.
func (x *estimates) of(root Node) map[Node]Estimate {
	x.done, x.widths = map[Node]Estimate{}, map[Node][]float64{}
	x.finish(root)
	return x.done
}

// finish estimates a step after those below it.
func (x *estimates) finish(n Node) {
	if _, ok := x.done[n]; ok {
		return
	}
	for _, c := range n.Children() {
		x.finish(c)
	}
	for _, s := range subPlans(n) {
		x.finish(s.Plan)
	}
	c, e := x.costs(n), Estimate{Rows: x.rows(n)}
	switch n.(type) {
	case *Modify, *Merge:
		if len(n.Output()) == 0 {
			e.Rows = 0
		}
	}
	e.Startup, e.Total = c.startup, c.total
	if h, ok := n.(*HashJoin); ok {
		e.Meets = x.meets(h)
	}
	x.widths[n] = x.widthsOf(n)
	for _, w := range x.widths[n] {
		e.Width += w
	}
	x.done[n] = e
}

// subPlans lists the subqueries in a step's own expressions.
func subPlans(n Node) (out []*SubPlan) {
	for _, e := range stepExprs(n) {
		query.Walk(e, func(x query.Expr) bool {
			if s, ok := x.(*SubPlan); ok {
				out = append(out, s)
			}
			return true
		})
	}
	return out
}

// widthsOf estimates how many bytes the columns of a step have.
func (x *estimates) widthsOf(n Node) []float64 {
	cols := n.Output()
	out := make([]float64, len(cols))
	for i, c := range cols {
		out[i] = typeWidth(c)
	}
	switch n := n.(type) {
	case *Scan:
		known := x.table(n.Table)
		for i, pos := range n.Slots {
			if pos < 0 {
				continue
			}
			if c := known.Column(statistics.Key{Position: int16(n.Table.Columns[pos].AttNum)}); c != nil {
				out[i] = c.Width
			}
		}
	case *Project:
		below := x.widths[n.Child]
		for i, e := range n.Exprs {
			if s, ok := e.(*query.Slot); ok && s.N < len(below) {
				out[i] = below[s.N]
			}
		}
	case *HashJoin, *LookupJoin, *NestLoop:
		sides := n.Children()
		if rightOnly(n) {
			sides = sides[1:]
			copy(out, x.widths[sides[0]])
			break
		}
		copy(out, slices.Concat(x.widths[sides[0]], x.widths[sides[1]]))
	default:
		if in := n.Children(); len(in) == 1 && len(x.widths[in[0]]) == len(cols) {
			copy(out, x.widths[in[0]])
		}
	}
	return out
}

// typeWidth guesses how many bytes a column has, as PostgreSQL does.
func typeWidth(c Col) float64 {
	const guess, most = 32, 1000
	if t := pgcatalog.TypeByOID(uint32(c.Type)); t != nil && t.Len > 0 {
		return float64(t.Len)
	}
	if c.Typmod < 4 || c.Type != types.VarChar && c.Type != types.BPChar {
		return guess
	}
	w := float64(c.Typmod - 4)
	if c.Type == types.BPChar || w <= guess {
		return w
	}
	return guess + (min(w, most)-guess)/2
}

// Guesses of how many rows a step returns, where nothing is known. Only their order matters.
const (
	guessTable   = 1e6
	guessFilter  = 0.1 // of what comes in
	guessContent = 1e3
	guessSystem  = 1e3
	guessSet     = 1e3
	guessGroups  = 0.1
)

// leastRows is how many rows a table is taken for at least where a way to read it is chosen: a
// small table may grow before the statement is planned again.
const leastRows = 1000

// table returns what is known of a table; nil: nothing.
func (x *estimates) table(t *catalog.Table) *statistics.Table {
	if x.known == nil || t == nil {
		return nil
	}
	return x.known(t)
}

// tableRows is how many rows a table has. An empty one is about to be filled.
func (x *estimates) tableRows(t *catalog.Table) float64 {
	known := x.table(t)
	switch {
	case known == nil:
		return guessTable
	case known.Rows < 1:
		return leastRows
	}
	return known.Rows
}

// columnsOf returns what is known of the columns of a scanned table, and of the expressions in its
// indexes and statistics objects; nil: nothing is known.
func (x *estimates) columnsOf(m *matcher, indexes []query.Index) selectivity.Columns {
	known := x.table(m.s.Table)
	if known == nil {
		return nil
	}
	return func(e query.Expr) (statistics.Variable, bool) {
		pos := m.position(e)
		if v, ok := bare(e).(*query.Var); ok {
			pos = v.Col // of an index
		}
		if pos >= 0 {
			v := known.Variable(statistics.Key{Position: int16(m.s.Table.Columns[pos].AttNum)})
			v.Unique = v.Unique || uniqueColumn(m.s.Table, indexes, pos)
			return v, true
		}
		together := x.inObjects(m, known, e)
		for _, ix := range indexes {
			for i, key := range ix.Keys {
				if _, column := bare(key).(*query.Var); !column && m.isKey(e, key) {
					v := known.Variable(statistics.Key{Index: uint32(ix.Def.OID), Position: int16(i + 1)})
					v.Unique = ix.Def.Unique && len(ix.Keys) == 1 && ix.Where == nil
					v.Keys = together.Keys
					if v.Column == nil {
						v.Column = together.Column
					}
					return v, true
				}
			}
		}
		return together, len(together.Keys) > 0
	}
}

// inObjects returns what is known of an expression that statistics objects of the table have; without
// Keys, none has it.
func (x *estimates) inObjects(m *matcher, known *statistics.Table, e query.Expr) (out statistics.Variable) {
	if x.also == nil {
		return out
	}
	for _, o := range x.also(m.s.Table) {
		if !m.isKey(e, o.Expr) {
			continue
		}
		v := known.Variable(statistics.Key{Index: uint32(o.Object), Position: int16(o.Position)})
		v.Keys = append(out.Keys, v.Keys...)
		if v.Column == nil {
			v.Column = out.Column
		}
		out = v
	}
	return out
}

// uniqueColumn reports whether no two rows have the same value in a column.
func uniqueColumn(t *catalog.Table, indexes []query.Index, pos int) bool {
	if key := keyPositions(t); len(key) == 1 && key[0] == pos {
		return true
	}
	for _, ix := range indexes {
		if ix.Def.Unique && len(ix.Keys) == 1 && ix.Where == nil {
			if v, ok := bare(ix.Keys[0]).(*query.Var); ok && v.Col == pos {
				return true
			}
		}
	}
	return false
}

// note remembers how many rows a step returns.
func (x *estimates) note(n Node, rows float64) { x.rowsOf[n] = max(rows, 1) }

// rows estimates how many rows a step returns. What is small by construction is exact: keys,
// VALUES, LIMIT.
func (x *estimates) rows(n Node) float64 {
	if e, ok := x.done[n]; ok {
		return e.Rows
	}
	if rows, ok := x.rowsOf[n]; ok {
		return rows
	}
	switch n := n.(type) {
	case *Scan:
		return x.scanned(n)
	case *SystemScan, *FunctionScan:
		return guessSystem
	case *CTEScan:
		if rows, ok := x.ctes[cteRows{n.ID, n.Work}]; ok {
			return rows
		}
		return guessSystem
	case *Values:
		return float64(len(n.Rows))
	case *Gather:
		rows := x.rows(n.Child)
		if _, exact := x.rowsOf[n.Child]; n.Route.byValues() && !exact {
			rows = min(rows, guessContent)
		}
		return rows
	case *Filter:
		return max(1, x.rows(n.Child)*guessFilter)
	case *Limit:
		return min(x.rows(n.Child), limitOf(n.Count))
	case *Sort:
		kept := limitOf(n.Limit)
		if n.Offset != nil {
			kept += limitOf(n.Offset)
		}
		return min(x.rows(n.Child), kept)
	case *Aggregate:
		return x.grouped(n)
	case *Distinct:
		rows := x.rows(n.Child)
		if groups, ok := x.groupsOf(n.Child, distinctOf(n)); ok {
			return min(groups, rows)
		}
		return rows
	case *Project:
		if n.Sets {
			return x.rows(n.Child) * guessSet
		}
		return x.rows(n.Child)
	}
	return x.joined(n)
}

// grouped estimates how many rows an aggregate returns: the groups of each grouping set.
func (x *estimates) grouped(n *Aggregate) float64 {
	rows := x.rows(n.Child)
	switch {
	case len(n.Keys) == 0 && n.Sets == nil:
		return 1
	case n.Mode == AggFinal && n.Sets == nil:
		if partial := partialUnder(n.Child); partial != nil {
			if groups, ok := x.groupsOf(partial.Child, partial.Keys); ok {
				return min(groups, rows)
			}
		}
	case n.Mode == AggFinal:
	case n.Sets == nil:
		if groups, ok := x.groupsOf(n.Child, n.Keys); ok {
			return groups
		}
	}
	return max(1, rows*guessGroups)
}

// partialUnder returns the aggregate in the fragments below that at the gateway, nil if there is none.
func partialUnder(n Node) *Aggregate {
	g, ok := n.(*Gather)
	if !ok {
		return nil
	}
	partial, _ := g.Child.(*Aggregate)
	return partial
}

// distinctOf returns the columns that must differ in the rows of a step.
func distinctOf(n *Distinct) (out []query.Expr) {
	cols := n.Child.Output()
	for i, c := range cols {
		if n.Keys == nil || slices.Contains(n.Keys, i) {
			out = append(out, slot(i, c))
		}
	}
	return out
}

// groupsOf estimates how many different values of keys the rows of a step have; ok is false if too
// little is known of them.
func (x *estimates) groupsOf(n Node, keys []query.Expr) (groups float64, ok bool) {
	var tables []statistics.Grouping
	at := map[*Scan]int{}
	for _, k := range keys {
		s, e := origin(n, k)
		if e != nil && !query.Contains(e, isSlot) {
			continue // one value
		}
		if s == nil {
			return 0, false
		}
		if hasOneValue(s, e) {
			continue
		}
		of := x.columnsOf(&matcher{s: s}, nil)
		if of == nil {
			return 0, false
		}
		vars := []query.Expr{e}
		if _, ok := of(e); !ok { // an expression: of what it reads
			vars = nil
			query.Walk(e, func(e query.Expr) bool {
				if isSlot(e) {
					vars = append(vars, e)
				}
				return true
			})
		}
		if _, seen := at[s]; !seen {
			at[s] = len(tables)
			tables = append(tables, statistics.Grouping{Rows: x.tableRows(s.Table), Kept: x.rows(s)})
		}
		g := &tables[at[s]]
		for _, e := range vars {
			v, ok := of(e)
			if !ok || !v.Known() {
				return 0, false
			}
			if !slices.ContainsFunc(g.Variables, func(o statistics.Variable) bool {
				return len(o.Keys) > 0 && len(v.Keys) > 0 && o.Keys[0] == v.Keys[0]
			}) {
				g.Variables = append(g.Variables, v)
			}
		}
	}
	return statistics.Groups(tables, x.rows(n)), true
}

// hasOneValue reports whether a condition of a scan leaves an expression one value.
func hasOneValue(s *Scan, e query.Expr) bool {
	return slices.ContainsFunc(Conjuncts(s.Filter), func(c query.Expr) bool {
		n, ok := c.(*query.Call)
		return ok && n.Op == "=" && len(n.Args) == 2 && (query.Equal(n.Args[0], e) && known(n.Args[1]) ||
			query.Equal(n.Args[1], e) && known(n.Args[0]))
	})
}

func isSlot(e query.Expr) bool {
	_, ok := e.(*query.Slot)
	return ok
}

// origin returns the scan that the slots of an expression over a step come from, and the expression
// over the scan; nil if there is no such scan.
func origin(n Node, e query.Expr) (*Scan, query.Expr) {
	switch n := n.(type) {
	case *Scan:
		if !query.Contains(e, isSlot) {
			return nil, e
		}
		return n, e
	case *Gather, *Filter, *Limit, *Sort, *Distinct, *LockRows:
		return origin(n.Children()[0], e)
	case *Project:
		if n.Sets {
			return nil, nil
		}
		return origin(n.Child, query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
			if s, ok := x.(*query.Slot); ok && s.N < len(n.Exprs) {
				return n.Exprs[s.N], true
			}
			return nil, false
		}))
	case *HashJoin, *LookupJoin, *NestLoop:
		sides := n.Children()
		if rightOnly(n) {
			return origin(sides[1], e)
		}
		width := len(sides[0].Output())
		left, right := false, false
		shifted := query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
			s, ok := x.(*query.Slot)
			if !ok {
				return nil, false
			}
			left, right = left || s.N < width, right || s.N >= width
			moved := *s
			if s.N >= width {
				moved.N -= width
			}
			return &moved, true
		})
		switch {
		case left && right:
			return nil, nil
		case right:
			return origin(sides[1], shifted)
		}
		return origin(sides[0], e)
	}
	return nil, nil
}

func (x *estimates) joined(n Node) float64 {
	switch n := n.(type) {
	case *HashJoin:
		switch n.Kind {
		case query.Semi, query.Anti, query.Left:
			return x.rows(n.Left)
		case query.RightSemi, query.RightAnti:
			return x.rows(n.Right)
		}
		return max(x.rows(n.Left), x.rows(n.Right))
	case *LookupJoin:
		return x.joined(n.Join)
	case *NestLoop:
		if n.Kind == query.Semi || n.Kind == query.Anti {
			return x.rows(n.Left)
		}
		return max(1, x.rows(n.Left)) * max(1, x.rows(n.Right))
	}
	rows := 0.0
	for _, c := range n.Children() {
		rows += x.rows(c)
	}
	return max(1, rows)
}

func (x *estimates) scanned(s *Scan) float64 {
	rows := x.tableRows(s.Table)
	switch {
	case s.Index != nil:
		return min(rows, s.Index.estimate())
	case s.Access == ScanKeys:
		return x.keys(s.Keys, s.KeyArray)
	case s.Access == ScanOrdered && s.Span != nil:
		rows *= s.Span.selectivity()
	case s.Access == ScanOrdered && s.Lo != nil && s.Hi != nil:
		rows *= guessFilter * guessFilter
	case s.Filter != nil:
		rows *= guessFilter
	}
	return rows
}

// groups estimates how many different values keys have together in some rows of a step.
func (x *estimates) groups(n Node, keys []SortKey, rows float64) float64 {
	slots := make([]query.Expr, len(keys))
	for i, k := range keys {
		slots[i] = slot(k.Slot, n.Output()[k.Slot])
	}
	if out, ok := x.groupsOf(n, slots); ok {
		return min(out, rows)
	}
	out := 1.0
	for _, k := range keys {
		v := x.column(n, k.Slot)
		out *= v.Distinct()
	}
	return max(1, min(out, rows))
}

// column returns what is known of a slot of a step.
func (x *estimates) column(n Node, at int) statistics.Variable {
	in := n.Children()
	switch n := n.(type) {
	case *Scan:
		known, pos := x.table(n.Table), n.Slots[at]
		if known == nil || pos < 0 {
			return statistics.Variable{}
		}
		v := known.Variable(statistics.Key{Position: int16(n.Table.Columns[pos].AttNum)})
		v.Unique = v.Unique || uniqueColumn(n.Table, nil, pos)
		return v
	case *Project:
		if s, ok := n.Exprs[at].(*query.Slot); ok {
			return x.column(n.Child, s.N)
		}
	case *Filter, *Limit, *Sort, *Distinct, *Gather, *LockRows:
		return x.column(in[0], at)
	case *HashJoin, *LookupJoin, *NestLoop:
		if rightOnly(n) {
			return x.column(in[1], at)
		}
		left := len(in[0].Output())
		if at < left {
			return x.column(in[0], at)
		}
		return x.column(in[1], at-left)
	}
	return statistics.Variable{}
}

// keys is how many keys are looked up.
func (x *estimates) keys(list [][]query.Expr, array query.Expr) float64 {
	if array == nil {
		return float64(len(list))
	}
	if c, ok := array.(*query.Array); ok {
		return float64(len(c.Elems))
	}
	return guessArray
}

// limitOf is a LIMIT's count; an unknown one is taken for small.
func limitOf(e query.Expr) float64 {
	if e == nil {
		return guessTable * guessTable
	}
	if c, ok := e.(*query.Call); ok && c.Cast != 0 && len(c.Args) == 1 && integer(c.Args[0].Type()) {
		e = c.Args[0]
	}
	if c, ok := e.(*query.Const); ok {
		if c.Value.IsNull() {
			return guessTable * guessTable
		}
		return float64(max(0, c.Value.N))
	}
	return 100
}
