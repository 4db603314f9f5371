package plan

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// IndexScan says which entries of a secondary index a scan reads, and in which direction. Entries of
// a global index are found by all their columns.
type IndexScan struct {
	N     int // names the lookup within the plan
	Table *catalog.Table
	Index query.Index
	IndexKeys
	// Arms is set if the entries are those of several alternatives, which may overlap. Each entry is
	// read once, in the order of the index. IndexKeys says nothing then.
	Arms     []IndexKeys
	Backward bool
	Conds    []query.Expr // what the entries are found by, for EXPLAIN; empty: Equal and Arrays
}

// IndexKeys are entries of an index: those whose first columns have one of some values each, and
// whose columns behind them are bounded. Behind the columns of an index that is not unique comes the
// primary key.
type IndexKeys struct {
	// Equal are the values of the first columns, over Params and Outers: alternatives, or the
	// elements of one array. Columns in Nulls have none: they are null.
	Equal  [][]query.Expr
	Arrays []query.Expr // parallel to Equal, nil where that says all
	Nulls  []int
	// Paired is set if the first values of all columns go together, then the second values, and so
	// on. Otherwise the scan looks up every combination.
	Paired bool
	KeyBounds
	// Terms are conditions by whose terms a GIN index finds rows. The other fields say nothing then.
	Terms []TermSearch
}

// TermSearch is a condition between a key column of a GIN index and a value over Params and Outers.
type TermSearch struct {
	Column int
	Op     string
	Value  query.Expr
}

// All returns the keys that the scan reads: those of its arms, if it has some.
func (x *IndexScan) All() []IndexKeys {
	if len(x.Arms) > 0 {
		return x.Arms
	}
	return []IndexKeys{x.IndexKeys}
}

// whole reports whether every column has its value.
func (x *IndexScan) whole() bool { return len(x.Equal) == len(x.Index.Keys) }

// Single reports whether no more than a few rows can be found.
func (x *IndexScan) Single() bool {
	return x.whole() && x.Index.Def.Unique && (len(x.Nulls) == 0 || x.Index.Def.NullsNotDistinct)
}

// selects reports whether entries are read of some of the table's rows only.
func (x *IndexScan) selects() bool {
	return len(x.Equal) > 0 || !x.open() || len(x.Arms) > 0 || len(x.Terms) > 0 || x.Index.Where != nil
}

// asOlderNodes leaves out what only newer nodes know. Less is found by the index then, and the scan
// tests the rest.
func (x *IndexScan) asOlderNodes() {
	x.KeyBounds = KeyBounds{Lo: x.Lo, LoInc: x.LoInc, Hi: x.Hi, HiInc: x.HiInc}
	if len(x.Nulls) > 0 {
		x.Equal, x.Arrays, x.KeyBounds = x.Equal[:x.Nulls[0]], x.Arrays[:x.Nulls[0]], KeyBounds{}
		x.Nulls = nil
	}
	if x.Index.Def.Primary && len(x.Equal) > 0 {
		x.Equal, x.Arrays, x.KeyBounds = nil, nil, KeyBounds{}
	}
}

// overRow has an expression of an index read whole rows of its table: the scan computes from a row
// what its entry is.
func overRow(e query.Expr) query.Expr {
	if e == nil {
		return nil
	}
	return query.Rewrite(e, func(e query.Expr) (query.Expr, bool) {
		v, ok := e.(*query.Var)
		if !ok {
			return nil, false
		}
		return &query.Slot{T: v.T, N: v.Col}, true
	})
}

// indexColumns returns the columns of an index's entries.
func indexColumns(t *catalog.Table, ix query.Index) []keyColumn {
	if ix.Def.Primary {
		return keyColumns(t)
	}
	out := make([]keyColumn, len(ix.Keys))
	for i, key := range ix.Keys {
		order := ix.Def.OrderOf(i)
		v, ok := bare(key).(*query.Var)
		out[i] = keyColumn{
			expr: key, desc: order&catalog.KeyDesc != 0, nullsFirst: order&catalog.KeyNullsFirst != 0,
			notNull: ok && v.Col >= 0 && t.Columns[v.Col].NotNull,
		}
	}
	if !ix.Def.Unique {
		out = append(out, keyColumns(t)...)
	}
	return out
}

