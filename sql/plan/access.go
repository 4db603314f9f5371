package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/plan/selectivity"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// accessPath is one way to read the rows of a scan: what it reads, in which order rows come, and
// what that costs.
type accessPath struct {
	kind    AccessKind
	index   *IndexScan  // of ScanIndex and ScanFound, and of ScanOrdered as an index over the primary key
	columns []keyColumn // of its entries
	rows    float64     // that are read
	perRow  float64     // cost of each
	start   float64     // cost before the first
	alone   bool        // Scan.EntryAlone
	rest    []query.Expr
}

// Costs, in units of a row that is read with its neighbours; integration/costs measures them.
const (
	costRow = 1.0
	// An entry of an index, and its row: measured as 2 to 4.4 if the row is in the cache, and as 12 to 15
	// if the database reads it.
	costEntry = 8.0
	// an entry alone, if it has all that is read
	costEntryOnly = 1.0
	costFind      = 20.0 // asking a global index, which is in few fragments
	costAsk       = 25.0 // asking a local index, which is in all of them
	costRange     = 10.0 // of a further range of the same scan
	costSort      = 0.1  // of a comparison
)

// accessPaths returns the ways to read the rows that meet the conditions.
func (p *planner) accessPaths(s *Scan, r *Route, indexes []query.Index, conds []query.Expr) []*accessPath {
	all := max(p.est.tableRows(s.Table), leastRows)
	of := p.est.columnsOf(&matcher{s: s}, indexes)
	byKey := &accessPath{kind: ScanKeys, rows: p.est.keys(r.Keys, r.KeyArray), perRow: costEntry}
	keyed := len(r.Keys) > 0 || r.KeyArray != nil || r.Never
	if keyed && !p.env.Off.KeyLookup {
		return []*accessPath{byKey}
	}
	narrow := r.byValues() || r.Lo != nil || r.Hi != nil || r.Span != nil && r.Span.narrow()
	buckets := &accessPath{kind: ScanBuckets, rows: all, perRow: costRow}
	switch x := r.Span; {
	case x != nil && of != nil:
		m := matcher{s: s, conds: conds}
		by := &IndexScan{Table: s.Table, IndexKeys: IndexKeys{Equal: x.Equal, KeyBounds: x.KeyBounds}}
		buckets.rows *= p.est.among(of, s, indexes, m.usedBy(by, keyColumns(s.Table)))
	case x != nil:
		buckets.rows *= x.selectivity()
	}
	if narrow {
		buckets.rows = min(buckets.rows, guessNarrow)
	}
	if r.byValues() && of != nil {
		m := matcher{s: s, conds: conds}
		buckets.rows = max(1, all*p.est.among(of, s, indexes, m.ofContent()))
	}
	out := []*accessPath{buckets}
	if keyed {
		out = append(out, byKey)
	}
	if ix := orderIndex(s.Table); ix != nil {
		indexes = slices.Insert(slices.Clone(indexes), 0, primaryIndex(s.Table, ix))
	}
	for _, ix := range indexes {
		plain := p.indexScan(s, ix, conds)
		for _, x := range []*IndexScan{plain, (arms{p, s, ix}).scan(conds, plain)} {
			if x == nil {
				continue
			}
			a := pathBy(x)
			if of != nil && !x.Single() {
				a.rows = max(1, all*p.est.among(of, s, indexes, slices.Concat(Conjuncts(ix.Where), x.Conds)))
			}
			a.rest, a.alone = s.entriesAlone(x, p.unread[s], conds)
			if _, ok := s.columnsIn(x, func(int) bool { return a.alone }); ok && a.kind != ScanFound {
				a.perRow = costEntryOnly
			}
			out = append(out, a)
		}
	}
	return out
}

