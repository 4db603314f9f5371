package plan

import (
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
)

// insert plans INSERT: the source's rows are completed to the table's columns at the gateway, which
// sends each to the fragment of its bucket.
func (p *planner) insert(l *level) (part, error) {
	q := l.q
	src := part{node: &Values{Rows: [][]query.Expr{{}}}, in: newLayout()}
	if q.Source != nil {
		var err error
		if src, err = p.query(&level{up: l, q: q.Source}); err != nil {
			return part{}, err
		}
		src = p.gather(src, nil)
		src.in = newLayout()
		for i := range src.node.Output() {
			src.in.slots[varKey{q.SourceRel, i}] = i
		}
	}
	return p.insertFrom(l, src)
}

// insertFrom plans the insertion of src's rows.
func (p *planner) insertFrom(l *level, src part) (part, error) {
	q := l.q
	rel := q.Rels[q.Result]
	proj := &Project{Base: Base{columnsOf(rel)}, Child: src.node}
	for i, c := range rel.Columns {
		e, err := p.assigned(l, q.Assign, i, src.in)
		if err != nil {
			return part{}, err
		}
		if e == nil {
			e = &query.Const{T: query.T{OID: c.Type, Mod: c.Typmod}}
		}
		proj.Exprs = append(proj.Exprs, e)
	}
	m := &Modify{Kind: ModInsert, Table: rel.Table, Schema: rel.SchemaName, Child: proj, Watch: p.watch(rel.Table),
		Triggers: rowTriggers(p.env, rel.Table), Instead: rel.Table.IsView()}
	if m.Instead && q.OnConflict != nil {
		return part{}, pgerr.Unsupported("ON CONFLICT is not supported for a view with INSTEAD OF triggers").
			WithHint("Write to the tables of the view.")
	}
	in := tableLayout(q.Result, rel)
	if err := p.checksAndReturning(l, m, in); err != nil {
		return part{}, err
	}
	var err error
	if m.Indexes, err = p.indexes(l, q.Indexes, in); err != nil {
		return part{}, err
	}
	if err := p.onConflict(l, m, in); err != nil {
		return part{}, err
	}
	return part{node: m, in: newLayout()}, nil
}

func (p *planner) watch(t *catalog.Table) []KeyWatch {
	if p.env.Watch == nil {
		return nil
	}
	return p.env.Watch(t)
}

func rowTriggers(env Env, t *catalog.Table) RowTriggers {
	if env.Triggers == nil || len(t.Triggers) == 0 {
		return RowTriggers{}
	}
	return env.Triggers(t)
}

func (p *planner) assigned(l *level, as []query.Assignment, col int, in *layout) (query.Expr, error) {
	for _, a := range as {
		if a.Col == col {
			return p.rewrite(l, a.Expr, in)
		}
	}
	return nil, nil
}

func isRowCheck(c query.Check) bool { return c.Row != query.NoRowCheck }

// AtFragment returns the stage of a write in the fragments of its rows. Row policies are not part of it:
// the gateway has checked them.
func AtFragment(m *Modify) Stage {
	if slices.ContainsFunc(m.Checks, isRowCheck) {
		own := *m
		own.Checks = slices.DeleteFunc(slices.Clone(m.Checks), isRowCheck)
		m = &own
	}
	return Stage{Modify: m}
}

func columnsOf(r *query.Rel) []Col {
	var out []Col
	for _, c := range r.Columns {
		out = append(out, Col{c.Name, c.Type, c.Typmod})
	}
	return out
}

func tableLayout(n int, r *query.Rel) *layout {
	in := newLayout()
	for i := range r.Columns {
		in.slots[varKey{n, i}] = i
	}
	return in
}