// indexScan finds what the conditions say about an index; nil where it cannot be used.
func (p *planner) indexScan(s *Scan, ix query.Index, conds []query.Expr) *IndexScan {
	m := matcher{s: s, conds: conds}
	if ix.Def.State != catalog.IndexPublic || !m.implies(p.fold(ix.Where)) {
		return nil
	}
	x := &IndexScan{Table: s.Table, Index: ix}
	ix.Keys = slices.Clone(ix.Keys)
	for i, key := range ix.Keys {
		ix.Keys[i] = p.fold(key)
	}
	if ix.Def.Method == catalog.GIN {
		x.Index = ix
		return m.termScan(x)
	}
	m.equal(x, ix.Keys)
	m.pair(x, ix.Keys)
	lookup := ix.Def.Global || ix.Def.Method == catalog.Hash
	if lookup && !x.whole() || !x.tuples() {
		return nil
	}
	columns := indexColumns(s.Table, ix)
	if !lookup && !x.Paired {
		x.KeyBounds = m.bounds(columns[len(x.Equal):])
	}
	if !p.env.OrderedIndexes {
		x.asOlderNodes()
	}
	x.Conds = m.usedBy(x, columns)
	return x
}

// equal finds the values of the first keys.
func (m *matcher) equal(x *IndexScan, keys []query.Expr) {
	arrays := 0
	for i, key := range keys {
		list, array := choices(m.conds, m.indexKey(key))
		if array != nil {
			arrays++
		}
		switch {
		case array != nil && (arrays > 1 || x.Index.Def.Primary):
			return
		case len(list) > 0 || array != nil:
		case x.Index.Def.Global || x.Index.Def.Primary || !m.isNull(key, true):
			return
		default:
			x.Nulls = append(x.Nulls, i)
		}
		x.Equal, x.Arrays = append(x.Equal, list), append(x.Arrays, array)
	}
}

// pair looks for an OR that sets the values of all columns together, which are fewer than all
// combinations of them.
func (m *matcher) pair(x *IndexScan, keys []query.Expr) {
	if len(keys) < 2 {
		return
	}
	want := make([]wanted, len(keys))
	for i, k := range keys {
		want[i] = m.indexKey(k)
	}
	rows := tuplesOfOr(m.conds, want)
	if len(rows) == 0 || x.whole() && len(rows) >= x.combinations() {
		return
	}
	x.Paired, x.Equal, x.Arrays = true, make([][]query.Expr, len(keys)), make([]query.Expr, len(keys))
	for i := range keys {
		for _, row := range rows {
			x.Equal[i] = append(x.Equal[i], row[i])
		}
	}
}

func (x *IndexKeys) combinations() int {
	n := 1
	for _, list := range x.Equal {
		n *= max(1, len(list))
	}
	return n
}

// tuples reports whether the combinations of values are few enough.
func (x *IndexKeys) tuples() bool { return x.Paired || x.combinations() <= maxKeyTuples }

// arms finds entries of an index that the arms of an OR name.
type arms struct {
	*planner
	s  *Scan
	ix query.Index
}

// scan finds the entries that the arms of an OR name, if each of them names some that the other
// conditions do not name alone; nil if there is no such OR. plain is the scan without arms.
func (a arms) scan(conds []query.Expr, plain *IndexScan) *IndexScan {
	if !a.env.OrderedIndexes || a.ix.Def.Global || plain == nil || len(plain.Terms) > 0 {
		return nil
	}
	for i, c := range conds {
		or, ok := c.(*query.Or)
		if !ok || len(or.Args) > maxKeyTuples || volatile(c) || anyStays(or.Args) || slices.Contains(plain.Conds, c) {
			continue
		}
		if x := a.of(or, slices.Concat(conds[:i], conds[i+1:])); x != nil {
			return x
		}
	}
	return nil
}