func pathBy(x *IndexScan) *accessPath {
	a := &accessPath{
		kind: ScanIndex, index: x, columns: indexColumns(x.Table, x.Index),
		rows: x.estimate(), perRow: costEntry, start: costAsk,
	}
	switch {
	case x.Index.Def.Primary:
		a.kind = ScanOrdered
	case x.Index.Def.Global:
		a.kind, a.columns, a.start = ScanFound, nil, costFind
	case x.Index.Def.Method == catalog.GIN || x.Index.Def.Method == catalog.Hash:
		a.columns = nil // its entries are in no order
	}
	if n := x.lists(); n > 1 {
		a.start += costRange * float64(n-1)
	}
	if n := len(x.Arms); n > 0 {
		a.start += costRange * float64(n-1)
	}
	return a
}

// orderIndex returns the index in primary key order, nil where it is switched off.
func orderIndex(t *catalog.Table) *catalog.Index {
	for i := range t.Indexes {
		if t.Indexes[i].Primary {
			return &t.Indexes[i]
		}
	}
	return nil
}

// primaryIndex returns the index in primary key order as one over the columns of the key.
func primaryIndex(t *catalog.Table, def *catalog.Index) query.Index {
	x := query.Index{Def: def}
	for _, c := range keyColumns(t) {
		x.Keys = append(x.Keys, c.expr)
	}
	return x
}

// choose has a scan read its rows by the cheapest path. It returns the number of keys in whose order
// they come, and the cost of the wanted rows, sorted. It may be called again once an order is known.
func (p *planner) choose(
	s *Scan, r *Route, indexes []query.Index, conds []query.Expr, want wantedOrder,
) (inOrder int, cost float64) {
	paths := p.accessPaths(s, r, indexes, conds)
	found := max(p.est.tableRows(s.Table), leastRows)
	of := p.est.columnsOf(&matcher{s: s}, indexes)
	if of != nil {
		found *= p.est.among(of, s, indexes, conds)
	} else if len(conds) > 0 {
		found *= guessFilter
	}
	for _, a := range paths {
		found = min(found, a.rows)
	}
	m := matcher{s: s, conds: conds}
	best, cost := paths[0], math.Inf(1)
	for _, a := range paths {
		backward, n := m.provides(a, want.keys)
		if backward && a.kind != ScanOrdered && !p.env.OrderedIndexes || n < len(want.keys) && !p.env.incremental() {
			n = 0
		}
		if n == 0 && a.index != nil && !a.index.selects() {
			continue // all of the index, in an order that does not help
		}
		pre := presorted{keys: n}
		if n > 0 {
			pre.groups = m.groups(of, want.keys[:n], a.columns[:len(a.index.Equal)], found)
		}
		if c := a.cost(found, want, pre) + p.env.Off.penalty(a, want, n > 0); c < cost {
			best, cost, inOrder = a, c, n
			if a.index != nil {
				a.index.Backward = backward && n > 0
			}
		}
	}
	best.use(p, s, r)
	p.est.costOf[s] = costs{best.start, best.start + best.rows*best.perRow}
	return inOrder, cost
}

// costOff is added to the cost of what is switched off.
const costOff = 1e10

// reading reports whether reading rows in a way is switched off.
func (m Methods) reading(by AccessKind, index *IndexScan) bool {
	switch {
	case by == ScanBuckets:
		return m.SeqScan
	case by == ScanKeys:
		return m.KeyLookup
	case index != nil && len(index.Terms) > 0:
		return m.BitmapScan
	}
	return m.IndexScan
}

// penalty is added to the cost of reading rows by a path, if they come in the wanted order or not.
func (m Methods) penalty(a *accessPath, want wantedOrder, ordered bool) (cost float64) {
	if m.reading(a.kind, a.index) {
		cost += costOff
	}
	if m.Sort && len(want.keys) > 0 && want.groups == 0 && !ordered {
		cost += costOff
	}
	return cost
}

// cost is what it costs to get the wanted rows, if found is how many there are.
func (a *accessPath) cost(found float64, want wantedOrder, pre presorted) float64 {
	rows, sort := a.rows, 0.0
	switch {
	case len(want.keys) == 0:
	case pre.keys == len(want.keys):
		rows *= min(1, want.limit/max(1, found))
	case pre.keys > 0:
		group := found / max(1, pre.groups)
		wanted := min(found, want.limit+group)
		rows *= wanted / max(1, found)
		sort = sortWork(wanted, group)
	case want.groups > 0:
		sort = want.hashing(found)
	default:
		sort = sortWork(found, min(found, 2*want.limit))
	}
	return a.start + rows*a.perRow + sort
}

