package plan

import (
	"math"
	"slices"

	"github.com/sherddb/sherd/sql/plan/selectivity"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// wantedOrder is the order in which the rows of a scan are wanted, and how many of them.
type wantedOrder struct {
	keys  []orderKey // empty: any order
	limit float64
	// groups is set if rows that come in another order are not sorted, but put into so many groups, which
	// are sorted then.
	groups float64
}

// orderKey is an expression over the scan's slots by which its rows are ordered.
type orderKey struct {
	expr             query.Expr
	desc, nullsFirst bool
}

// hashing is what it costs to put rows into groups, and to sort these.
func (w *wantedOrder) hashing(rows float64) float64 {
	groups := min(w.groups, rows)
	return rows*costGroup + sortWork(groups, groups)
}

// anyOrder wants all rows.
var anyOrder = wantedOrder{limit: math.Inf(1)}

// groups estimates how many different values some keys have together in some rows that have one value
// in all of the columns of fixed.
func (m *matcher) groups(of selectivity.Columns, keys []orderKey, fixed []keyColumn, rows float64) float64 {
	out := 1.0
	for _, k := range keys {
		if known(k.expr) || m.among(fixed, k.expr) {
			continue
		}
		v := statistics.Variable{}
		if of != nil {
			v, _ = of(k.expr)
		}
		out *= v.Distinct()
	}
	return max(1, min(out, rows))
}

// presorted is how far rows come in a wanted order: in that of the first keys, which have together
// so many different values.
type presorted struct {
	keys   int
	groups float64
}

// provides returns the number of keys in whose order the rows of a path come, if its index is read
// in one direction. Columns that have one value do not count.
func (m *matcher) provides(a *accessPath, keys []orderKey) (backward bool, n int) {
	x := a.index
	if len(keys) == 0 || a.columns == nil || x.Paired || x.combinations() != 1 ||
		slices.ContainsFunc(x.Arrays, func(e query.Expr) bool { return e != nil }) {
		return false, 0
	}
	at, turned := len(x.Equal), false // turned: the direction is known
	for i, k := range keys {
		if known(k.expr) || m.among(a.columns[:at], k.expr) {
			n = i + 1
			continue
		}
		for at < len(a.columns) && repeats(a.columns, at) {
			at++
		}
		if at == len(a.columns) && x.differ(a.columns) {
			break // rows that are equal so far are one row
		}
		if !turned {
			n = 0
		}
		if at == len(a.columns) || !m.isKey(k.expr, a.columns[at].expr) {
			return backward, n
		}
		c := a.columns[at]
		reversed := k.desc != c.desc
		nulls := !c.notNull && (at > len(x.Equal) || x.open())
		if turned && reversed != backward || nulls && k.nullsFirst != (c.nullsFirst != reversed) {
			return backward, n
		}
		backward, turned, at, n = reversed, true, at+1, i+1
	}
	return backward, len(keys)
}

// among reports whether e is one of the columns.
func (m *matcher) among(columns []keyColumn, e query.Expr) bool {
	return slices.ContainsFunc(columns, func(c keyColumn) bool { return m.isKey(e, c.expr) })
}

// repeats reports whether a column of an index is there a second time.
func repeats(columns []keyColumn, at int) bool {
	return slices.ContainsFunc(columns[:at], func(c keyColumn) bool { return query.Equal(c.expr, columns[at].expr) })
}

// differ reports whether no two entries have the same values in all columns.
func (x *IndexScan) differ(columns []keyColumn) bool {
	if !x.Index.Def.Unique || x.Index.Def.Primary {
		return len(keyPositions(x.Table)) > 0
	}
	return x.Index.Def.NullsNotDistinct || !slices.ContainsFunc(columns, func(c keyColumn) bool { return !c.notNull })
}

// readInOrder has cur, if it is a scan, read its rows in the order of the query, and returns the
// number of keys in whose order they come: 0 if another way and a sort are cheaper.
func (p *planner) readInOrder(l *level, cur part) (part, int) {
	if len(cur.order) > 0 {
		return cur, len(cur.order)
	}
	whole := p.unions.scan(cur)
	s, ok := scanUnder(whole.node)
	if !ok || whole.local == nil || len(whole.local.rels) != 1 || l.q.HasSRFs && !lateTargets(l.q) ||
		p.env.Off.GatherMerge {
		return cur, 0
	}
	want := wantedOrder{keys: l.orderKeys(p, whole.in, orderOf(l.q)), limit: math.Inf(1)}
	if len(want.keys) == 0 {
		return cur, 0
	}
	indexes := l.q.Rels[whole.local.rels[0]].Indexes
	if l.q.Limit != nil {
		want.limit = wantedRows(l.q)
	}
	if l.q.Distinct { // LIMIT counts groups
		on, m, rows := want.keys, matcher{s: s}, p.est.rows(cur.node)
		if n := len(l.q.DistinctOn); n > 0 {
			on = on[:min(n, len(on))]
		}
		groups := m.groups(p.est.columnsOf(&m, indexes), on, nil, rows)
		if want.limit *= rows / groups; l.q.DistinctOn == nil {
			want.groups = groups
		}
	}
	presorted, cost := p.choose(s, &whole.local.route, indexes, Conjuncts(s.Filter), want)
	if whole.node == cur.node {
		return cur, presorted
	}
	instead := p.est.cost(&Sort{Child: cur.node, Limit: l.q.Limit})
	if want.groups > 0 {
		instead = p.est.cost(cur.node) + want.hashing(p.est.rows(cur.node))
	}
	if presorted > 0 && cost < instead {
		return whole, presorted
	}
	return cur, 0
}

// orderOf returns the keys of ORDER BY, and those behind them that DISTINCT needs for equal rows to be
// neighbours: its columns, in the same direction. DISTINCT without ORDER BY needs none.
func orderOf(q *query.Query) []query.SortKey {
	keys := lateKeys(q)
	if !q.Distinct || q.DistinctOn != nil || len(keys) == 0 {
		return keys
	}
	last := keys[len(keys)-1]
	for i, t := range q.Targets[:visible(q)] {
		switch {
		case !types.CanKey(t.Expr.Type()):
			return nil
		case !isSortKey(q, i):
			keys = append(keys, query.SortKey{Target: i, Desc: last.Desc, NullsFirst: last.Desc})
		}
	}
	return keys
}

// orderKeys returns keys of the query over the rows of a scan; none if it cannot be read in their
// order.
func (l *level) orderKeys(p *planner, in *layout, of []query.SortKey) (keys []orderKey) {
	for _, k := range of {
		e := l.q.Targets[k.Target].Expr
		if hasSubLink(e) || volatile(e) {
			return nil
		}
		e, err := p.rewrite(l, e, in)
		if err != nil {
			return nil
		}
		keys = append(keys, orderKey{e, k.Desc, k.NullsFirst})
	}
	return keys
}

// wantedRows is how many rows LIMIT and OFFSET need.
func wantedRows(q *query.Query) float64 {
	if q.Offset == nil {
		return limitOf(q.Limit)
	}
	return limitOf(q.Limit) + limitOf(q.Offset)
}

// scanUnder returns n if it is a scan.
func scanUnder(n Node) (*Scan, bool) {
	s, ok := n.(*Scan)
	return s, ok
}

// inOrder gathers rows that are in the order of keys, no more of each fragment than are enough.
func (p *planner) inOrder(cur part, keys []SortKey, count, offset query.Expr) part {
	if enough := together(count, offset); enough != nil && cur.local != nil {
		cur.node = &Limit{Base: Base{cur.node.Output()}, Child: cur.node, Count: enough}
	}
	return p.gather(cur, keys)
}

// extremes has an aggregate of min and max alone read the first rows of indexes instead of all rows
// of the scan below it, if there is an index in the order of each.
func (l *level) extremes(p *planner, cur part, aggs []*query.Agg) part {
	s, ok := scanUnder(cur.node)
	if !ok || cur.local == nil || len(cur.local.rels) != 1 {
		return cur
	}
	var inputs []Node
	for _, a := range aggs {
		desc, ok := extreme(a)
		if !ok {
			return cur
		}
		first, route, conds := *s, cur.local.route, Conjuncts(s.Filter)
		p.unread[&first] = p.unread[s]
		if m := (matcher{s: s}); !m.notNullColumn(a.Args[0]) {
			conds = append(conds, &query.NullTest{T: query.Of(types.Bool), Arg: a.Args[0], Not: true})
		}
		want := wantedOrder{keys: []orderKey{{a.Args[0], desc, desc}}, limit: 1}
		if n, _ := p.choose(&first, &route, l.q.Rels[cur.local.rels[0]].Indexes, conds, want); n == 0 {
			return cur
		}
		first.Filter = Conjunction(conds)
		inputs = append(inputs, &Limit{Base: s.Base, Child: &first, Count: intConst(types.Int8, 1)})
	}
	if cur.node = inputs[0]; len(inputs) > 1 {
		cur.node = &Append{Base: s.Base, Inputs: inputs} // a row of another index changes nothing
	}
	return cur
}

// extreme reports whether a call is min, or max if desc, of all rows.
func extreme(a *query.Agg) (desc, ok bool) {
	if a.Proc.Namespace != "pg_catalog" || len(a.Args) != 1 || a.Filter != nil || a.Distinct || len(a.Order) > 0 {
		return false, false
	}
	return a.Proc.Name == "max", a.Proc.Name == "min" || a.Proc.Name == "max"
}

// notNullColumn reports whether e is a column that is never null.
func (m *matcher) notNullColumn(e query.Expr) bool {
	col := m.position(e)
	return col >= 0 && (m.s.Table.Columns[col].NotNull || contains(keyPositions(m.s.Table), col))
}

// groupOrder is how the groups of an aggregation come if its rows are neighbours; all is empty if they
// are not.
type groupOrder struct {
	rows   []SortKey  // over the rows below, if they are gathered
	groups []SortKey  // over the groups
	lead   int        // of groups: those that are the first keys of ORDER BY
	enough query.Expr // how many groups of each fragment are enough; nil: all
}

// of returns the first keys of a query in whose order the groups come.
func (o *groupOrder) of(q *query.Query) []SortKey {
	if q.Distinct && q.DistinctOn == nil || q.HasSRFs {
		return nil
	}
	return o.groups[:o.lead]
}

// groupKeys returns the order in which groups are wanted: that of the query as far as it is one of keys,
// and then of the other keys in the same direction. at has the position of each among the keys.
func (l *level) groupKeys(keys []query.Expr) (order []orderKey, at []int, lead int) {
	q := l.q
	add := func(i int, desc, nullsFirst bool) {
		if !slices.Contains(at, i) {
			order, at = append(order, orderKey{keys[i], desc, nullsFirst}), append(at, i)
		}
	}
	for _, k := range q.OrderBy {
		e := q.Targets[k.Target].Expr
		i := slices.IndexFunc(q.GroupBy, func(g query.Expr) bool { return query.Equal(g, e) })
		if i < 0 || slices.Contains(at, i) {
			break
		}
		add(i, k.Desc, k.NullsFirst)
		lead++
	}
	desc := lead > 0 && order[lead-1].desc
	for i := range q.GroupBy {
		add(i, desc, desc)
	}
	return order, at, lead
}

// orderGroups has the rows of a scan below an aggregation come in the order of its keys, if that costs
// less than a hash table: then groups end one after the other.
func (l *level) orderGroups(p *planner, cur part, node *Aggregate) (part, groupOrder, error) {
	whole := p.unions.scan(cur)
	s, ok := scanUnder(whole.node)
	if !ok || whole.local == nil || len(whole.local.rels) != 1 || p.env.Off.GatherMerge || !p.env.OrderedIndexes {
		return cur, groupOrder{}, nil
	}
	keys, at, lead := l.groupKeys(node.Keys)
	m, rows, indexes := matcher{s: s}, p.est.rows(cur.node), l.q.Rels[whole.local.rels[0]].Indexes
	of := p.est.columnsOf(&m, indexes)
	groups := m.groups(of, keys, nil, rows)
	want := wantedOrder{keys: keys, limit: math.Inf(1), groups: groups}
	out := groupOrder{lead: lead}
	switch {
	case lead == len(l.q.OrderBy):
		want.limit = l.wantedGroups(1) * rows / groups
	case lead > 0:
		want.limit = l.wantedGroups(groups/m.groups(of, keys[:lead], nil, rows)) * rows / groups
	}
	presorted, cost := p.choose(s, &whole.local.route, indexes, Conjuncts(s.Filter), want)
	if presorted == 0 || whole.node != cur.node && cost >= p.est.cost(cur.node)+want.hashing(rows) {
		return cur, groupOrder{}, nil
	}
	cur, node.Sorted = whole, true
	if presorted < len(keys) || !splittable(node) {
		cur = keySlots(cur, node.Keys)
	}
	for i, k := range keys {
		key := SortKey{Slot: at[i], Type: k.expr.Type(), Desc: k.desc, NullsFirst: k.nullsFirst}
		out.groups = append(out.groups, key)
		if below, ok := node.Keys[at[i]].(*query.Slot); ok {
			key.Slot = below.N
			out.rows = append(out.rows, key)
		}
	}
	if presorted < len(keys) {
		cur.node = &Sort{Base: Base{cur.node.Output()}, Child: cur.node, Keys: out.rows, Presorted: presorted}
	}
	p.est.note(node, groups)
	if lead < len(l.q.OrderBy) || !l.limitsGroups() {
		return cur, out, nil
	}
	count, offset, err := p.limits(l)
	out.enough = together(count, offset)
	return cur, out, err
}

// limitsGroups reports whether LIMIT counts the groups of an aggregation.
func (l *level) limitsGroups() bool {
	q := l.q
	return q.Limit != nil && q.Having == nil && !q.Distinct && !q.HasWindow && !q.HasSRFs &&
		!hasSubLink(q.Limit) && (q.Offset == nil || !hasSubLink(q.Offset))
}

// wantedGroups estimates how many groups are read until LIMIT is complete, if the groups are complete
// when so many more have come.
func (l *level) wantedGroups(more float64) float64 {
	q := l.q
	if q.Limit == nil || q.Distinct || q.HasWindow || q.HasSRFs {
		return math.Inf(1)
	}
	n := wantedRows(q)
	if q.Having != nil {
		n /= guessFilter
	}
	return n + more
}

// keySlots makes keys slots of the rows below.
func keySlots(cur part, keys []query.Expr) part {
	var proj *Project
	for i, k := range keys {
		if _, ok := k.(*query.Slot); ok {
			continue
		}
		if proj == nil {
			proj = passOn(cur.node)
		}
		col := Col{"", k.Type(), k.Typmod()}
		keys[i] = slot(len(proj.Cols), col)
		proj.Exprs, proj.Cols = append(proj.Exprs, k), append(proj.Cols, col)
	}
	if proj != nil {
		cur.node = proj
	}
	return cur
}