// of is scan for one OR.
func (a arms) of(or *query.Or, others []query.Expr) *IndexScan {
	out, tuples, whole := &IndexScan{Table: a.s.Table}, 0, true
	used, found := make([]bool, len(others)), &query.Or{}
	for _, arm := range or.Args {
		own := Conjuncts(arm)
		x := a.indexScan(a.s, a.ix, slices.Concat(others, own))
		if x == nil {
			return nil
		}
		var named []query.Expr
		for _, c := range x.Conds {
			if at := slices.Index(others, c); at >= 0 {
				used[at] = true
			} else {
				named = append(named, c)
			}
		}
		if tuples += x.combinations(); len(named) == 0 || tuples > maxKeyTuples {
			return nil
		}
		whole = whole && len(named) == len(own)
		found.Args = append(found.Args, Conjunction(named))
		out.Index, out.Arms = x.Index, append(out.Arms, x.IndexKeys)
	}
	for i, c := range others {
		if used[i] {
			out.Conds = append(out.Conds, c)
		}
	}
	if whole {
		found = or
	}
	out.Conds = append(out.Conds, found)
	return out
}

// usedBy lists the conditions by which entries are found.
func (m *matcher) usedBy(x *IndexScan, columns []keyColumn) []query.Expr {
	var out []query.Expr
	for _, c := range m.conds {
		one := matcher{s: m.s, conds: []query.Expr{c}}
		_, used := c.(*query.Or)
		used = used && x.Paired
		for i := range x.Equal {
			list, array := choices(one.conds, m.indexKey(columns[i].expr))
			used = used || list != nil || array != nil ||
				slices.Contains(x.Nulls, i) && one.isNull(columns[i].expr, true)
		}
		if !used && !x.open() {
			b := one.bounds(columns[len(x.Equal):])
			used = x.shares(&b)
		}
		if used {
			out = append(out, c)
		}
	}
	return out
}

// shares reports whether one of the bounds in b is bounded here too.
func (b *KeyBounds) shares(c *KeyBounds) bool {
	return b.Lo != nil && c.Lo != nil || b.Hi != nil && c.Hi != nil || b.LoRow != nil && c.LoRow != nil ||
		b.HiRow != nil && c.HiRow != nil || b.Prefix != nil && c.Prefix != nil || b.NotNull && c.NotNull
}

// canonical returns e over the table's columns as indexes have it; ok is false where it reads
// something else.
func (m *matcher) canonical(e query.Expr) (query.Expr, bool) {
	ok := true
	out := query.Rewrite(e, func(x query.Expr) (query.Expr, bool) {
		switch n := x.(type) {
		case *query.Slot:
			if n.N >= len(m.s.Slots) || m.s.Slots[n.N] < 0 {
				ok = false
				return x, true
			}
			return &query.Var{T: n.T, Col: m.s.Slots[n.N]}, true
		case *query.Outer, *SubPlan, *query.Param:
			ok = false
			return x, true
		}
		return nil, false
	})
	return out, ok
}

// isKey reports whether e is the key of an index.
func (m *matcher) isKey(e, key query.Expr) bool {
	if v, ok := bare(key).(*query.Var); ok {
		return m.position(e) == v.Col
	}
	c, ok := m.canonical(bare(e))
	return ok && query.Equal(c, bare(key))
}

// fits reports whether a value of a type, compared with the key, is encoded as the key's own values
// are.
func (m *matcher) fits(key query.Expr, v query.Expr) bool {
	if col, ok := bare(key).(*query.Var); ok {
		return m.keyLike(col.Col, v.Type())
	}
	return v.Type() == key.Type() || textLike(v.Type()) && textLike(key.Type())
}

// indexKey wants `key = value` and `key = ANY (array)`.
func (m *matcher) indexKey(key query.Expr) wanted {
	return wanted{
		equal: func(c *query.Call) query.Expr {
			if c.Op != "=" {
				return nil
			}
			for i, side := range c.Args {
				v := c.Args[1-i]
				if !known(v) || !m.isKey(side, key) {
					continue
				}
				if v = m.indexValue(key, v, toEqual); v != nil {
					return v
				}
			}
			return nil
		},
		any: func(a *query.ArrayOp) query.Expr {
			if !m.isKey(a.Left, key) {
				return nil
			}
			return m.indexArray(key, a.Array)
		},
	}
}