// sortWork is what it costs to sort rows in groups, or to keep a group of them, sorted.
func sortWork(rows, group float64) float64 { return costSort * rows * math.Log2(group+2) }

// use makes s a scan by the path, in place of the one that it was before.
func (a *accessPath) use(p *planner, s *Scan, r *Route) {
	s.Access, s.Keys, s.KeyArray, s.Index, s.Span = a.kind, nil, nil, nil, nil
	s.Lo, s.Hi, s.LoInc, s.HiInc, s.Desc, s.AnyOrder = nil, nil, false, false, false, false
	s.EntryAlone, s.EntryFilter = a.alone, Conjunction(a.rest)
	r.Index = nil
	switch a.kind {
	case ScanKeys:
		if s.Keys, s.KeyArray = r.Keys, r.KeyArray; r.Never && len(r.Keys) == 0 && r.KeyArray == nil {
			s.Access = ScanBuckets
		}
	case ScanBuckets:
		s.Span = r.Span // its segments have their rows in the order of keys
	case ScanOrdered:
		x := a.index
		s.Desc = x.Backward
		if len(x.Arms) > 0 {
			s.Span = &KeySpan{Arms: x.Arms, Conds: x.Conds}
			break
		}
		if older := (KeyBounds{Lo: x.Lo, LoInc: x.LoInc, Hi: x.Hi, HiInc: x.HiInc}); len(x.Equal) == 0 &&
			x.Prefix == nil && x.LoRow == nil && x.HiRow == nil {
			s.Lo, s.LoInc, s.Hi, s.HiInc = older.Lo, older.LoInc, older.Hi, older.HiInc
		} else {
			s.Span = &KeySpan{Equal: x.Equal, KeyBounds: x.KeyBounds}
		}
	default:
		a.index.use(p, s, r)
	}
}

// use makes s a scan by the index.
func (x *IndexScan) use(p *planner, s *Scan, r *Route) {
	p.lookups++
	x.N = p.lookups
	s.Access, s.Index = ScanIndex, x
	s.Lo, s.Hi, s.Span = nil, nil, nil
	if x.Index.Def.Global {
		s.Access, r.Index = ScanFound, x
		return
	}
	x.Index.Keys = slices.Clone(x.Index.Keys)
	for i, key := range x.Index.Keys {
		x.Index.Keys[i] = overRow(key)
	}
	x.Index.Where = overRow(x.Index.Where)
}

// estimate guesses how many rows are found.
func (x *IndexScan) estimate() float64 {
	if len(x.Arms) > 0 {
		sum := 0.0
		for _, k := range x.Arms {
			sum += (&IndexScan{Table: x.Table, Index: x.Index, IndexKeys: k}).estimate()
		}
		return min(sum, guessTable)
	}
	n := 1.0
	for i, list := range x.Equal {
		if x.Paired && i > 0 {
			break
		}
		if x.Arrays[i] != nil {
			n *= guessArray
		} else {
			n *= float64(max(1, len(list)))
		}
	}
	table := guessTable
	if x.Index.Where != nil {
		table *= guessFilter
	}
	switch {
	case x.Single():
		return n
	case len(x.Terms) > 0:
		return table * math.Pow(guessTerms, float64(len(x.Terms)))
	case len(x.Equal) == 0:
		return table * x.KeyBounds.selectivity()
	case len(x.Nulls) == len(x.Equal):
		return table * guessNull * x.KeyBounds.selectivity()
	}
	more := math.Pow(guessMore, float64(len(x.Equal)-1))
	return max(1, n*guessEqual*more*x.KeyBounds.selectivity())
}