// checksAndReturning rewrites both over in, the new row followed by what else the statement reads.
func (p *planner) checksAndReturning(l *level, m *Modify, in *layout) error {
	for _, c := range l.q.Checks {
		e, err := p.rewrite(l, c.Expr, in)
		if err != nil {
			return err
		}
		if c.Row != query.NoRowCheck && m.Kind == ModUpdate && stays(e) {
			e = p.hoist(l, e)
		}
		c.Expr = e
		m.Checks = append(m.Checks, c)
	}
	if !l.q.Returning {
		return nil
	}
	for _, t := range l.q.Targets {
		e, err := p.rewrite(l, t.Expr, in)
		if err != nil {
			return err
		}
		m.Returning = append(m.Returning, e)
		m.Cols = append(m.Cols, Col{t.Name, e.Type(), e.Typmod()})
	}
	return nil
}

func (p *planner) onConflict(l *level, m *Modify, existing *layout) error {
	oc := l.q.OnConflict
	if oc == nil {
		return nil
	}
	n := len(m.Table.Columns)
	in := newLayout()
	for k, v := range existing.slots {
		in.slots[k] = v
	}
	for i := range m.Table.Columns {
		in.slots[varKey{oc.Excluded, i}] = n + i
	}
	out := &OnConflict{Update: oc.Update, Primary: oc.Primary}
	// The gateway checks row policies, which may have subqueries.
	checked := slices.ContainsFunc(m.Checks, isRowCheck)
	out.Returns = oc.Update && (checked || m.Triggers.Changes(catalog.TriggerUpdate))
	for i, x := range m.Indexes {
		if slices.Contains(oc.Indexes, x.Def.OID) {
			out.Arbiters = append(out.Arbiters, i)
		}
	}
	for _, a := range oc.Assign {
		e, err := p.rewrite(l, a.Expr, in)
		if err != nil {
			return err
		}
		if hasSubPlan(e) {
			return pgerr.Unsupported("subqueries in ON CONFLICT DO UPDATE are not supported yet").
				WithHint("Compute the value in the INSERT's SELECT and read it through EXCLUDED.")
		}
		out.Assign = append(out.Assign, query.Assignment{Col: a.Col, Expr: e})
	}
	var err error
	out.Where, err = p.rewrite(l, oc.Where, in)
	m.OnConflict = out
	return err
}

// modify plans UPDATE and DELETE: inside the fragments where nothing but the table itself is read,
// else over rows joined at the gateway.
func (p *planner) modify(l *level) (part, error) {
	if l.q.Rels[l.q.Result].Table.IsView() {
		return modifyInstead(p, l)
	}
	semis := l.unnestTarget()
	q := l.q
	rel := q.Rels[q.Result]
	for i := range rel.Columns {
		l.need[varKey{q.Result, i}] = true
	}
	l.need[varKey{q.Result, ColKey}] = true
	cur, err := p.modifySource(l, semis)
	if err != nil {
		return part{}, err
	}
	m := &Modify{Kind: ModDelete, Table: rel.Table, Schema: rel.SchemaName, Child: cur.node, Watch: p.watch(rel.Table),
		Triggers: rowTriggers(p.env, rel.Table)}
	if p.env.OrderedIndexes && cur.local != nil {
		m.Scan = p.unions.again(cur)
	}
	if q.Command == query.Update {
		m.Kind = ModUpdate
	}
	gateway := m.Triggers.Fires(m.Kind.Event())
	for _, a := range q.Assign {
		e, err := p.rewrite(l, a.Expr, cur.in)
		if err != nil {
			return part{}, err
		}
		gateway = gateway || stays(e)
		m.Assign = append(m.Assign, query.Assignment{Col: a.Col, Expr: e})
		m.MovesKey = m.MovesKey || isKeyColumn(rel.Table, a.Col)
	}
	if err := p.checksAndReturning(l, m, cur.in); err != nil {
		return part{}, err
	}
	all := m.MovesKey || m.Triggers.Changes(catalog.TriggerUpdate)
	if m.Indexes, err = p.indexes(l, kept(q, all), cur.in); err != nil {
		return part{}, err
	}
	// The entries may lie in other fragments, or depend on the transaction.
	gateway = gateway || anyGlobal(m.Indexes) || anyDeferrable(rel.Table, m.Indexes)
	for _, c := range m.Checks {
		gateway = gateway || stays(c.Expr)
	}
	for _, e := range m.Returning {
		gateway = gateway || stays(e)
	}
	if cur.local != nil && (gateway || m.MovesKey) {
		cur = p.gather(cur, nil)
		m.Child, m.Scan = cur.node, nil
	}
	cur.node, cur.in = m, newLayout()
	return cur, nil
}