// indexArray returns an array as the key's own values are encoded, nil where that cannot be.
func (m *matcher) indexArray(key, array query.Expr) query.Expr {
	if m.fits(key, &query.Const{T: query.Of(types.ElemOf(array.Type()))}) {
		return array
	}
	return narrowedArray(array, key.Type())
}

// implies reports whether the conditions contain the predicate of a partial index, member by
// member.
func (m *matcher) implies(predicate query.Expr) bool {
	for _, want := range Conjuncts(predicate) {
		found := slices.ContainsFunc(m.conds, func(c query.Expr) bool {
			own, ok := m.canonical(c)
			return ok && query.Equal(own, want) || m.notNull(c, want) || m.entails(c, want)
		})
		if !found {
			return false
		}
	}
	return true
}

// entails reports whether a comparison with a constant holds only if another one of the same key
// does: val > 100 entails val > 50.
func (m *matcher) entails(c, want query.Expr) bool {
	op, key, limit := comparedConst(want)
	if limit == nil {
		return false
	}
	if a, ok := c.(*query.ArrayOp); ok && !a.All && a.Op == "=" && m.isKey(a.Left, key) {
		elems, ok := constantElements(a.Array)
		return ok && !slices.ContainsFunc(elems, func(e query.Expr) bool {
			v := e.(*query.Const)
			return !v.Value.IsNull() && !entailedBy("=", v, op, limit)
		})
	}
	own, side, v := comparedConst(c)
	return v != nil && m.isKey(side, key) && entailedBy(own, v, op, limit)
}

// comparedConst takes a comparison with a constant that is not null apart; limit is nil for anything
// else.
func comparedConst(e query.Expr) (op string, side query.Expr, limit *query.Const) {
	c, ok := e.(*query.Call)
	if !ok || len(c.Args) != 2 || flip(c.Op) == "" && c.Op != "=" && c.Op != "<>" {
		return "", nil, nil
	}
	op, side = c.Op, c.Args[0]
	v, ok := c.Args[1].(*query.Const)
	if !ok {
		if v, ok = c.Args[0].(*query.Const); !ok {
			return "", nil, nil
		}
		if side = c.Args[1]; flip(op) != "" {
			op = flip(op)
		}
	}
	if v.Value.IsNull() {
		return "", nil, nil
	}
	return op, side, v
}

// entailedBy reports whether all x that compare with v as own says compare with limit as op says.
func entailedBy(own string, v *query.Const, op string, limit *query.Const) bool {
	if v.OID != limit.OID && !(integer(v.OID) && integer(limit.OID)) {
		return false
	}
	d := types.Compare(limit.OID, v.Value, limit.Value)
	if op == "=" {
		return own == "=" && d == 0
	}
	if op == "<>" {
		switch own {
		case "=":
			return d != 0
		case ">", "<":
			return d == 0 || (d > 0) == (own == ">")
		}
		return d > 0 && own == ">=" || d < 0 && own == "<="
	}
	if op[0] == '<' {
		d = -d
	}
	switch own {
	case "=":
		return d > 0 || d == 0 && len(op) == 2
	case op[:1]:
		return d >= 0
	case op[:1] + "=":
		return d > 0 || d == 0 && len(op) == 2
	}
	return false
}

// notNull reports whether a condition that only holds for a value asks for what `column IS NOT
// NULL` does.
func (m *matcher) notNull(c, want query.Expr) bool {
	test, ok := want.(*query.NullTest)
	if !ok || !test.Not {
		return false
	}
	call, ok := c.(*query.Call)
	if !ok || len(call.Args) != 2 || !call.Proc.Strict {
		return false
	}
	return slices.ContainsFunc(call.Args, func(a query.Expr) bool { return m.isKey(a, test.Arg) })
}