// selectivity guesses which part of a table's keys is in a span.
func (x *KeySpan) selectivity() float64 {
	if len(x.Arms) > 0 {
		sum := 0.0
		for _, k := range x.Arms {
			sum += (&KeySpan{Equal: k.Equal, KeyBounds: k.KeyBounds}).selectivity()
		}
		return min(sum, 1)
	}
	all := x.KeyBounds.selectivity()
	if n := len(x.Equal); n > 0 {
		all *= guessEqual / guessTable * math.Pow(guessMore, float64(n-1))
	}
	return all
}

// selectivity guesses which part of what they bound is within the bounds.
func (b *KeyBounds) selectivity() float64 {
	switch {
	case b.lower() && b.upper(), b.begins():
		return guessFilter * guessFilter
	case b.bounded(), b.Prefix != nil:
		return guessBound
	}
	return 1
}

// Guesses of how many rows an index finds.
const (
	guessArray  = 100.0
	guessEqual  = 100.0 // rows with the same value
	guessMore   = 0.3   // of these, with the same value of one more column
	guessTerms  = 0.01  // of the rows, by a condition of a GIN index
	guessNull   = 0.05  // of the rows
	guessBound  = 0.05  // of them, above or below a value
	guessNarrow = 100.0 // rows in the buckets that a route names
)

// Conditions takes the filter of the scan apart, as EXPLAIN shows it: the conditions by which it
// finds its rows, and the rest.
func (s *Scan) Conditions() (used, rest query.Expr) {
	switch s.Access {
	case ScanKeys:
		return s.keyConditions()
	case ScanOrdered:
		by := &IndexScan{Table: s.Table, IndexKeys: IndexKeys{KeyBounds: KeyBounds{Lo: s.Lo, Hi: s.Hi}}}
		if s.Span != nil {
			if by.Conds = s.Span.Conds; len(by.Conds) > 0 {
				return by.split(s.Filter)
			}
			by.Equal, by.KeyBounds = s.Span.Equal, s.Span.KeyBounds
		}
		m := matcher{s: s, conds: Conjuncts(s.Filter)}
		by.Conds = append(m.usedBy(by, keyColumns(s.Table)), s.lookedUp(keyColumns(s.Table), by.Equal)...)
		return by.split(s.read())
	case ScanIndex, ScanFound:
		by := *s.Index
		if len(by.Conds) == 0 {
			values := slices.Clone(by.Equal)
			for i, array := range by.Arrays {
				if array != nil {
					values[i] = append(slices.Clone(values[i]), array)
				}
			}
			m := matcher{s: s, conds: Conjuncts(s.Filter)}
			columns := indexColumns(s.Table, by.Index)
			by.Conds = append(m.usedBy(&by, columns), s.lookedUp(columns, values)...)
		}
		return by.split(s.read())
	}
	return nil, s.Filter
}

// read is the filter of a scan as far as entries do not meet it anyway.
func (s *Scan) read() query.Expr {
	if s.EntryAlone {
		return s.EntryFilter
	}
	return s.Filter
}

// lookedUp returns the equalities by which a join looks up rows: each of a column that no condition of
// the scan sets with its value. Of a batch of rows it is the value that each row has.
func (s *Scan) lookedUp(columns []keyColumn, values [][]query.Expr) (out []query.Expr) {
	m := matcher{s: s, conds: Conjuncts(s.Filter)}
	named := func(e query.Expr) (query.Expr, bool) {
		col := -1
		switch v := e.(type) {
		case *query.Var:
			col = v.Col
		case *query.Slot:
			col = v.N
		}
		if col < 0 {
			return nil, false
		}
		name, of := s.Table.Columns[col].Name, cmp.Or(s.Alias, s.Table.Name)
		return &query.Slot{T: query.Of(e.Type()), Name: name, Rel: of}, true
	}
	for i, list := range values {
		if set, array := choices(m.conds, m.indexKey(columns[i].expr)); set != nil || array != nil {
			continue
		}
		for _, v := range list {
			query.Walk(v, func(e query.Expr) bool {
				if o, ok := e.(*query.Outer); ok && o.Of != nil {
					v = o.Of
				}
				return true
			})
			key := query.Rewrite(columns[i].expr, named)
			out = append(out, &query.Call{T: query.Of(types.Bool), Op: "=", Args: []query.Expr{key, v}})
		}
	}
	return out
}

