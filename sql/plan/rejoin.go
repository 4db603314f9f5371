package plan

import (
	"slices"

	"github.com/sherddb/sherd/sql/query"
)

// Rejoin is how a row of a join is put together again where another transaction has changed a row
// of a table that is locked: with that as it is now, and the others as they were, as PostgreSQL
// does. It is for what cannot be run again: a cursor that has given rows.
type Rejoin struct {
	Tables    []Reread    // for each lock
	Unmatched []Unmatched // outer joins, inner ones first
	Cond      query.Expr  // nil is true
	// Same are slots that a semi or anti join has read. If one has changed, the result of the join
	// is not known any more.
	Same []int
}

// Reread reads the row of a locked table again.
type Reread struct {
	Scan *Scan // without a condition: that is in Rejoin.Cond
	At   []int // where its slots are in the joined row
}

// Unmatched fills the other side of an outer join with nulls where its condition does not hold any
// more.
type Unmatched struct {
	On    query.Expr
	Slots []int
}

// rejoin returns how the rows of cur are put together again; nil where that cannot be done.
func (p *planner) rejoin(l *level, cur part, locks []lockedRel) (*Rejoin, error) {
	b := rejoiner{p: p, l: l, in: cur.in, out: &Rejoin{}, conds: Conjuncts(l.q.Where)}
	for _, k := range locks {
		b.scan(k.rel)
	}
	for _, it := range l.q.From {
		b.item(it)
	}
	if b.cannot || b.err != nil {
		return nil, b.err
	}
	cond, err := p.rewriteAll(l, b.conds, cur.in)
	b.out.Cond = Conjunction(cond)
	return b.out, err
}

type rejoiner struct {
	p      *planner
	l      *level
	in     *layout
	out    *Rejoin
	conds  []query.Expr
	cannot bool
	err    error
}

// scan makes the scan of a table that is locked.
func (b *rejoiner) scan(rel int) {
	r := b.l.q.Rels[rel]
	var positions []int
	for k := range b.in.slots {
		if k.rel != rel {
			continue
		}
		if k.col == query.ColWholeRow {
			b.cannot = true
			return
		}
		positions = append(positions, k.col)
	}
	slices.Sort(positions)
	at := make([]int, len(positions))
	for i, c := range positions {
		at[i] = b.in.slots[varKey{rel, c}]
	}
	s := &Scan{
		Base: Base{columnsAt(r, positions)}, Table: r.Table, Alias: r.Alias, Schema: r.SchemaName, Slots: positions,
	}
	b.out.Tables = append(b.out.Tables, Reread{s, at})
}

func (b *rejoiner) item(it query.From) {
	fj, ok := it.(*query.FromJoin)
	if !ok {
		return
	}
	switch fj.Kind {
	case query.Inner:
		b.item(fj.Left)
		b.item(fj.Right)
		b.conds = append(b.conds, Conjuncts(fj.On)...)
	case query.Left:
		b.item(fj.Left)
		b.unmatched(fj.On, fromRels(fj.Right))
	case query.Right:
		b.item(fj.Right)
		b.unmatched(fj.On, fromRels(fj.Left))
	case query.Semi, query.Anti:
		b.item(fj.Left)
		b.same(fj)
	}
}

// unmatched notes an outer join. On the side of rels nothing is locked, so that its own rows are as
// they were.
func (b *rejoiner) unmatched(on query.Expr, rels relSet) {
	e, err := b.p.rewrite(b.l, on, b.in)
	if b.err == nil {
		b.err = err
	}
	u := Unmatched{On: e}
	for k, at := range b.in.slots {
		if rels[k.rel] {
			u.Slots = append(u.Slots, at)
		}
	}
	slices.Sort(u.Slots)
	b.out.Unmatched = append(b.out.Unmatched, u)
}

// same notes the columns of the left side that a semi or anti join looks at.
func (b *rejoiner) same(fj *query.FromJoin) {
	left := fromRels(fj.Left)
	b.cannot = b.cannot || len(left.intersect(b.l.lateralRels(fj.Right))) > 0
	query.Walk(fj.On, func(x query.Expr) bool {
		v, ok := x.(*query.Var)
		if _, sub := x.(*query.SubLink); sub {
			b.cannot = true
		}
		if !ok || v.Up > 0 || !left[v.Rel] {
			return true
		}
		at, ok := b.in.slots[varKey{v.Rel, v.Col}]
		b.cannot = b.cannot || !ok
		b.out.Same = append(b.out.Same, at)
		return true
	})
}