// modifyInstead plans UPDATE and DELETE of a view, whose triggers write: its rows, each followed by what
// else the statement reads.
func modifyInstead(p *planner, l *level) (part, error) {
	q := l.q
	rel := q.Rels[q.Result]
	for i := range rel.Columns {
		l.need[varKey{q.Result, i}] = true
	}
	from := append([]query.From{&query.FromRel{Rel: q.Result}}, q.From...)
	cur, err := p.joined(l, from, Conjuncts(q.Where))
	if err != nil {
		return part{}, err
	}
	proj, in, err := targetFirst(p, l, cur, nil)
	if err != nil {
		return part{}, err
	}
	m := &Modify{
		Kind: ModDelete, Table: rel.Table, Schema: rel.SchemaName, Child: proj, Instead: true,
		Triggers: rowTriggers(p.env, rel.Table),
	}
	if q.Command == query.Update {
		m.Kind = ModUpdate
	}
	for _, a := range q.Assign {
		e, err := p.rewrite(l, a.Expr, in)
		if err != nil {
			return part{}, err
		}
		m.Assign = append(m.Assign, query.Assignment{Col: a.Col, Expr: e})
	}
	return part{node: m, in: newLayout()}, p.checksAndReturning(l, m, in)
}

// targetFirst returns the rows of a join at the gateway: the columns of the target, more of its columns,
// then all slots of the join.
func targetFirst(p *planner, l *level, cur part, more []*query.Var) (*Project, *layout, error) {
	q := l.q
	rel := q.Rels[q.Result]
	cur = p.gather(cur, nil)
	proj, in := &Project{Child: cur.node}, newLayout()
	var first []*query.Var
	for i, c := range rel.Columns {
		first = append(first, &query.Var{T: query.T{OID: c.Type, Mod: c.Typmod}, Rel: q.Result, Col: i, Name: c.Name})
	}
	first = append(first, more...)
	for _, v := range first {
		e, err := p.rewrite(l, v, cur.in)
		if err != nil {
			return nil, nil, err
		}
		proj.Cols, proj.Exprs = append(proj.Cols, Col{v.Name, v.OID, v.Mod}), append(proj.Exprs, e)
	}
	for i, c := range cur.node.Output() {
		proj.Cols, proj.Exprs = append(proj.Cols, c), append(proj.Exprs, slot(i, c))
	}
	for k, at := range cur.in.slots {
		in.slots[k] = len(first) + at
	}
	for i, v := range first {
		in.slots[varKey{q.Result, v.Col}] = i
	}
	return proj, in, nil
}

// modifySource returns the rows to change: the target's columns, its key, then the other tables'
// columns.
func (p *planner) modifySource(l *level, semis []*query.FromJoin) (part, error) {
	cur, have, err := p.modifyRows(l)
	for _, s := range semis {
		if err != nil {
			return part{}, err
		}
		rrels := fromRels(s.Right)
		onRight, on := l.split(Conjuncts(s.On), rrels, true)
		var right part
		if right, err = p.joined(l, []query.From{s.Right}, onRight); err != nil {
			return part{}, err
		}
		cur, err = p.join(l, joining{kind: s.Kind, lrels: have, rrels: rrels, on: on, fixed: true}, cur, right)
	}
	return cur, err
}