// keyConditions takes the filter of a lookup apart: the conditions that name the keys, and the rest.
func (s *Scan) keyConditions() (keys, rest query.Expr) {
	m := matcher{s: s}
	var named, others []query.Expr
	tuples := false
	for _, c := range Conjuncts(s.Filter) {
		one := false
		for _, col := range keyPositions(s.Table) {
			list, array := choices([]query.Expr{c}, m.column(col))
			one = one || list != nil || array != nil
		}
		_, or := c.(*query.Or)
		if or = or && len(keyPositions(s.Table)) > 1; one || or {
			named = append(named, c)
		} else {
			others = append(others, c)
		}
		tuples = tuples || or
	}
	values := make([][]query.Expr, len(keyPositions(s.Table)))
	for _, tuple := range s.Keys {
		for i, v := range tuple {
			values[i] = append(values[i], v)
		}
	}
	if s.KeyArray != nil {
		values[0] = append(values[0], s.KeyArray)
	}
	if !tuples {
		named = append(s.lookedUp(keyColumns(s.Table), values), named...)
	}
	return Conjunction(named), Conjunction(others)
}

// ReadIndex returns the index that the scan reads; nil if it reads buckets or looks up keys.
func (s *Scan) ReadIndex() *catalog.Index {
	switch s.Access {
	case ScanOrdered:
		return orderIndex(s.Table)
	case ScanIndex, ScanFound:
		return s.Index.Index.Def
	}
	return nil
}

// guess is how many rows of a table some conditions with parameters select.
type guess struct {
	scan    Scan
	indexes []query.Index
	conds   []query.Expr
}

// among returns the share of the rows of a scan that meet conditions. It notes those with parameters.
func (x *estimates) among(of selectivity.Columns, s *Scan, indexes []query.Index, conds []query.Expr) float64 {
	if slices.ContainsFunc(conds, hasParam) && !slices.ContainsFunc(x.guesses, func(g guess) bool {
		return g.scan.Table == s.Table && g.scan.Alias == s.Alias && slices.EqualFunc(g.conds, conds, query.Equal)
	}) {
		scan := Scan{Table: s.Table, Alias: s.Alias, Slots: slices.Clone(s.Slots)}
		x.guesses = append(x.guesses, guess{scan: scan, indexes: indexes, conds: conds})
	}
	return of.Of(conds)
}

func hasParam(e query.Expr) bool {
	return query.Contains(e, func(e query.Expr) bool { _, is := e.(*query.Param); return is })
}

// ArgumentsKey returns a key of arguments of the planned statement: for those with the same key the
// planner expects about as many rows of each table and index, so that it most likely chooses the same
// plan. known and together are as in Env.
func (p *Plan) ArgumentsKey(
	known func(*catalog.Table) *statistics.Table, together func(*catalog.Table) []query.StatisticsExpression,
	args []types.Datum,
) string {
	key := make([]byte, 0, len(args)+len(p.guesses))
	for _, d := range args {
		if d.IsNull() {
			key = append(key, 0)
		} else {
			key = append(key, 1)
		}
	}
	x := estimates{known: known, also: together}
	for i := range p.guesses {
		g := &p.guesses[i]
		of := x.columnsOf(&matcher{s: &g.scan}, g.indexes)
		if of == nil {
			continue
		}
		conds := make([]query.Expr, len(g.conds))
		for i, c := range g.conds {
			conds[i] = query.Rewrite(c, func(e query.Expr) (query.Expr, bool) {
				n, ok := e.(*query.Param)
				if !ok || n.N > len(args) {
					return nil, false
				}
				return &query.Const{T: n.T, Value: args[n.N-1]}, true
			})
		}
		rows := max(1, x.tableRows(g.scan.Table)*of.Of(conds))
		key = append(key, byte(2*math.Log2(rows)))
	}
	return string(key)
}
