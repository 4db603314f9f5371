package plan

import (
	"cmp"
	"slices"
	"sort"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// rel plans a leaf of FROM with the conditions on it alone.
func (p *planner) rel(l *level, n int, conds []query.Expr) (part, error) {
	r := l.q.Rels[n]
	switch r.Kind {
	case query.RelTable:
		return p.scan(l, n, conds, nil)
	case query.RelSystem:
		return p.systemScan(l, n, conds)
	case query.RelFunction:
		return p.functionScan(l, n, conds)
	case query.RelSubquery:
		return p.subquery(l, n, conds)
	case query.RelCTE:
		return p.cteScan(l, n, conds)
	}
	return part{}, pgerr.New(pgerr.InternalError, "range table entry %q cannot be scanned", r.Alias)
}

// columnsOf lists the positions of entry n's columns that the query reads, system columns first.
func (l *level) columnsOf(n int, always []int) []int {
	set := map[int]bool{}
	for _, c := range always {
		set[c] = true
	}
	whole := l.need[varKey{n, query.ColWholeRow}]
	for i, c := range l.q.Rels[n].Columns {
		if l.need[varKey{n, i}] || whole && !c.Dropped {
			set[i] = true
		}
	}
	for k := range l.need {
		if k.rel == n && k.col < 0 && k.col != query.ColWholeRow {
			set[k.col] = true
		}
	}
	var out []int
	for c := range set {
		out = append(out, c)
	}
	sort.Ints(out)
	return out
}

func columnsAt(r *query.Rel, positions []int) []Col {
	cols := make([]Col, len(positions))
	for i, c := range positions {
		switch {
		case c >= 0:
			cols[i] = Col{r.Columns[c].Name, r.Columns[c].Type, r.Columns[c].Typmod}
		case c == query.ColTableOID:
			cols[i] = Col{"tableoid", types.Oid, -1}
		case c == query.ColCtid:
			cols[i] = Col{"ctid", types.Tid, -1}
		case c == ColKey:
			cols[i] = Col{"key", types.Bytea, -1}
		default:
			cols[i] = Col{"xmin", types.Xid, -1}
		}
	}
	return cols
}

func layoutAt(n int, positions []int) *layout {
	in := newLayout()
	for i, c := range positions {
		in.slots[varKey{n, c}] = i
	}
	return in
}

// scan plans a table. positions is nil where only the columns that are read count.
func (p *planner) scan(l *level, n int, conds []query.Expr, positions []int) (part, error) {
	r := l.q.Rels[n]
	if positions == nil {
		positions = l.columnsOf(n, nil)
	}
	s := &Scan{
		Base: Base{columnsAt(r, positions)}, Table: r.Table, Alias: r.Alias, Schema: r.SchemaName, Slots: positions,
	}
	in := layoutAt(n, positions)
	var plain, tested, subs []query.Expr
	var err error
	for _, c := range l.secured(n, conds) {
		e, err := p.rewrite(l, c, in)
		if err != nil {
			return part{}, err
		}
		if stays(e) {
			e = p.hoist(l, e)
		}
		if stays(e) {
			subs = append(subs, e)
		} else {
			plain, tested = append(plain, e), append(tested, c)
		}
	}
	local := &locality{rels: []int{n}, firm: []int{n}, route: p.route(s, plain)}
	s.Filter = p.fold(Conjunction(p.sliced(s, plain)))
	if isNever(s.Filter) || local.route.Never {
		return part{node: &Values{Base: s.Base}, in: in}, nil
	}
	if isTrue(s.Filter) {
		s.Filter = nil
	}
	if len(tested) > 0 && len(r.Indexes) > 0 && p.env.OrderedIndexes {
		p.unread[s] = l.onlyTested(n, positions, tested)
	}
	p.choose(s, &local.route, r.Indexes, plain, anyOrder)
	if of := p.est.columnsOf(&matcher{s: s}, r.Indexes); of != nil {
		p.est.note(s, p.est.tableRows(s.Table)*of.Of(plain))
	}
	if s.Sums, err = p.sums(s); err != nil {
		return part{}, err
	}
	out := p.unions.of(p, part{node: s, in: in, local: local}, r.Indexes, plain)
	if len(subs) > 0 {
		out = p.gather(out, nil)
		out.node = &Filter{Base: Base{out.node.Output()}, Child: out.node, Cond: Conjunction(subs)}
	}
	return out, nil
}

func (p *planner) systemScan(l *level, n int, conds []query.Expr) (part, error) {
	r := l.q.Rels[n]
	positions := l.columnsOf(n, nil)
	s := &SystemScan{Base: Base{columnsAt(r, positions)}, Name: r.System, Alias: r.Alias, Slots: positions}
	in := layoutAt(n, positions)
	es, err := p.rewriteAll(l, conds, in)
	if err != nil {
		return part{}, err
	}
	s.Filter = Conjunction(es)
	return part{node: s, in: in}, nil
}

func (p *planner) functionScan(l *level, n int, conds []query.Expr) (part, error) {
	r := l.q.Rels[n]
	f := &FunctionScan{Alias: r.Alias, Ordinality: r.Ordinality}
	args := newLayout()
	args.collects = true
	for _, item := range r.Functions {
		call, err := p.rewrite(l, item.Call, args)
		if err != nil {
			return part{}, err
		}
		f.Functions = append(f.Functions, query.FuncItem{Call: call, Columns: item.Columns})
	}
	in := newLayout()
	for i, c := range r.Columns {
		f.Cols = append(f.Cols, Col{c.Name, c.Type, c.Typmod})
		in.slots[varKey{n, i}] = i
	}
	in.lateral = args.lateral
	return p.filter(l, part{node: f, in: in}, conds)
}

func (p *planner) subquery(l *level, n int, conds []query.Expr) (part, error) {
	sub := pruned(l.q.Rels[n].Subquery, func(col int) bool {
		return l.need[varKey{n, col}] || l.need[varKey{n, query.ColWholeRow}]
	})
	return p.subselect(l, n, sub, conds)
}

// subselect plans q, the subquery of entry n; conditions that may hold before it ends go into it.
func (p *planner) subselect(l *level, n int, q *query.Query, conds []query.Expr) (part, error) {
	q, conds = pushDown(l, n, q, conds)
	child := &level{up: l, q: q}
	sub, err := p.query(child)
	if err != nil {
		return part{}, err
	}
	in := newLayout()
	for i := range l.q.Rels[n].Columns {
		in.slots[varKey{n, i}] = i
	}
	in.lateral = child.binds
	if sub.local != nil { // its routing columns are not visible here: co-location ends, the fragments' work stays
		sub.local = &locality{route: sub.local.route}
	}
	return p.filter(l, part{node: sub.node, in: in, local: sub.local}, conds)
}

func (p *planner) values(l *level) (part, error) {
	v := &Values{}
	for _, row := range l.q.Values {
		es, err := p.rewriteAll(l, row, newLayout())
		if err != nil {
			return part{}, err
		}
		v.Rows = append(v.Rows, es)
	}
	in := newLayout()
	for i, t := range l.q.Targets {
		v.Cols = append(v.Cols, Col{t.Name, t.Expr.Type(), t.Expr.Typmod()})
		in.slots[varKey{-1, i}] = i
	}
	cur, err := p.targets(l, part{node: v, in: in})
	if err != nil {
		return part{}, err
	}
	return p.finish(l, cur, 0)
}

// setOperation plans UNION, INTERSECT and EXCEPT; both sides meet at the gateway.
func (p *planner) setOperation(l *level) (part, error) {
	op := l.q.SetOp
	left, err := p.query(&level{up: l, q: branch(l.q, op.Left)})
	if err != nil {
		return part{}, err
	}
	right, err := p.query(&level{up: l, q: branch(l.q, op.Right)})
	if err != nil {
		return part{}, err
	}
	left, right = p.gather(left, nil), p.gather(right, nil)
	cols := make([]Col, len(left.node.Output()))
	in := newLayout()
	for i := range cols {
		t := l.q.Targets[i]
		cols[i] = Col{t.Name, t.Expr.Type(), t.Expr.Typmod()}
		in.slots[varKey{-1, i}] = i
	}
	cur := part{in: in}
	if op.Kind == query.Union && op.All {
		cur.node = &Append{Base: Base{cols}, Inputs: []Node{left.node, right.node}}
	} else {
		cur.node = &SetOperation{Base: Base{cols}, Kind: op.Kind, All: op.All, Left: left.node, Right: right.node}
	}
	if cur, err = p.targets(l, cur); err != nil {
		return part{}, err
	}
	return p.finish(l, cur, 0)
}

// exactInKeys are the types whose values can be read from a key as they were written. Other types
// have values that are equal and look different: 1.0 and 1.00, -0 and 0, '1 day' and '24:00'.
var exactInKeys = []types.OID{
	types.Bool, types.Int2, types.Int4, types.Int8, types.Oid, types.Text, types.VarChar, types.Bytea, types.UUID,
	types.Date, types.Time, types.Timestamp, types.TimestampTZ,
}

// EntryColumn is where an entry of an index has the value of a slot.
type EntryColumn struct {
	Slot int
	Of   int  // a column of the index, or of the primary key
	Key  bool // of the primary key
}

// place is the place among the columns of an entry, whose primary key is behind some others.
func (c EntryColumn) place(behind int) int {
	if c.Key {
		return behind + c.Of
	}
	return c.Of
}

// EntryColumns returns where the entries of the index that the scan reads have its slots, in the
// order of the columns; those of the index are first. ok is false if the rows have to be read.
func (s *Scan) EntryColumns() (columns []EntryColumn, ok bool) {
	var x *IndexScan
	switch s.Access {
	case ScanOrdered:
	case ScanIndex:
		x = s.Index
	default:
		return nil, false
	}
	if s.Sums != nil {
		return nil, false
	}
	return s.columnsIn(x, func(int) bool { return s.EntryAlone })
}

// keyIsColumn reports whether a key of an index is a column and no expression. Before the scan has
// chosen the index (accessPath.use), keys are over the columns of the table, and then over rows.
func keyIsColumn(key query.Expr, col int) bool {
	switch k := key.(type) {
	case *query.Var:
		return k.Col == col
	case *query.Slot:
		return k.N == col
	}
	return false
}

// columnIn returns where the entries of an index with some keys have a slot.
func (s *Scan) columnIn(keys []query.Expr, slot int) (c EntryColumn, ok bool) {
	col := s.Slots[slot]
	if !slices.Contains(exactInKeys, s.Table.Columns[col].Type) {
		return c, false
	}
	of := slices.IndexFunc(keys, func(k query.Expr) bool {
		return k.Type() == s.Table.Columns[col].Type && keyIsColumn(k, col)
	})
	if of >= 0 {
		return EntryColumn{Slot: slot, Of: of}, true
	}
	of = slices.Index(keyPositions(s.Table), col)
	return EntryColumn{Slot: slot, Of: of, Key: true}, of >= 0
}

// columnsIn is EntryColumns for an index; nil is the one in primary key order. missing reports whether
// the value of a slot is not needed.
func (s *Scan) columnsIn(x *IndexScan, missing func(slot int) bool) (columns []EntryColumn, ok bool) {
	var keys []query.Expr
	if x != nil && !x.Index.Def.Primary {
		if x.Index.Def.Global || x.Index.Def.Method == catalog.GIN {
			return nil, false
		}
		keys = x.Index.Keys
	}
	for slot, col := range s.Slots {
		switch {
		case col < 0:
			return nil, false
		case s.Table.Columns[col].Dropped:
			continue
		}
		c, ok := s.columnIn(keys, slot)
		if ok {
			columns = append(columns, c)
		} else if !missing(slot) {
			return nil, false
		}
	}
	behind := len(keys)
	slices.SortFunc(columns, func(a, b EntryColumn) int { return cmp.Compare(a.place(behind), b.place(behind)) })
	return columns, true
}

// onlyTested lists the slots of a scan of entry n that nothing but the query's own conditions among
// conds reads. Conditions that were derived from others do not count, because these are asked too.
func (l *level) onlyTested(n int, slots []int, conds []query.Expr) (out []int) {
	if l.q.Command != query.Select || len(l.q.Locking) > 0 {
		return nil
	}
	reads := map[int]int{}
	count := func(e query.Expr, by int) {
		if v, ok := e.(*query.Var); ok && v.Rel == n {
			reads[v.Col] += by
		}
	}
	query.WalkQuery(l.q, func(e query.Expr, depth int) {
		if v, ok := e.(*query.Var); ok && v.Up == depth {
			count(e, 1)
		}
	})
	for _, r := range l.q.Rels {
		for _, e := range r.JoinVars {
			query.Walk(e, func(x query.Expr) bool { count(x, 1); return true })
		}
	}
	own := factored(Conjuncts(l.q.Where))
	for _, it := range l.q.From {
		own = append(own, factored(joinConditions(it))...)
	}
	for _, c := range conds {
		if slices.Contains(own, c) && !hasSubLink(c) {
			query.Walk(c, func(x query.Expr) bool {
				if v, ok := x.(*query.Var); ok && v.Up == 0 {
					count(x, -1)
				}
				return true
			})
		}
	}
	for slot, col := range slots {
		if col >= 0 && reads[col] <= 0 && reads[query.ColWholeRow] == 0 {
			out = append(out, slot)
		}
	}
	return out
}

// joinConditions lists the conditions of the joins in an item of FROM.
func joinConditions(it query.From) []query.Expr {
	j, ok := it.(*query.FromJoin)
	if !ok {
		return nil
	}
	return slices.Concat(Conjuncts(j.On), joinConditions(j.Left), joinConditions(j.Right))
}

// entriesAlone reports whether the entries of an index have all that is read of the rows: the slots
// that they have not are in unread, and only conditions read them that all of the entries meet. rest
// are the other conditions.
func (s *Scan) entriesAlone(x *IndexScan, unread []int, conds []query.Expr) (rest []query.Expr, ok bool) {
	if _, all := s.columnsIn(x, func(int) bool { return false }); all {
		return nil, false
	}
	var missing []int
	_, ok = s.columnsIn(x, func(slot int) bool {
		missing = append(missing, slot)
		return slices.Contains(unread, slot)
	})
	if !ok {
		return nil, false
	}
	for _, c := range Conjuncts(s.Filter) {
		if !among(conds, c) {
			conds = append(slices.Clone(conds), c)
		}
	}
	m := matcher{s: s, conds: conds}
	for _, c := range conds {
		if m.answers(x, c) {
			continue
		}
		if query.Contains(c, func(e query.Expr) bool {
			v, ok := e.(*query.Slot)
			return ok && slices.Contains(missing, v.N)
		}) {
			return nil, false
		}
		rest = append(rest, c)
	}
	return rest, true
}

// answers reports whether all entries that an index scan reads meet a condition: one of the predicate
// of the index, or the one that sets a column of it.
func (m *matcher) answers(x *IndexScan, c query.Expr) bool {
	own, ok := m.canonical(c)
	if ok && slices.ContainsFunc(Conjuncts(x.Index.Where), func(w query.Expr) bool { return query.Equal(own, w) }) {
		return true
	}
	if _, or := c.(*query.Or); or || x.Paired {
		return false
	}
	for i, list := range x.Equal {
		key := x.Index.Keys[i]
		if slices.Contains(x.Nulls, i) || !slices.Contains(exactInKeys, key.Type()) {
			continue
		}
		values, array := choices([]query.Expr{c}, m.indexKey(key))
		if len(values) == 0 && array == nil || len(values) != len(list) || !query.Equal(array, x.Arrays[i]) {
			continue
		}
		same := slices.EqualFunc(values, list, func(a, b query.Expr) bool {
			return query.Equal(a, b) && (a.Type() == key.Type() || textLike(a.Type()) && textLike(key.Type()))
		})
		if same && (array == nil || types.ElemOf(array.Type()) == key.Type()) {
			return true
		}
	}
	return false
}