// unnestTarget turns EXISTS and IN of an UPDATE or DELETE into joins, which come after those of
// FROM and USING. The level's query becomes one without them.
func (l *level) unnestTarget() []*query.FromJoin {
	q := *l.q
	var semis []*query.FromJoin
	var rest []query.Expr
	conds := Conjuncts(q.Where)
	for i := 0; i < len(conds); i++ {
		one := query.Query{Rels: q.Rels, From: []query.From{&query.FromRel{Rel: q.Result}}}
		more, ok := joinSubLink(&one, conds[i])
		if !ok {
			rest = append(rest, conds[i])
			continue
		}
		conds = append(conds, more...)
		q.Rels = one.Rels
		semis = append(semis, one.From[0].(*query.FromJoin))
	}
	if semis == nil {
		return nil
	}
	q.Where = Conjunction(rest)
	reads := q
	for _, s := range semis {
		reads.From = append(slices.Clip(reads.From), s)
	}
	l.need = neededColumns(&reads)
	l.q = &q
	return semis
}

// modifyRows joins the target with the tables of FROM or USING.
func (p *planner) modifyRows(l *level) (part, relSet, error) {
	q := l.q
	conds := factored(Conjuncts(q.Where))
	positions := allPositions(q.Rels[q.Result])
	if l.need[varKey{q.Result, query.ColCtid}] {
		positions = append(positions, query.ColCtid)
	}
	target := relSet{q.Result: true}
	conds = append(conds, implied(l, conds)...)
	own, rest := l.split(conds, target, true)
	if len(q.From) == 0 {
		own = conds
	}
	cur, err := p.scan(l, q.Result, own, positions)
	if err != nil || len(q.From) == 0 {
		return cur, target, err
	}
	orels := relSet{}
	for _, it := range q.From {
		orels = orels.union(fromRels(it))
	}
	ownToo, between := l.split(rest, orels, true)
	others, err := p.joined(l, q.From, ownToo)
	if err != nil {
		return part{}, nil, err
	}
	if len(others.in.lateral) > 0 {
		return part{}, nil, pgerr.Unsupported("LATERAL references to the target of UPDATE or DELETE are not " +
			"supported yet").
			WithHint("Write the statement with a subquery that joins the target by its key.")
	}
	cur, err = p.join(l, joining{kind: query.Inner, lrels: target, rrels: orels, on: between, fixed: true}, cur, others)
	return cur, target.union(orels), err
}

func allPositions(r *query.Rel) []int {
	out := make([]int, 0, len(r.Columns)+1)
	for i := range r.Columns {
		out = append(out, i)
	}
	return append(out, ColKey)
}

func isKeyColumn(t *catalog.Table, col int) bool {
	return contains(keyPositions(t), col)
}

// Source returns the rows that the session feeds in: COPY FROM.
type Source struct{ Base }

// Children of a Source are none.
func (*Source) Children() []Node { return nil }

// BuildCopy plans an INSERT … VALUES ($1, $2, …) whose rows are fed in instead: the slots of a
// Source stand for the parameters. where is the condition of the rows that are inserted, over the
// columns as Var{Rel: 0}; nil: all are.
func BuildCopy(q *query.Query, columns []Col, where query.Expr, env Env) (*Plan, error) {
	p := &planner{env: env, est: newEstimates(env)}
	l := &level{q: q, ctes: map[*query.CTE]int{}, need: neededColumns(q)}
	src := part{node: &Source{Base{columns}}, in: newLayout()}
	for i := range columns {
		src.in.slots[varKey{q.SourceRel, i}] = i
	}
	if where != nil {
		where = query.Rewrite(where, func(e query.Expr) (query.Expr, bool) {
			v, ok := e.(*query.Var)
			if !ok {
				return nil, false
			}
			of := *v
			of.Rel = q.SourceRel
			return &of, true
		})
		var err error
		if src, err = p.filter(l, src, []query.Expr{where}); err != nil {
			return nil, err
		}
	}
	out, err := p.insertFrom(l, src)
	if err != nil {
		return nil, err
	}
	return &Plan{Root: out.node, Outers: p.outers}, nil
}