// forgetFound makes scans that count on another lookup than the route's read their buckets.
func forgetFound(n Node, route *IndexScan) {
	if s, ok := n.(*Scan); ok && s.Access == ScanFound && s.Index != route {
		s.Access, s.Index = ScanBuckets, nil
	}
	for _, c := range n.Children() {
		forgetFound(c, route)
	}
}

// split takes the filter of a scan apart: the conditions by which entries are found, and the rest.
func (x *IndexScan) split(filter query.Expr) (used, rest query.Expr) {
	var others []query.Expr
	for _, c := range Conjuncts(filter) {
		text := ExprText(c, nil)
		if !slices.ContainsFunc(x.Conds, func(u query.Expr) bool { return ExprText(u, nil) == text }) {
			others = append(others, c)
		}
	}
	return Conjunction(x.Conds), Conjunction(others)
}

// lookupColumn is where the value of a column of a key comes from that a join looks up: from an
// equality of the join, or, if that is -1, from a condition of the side alone.
type lookupColumn struct {
	eq    int
	value query.Expr
}

// indexEqualities finds the index by which a join may read the rows of its right side, and where the
// values of its first columns come from.
func (p *planner) indexEqualities(
	l *level, s *Scan, right part, eqs []equality,
) (best *IndexScan, chosen []lookupColumn) {
	rel := right.local.rels[0]
	m := matcher{s: s, conds: Conjuncts(s.Filter)}
	indexes := l.q.Rels[rel].Indexes
	if ix := orderIndex(s.Table); ix != nil && p.env.OrderedIndexes {
		indexes = append(slices.Clone(indexes), primaryIndex(s.Table, ix))
	}
	for _, ix := range indexes {
		if ix.Def.State != catalog.IndexPublic || ix.Def.Method == catalog.GIN || !m.implies(p.fold(ix.Where)) {
			continue
		}
		var found []lookupColumn
		x, joins := &IndexScan{Table: s.Table, Index: ix}, 0
		for _, key := range ix.Keys {
			c := lookupColumn{eq: slices.IndexFunc(eqs, func(e equality) bool {
				return !e.nulls && isKeyOf(e.right, key, rel) && m.indexValue(key, e.left, toEqual) != nil
			})}
			if c.eq >= 0 {
				joins++
			} else if c.value = m.oneValue(m.indexKey(key)); c.value == nil {
				break
			}
			found, x.Equal, x.Arrays = append(found, c), append(x.Equal, nil), append(x.Arrays, nil)
		}
		if joins == 0 || (ix.Def.Global || ix.Def.Method == catalog.Hash) && !x.whole() {
			continue
		}
		if best == nil || pathBy(x).cost(0, anyOrder, presorted{}) < pathBy(best).cost(0, anyOrder, presorted{}) {
			best, chosen = x, found
		}
	}
	return best, chosen
}

// oneValue returns the one value that a column of a key has by the conditions; nil if there is none.
func (m *matcher) oneValue(w wanted) query.Expr {
	if list, array := choices(m.conds, w); len(list) == 1 && array == nil {
		return list[0]
	}
	return nil
}

// isKeyOf reports whether e, over the query's tables, is the key of an index of entry rel.
func isKeyOf(e, key query.Expr, rel int) bool {
	own := query.Rewrite(bare(e), func(x query.Expr) (query.Expr, bool) {
		v, ok := x.(*query.Var)
		if !ok || v.Up != 0 || v.Rel != rel {
			return nil, false
		}
		c := *v
		c.Rel = 0
		return &c, true
	})
	return !query.Contains(e, func(x query.Expr) bool {
		v, ok := x.(*query.Var)
		return ok && (v.Up != 0 || v.Rel != rel)
	}) &&
		query.Equal(own, bare(key))
}

// join makes the values those of the row on the other side.
func (x *IndexScan) join(tuple []query.Expr) {
	for i, v := range tuple {
		x.Equal[i] = []query.Expr{v}
	}
	x.Conds = nil
}
