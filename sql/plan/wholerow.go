package plan

import (
	"github.com/sherddb/sherd/sql/query"
)

// withRow adds the row of entry n as a value of its own where a join above may fill the entry with
// nulls: then the row is null, which a row made of its columns would not be.
func (p *planner) withRow(l *level, n int, cur part) (part, error) {
	if !l.need[varKey{n, query.ColWholeRow}] || !nullable(l.q.From, n) {
		return cur, nil
	}
	v := l.wholeRowVar(n)
	row, err := p.wholeRow(l, v, cur.in)
	if err != nil {
		return part{}, err
	}
	cols := cur.node.Output()
	proj := &Project{Child: cur.node}
	for i, c := range cols {
		proj.Exprs = append(proj.Exprs, slot(i, c))
	}
	proj.Exprs = append(proj.Exprs, row)
	proj.Cols = append(cols[:len(cols):len(cols)], Col{l.q.Rels[n].Alias, v.Type(), v.Typmod()})
	cur.node = proj
	cur.in.slots[varKey{n, query.ColWholeRow}] = len(cols)
	return cur, nil
}

// wholeRowVar finds a reference to the row of entry n, for its type.
func (l *level) wholeRowVar(n int) *query.Var {
	var out *query.Var
	query.WalkQuery(l.q, func(e query.Expr, depth int) {
		if v, ok := e.(*query.Var); ok && v.Up == depth && v.Rel == n && v.Col == query.ColWholeRow {
			own := *v
			own.Up = 0
			out = &own
		}
	})
	return out
}

// nullable reports whether entry n stands on a side of an outer join that may be filled with nulls.
func nullable(items []query.From, n int) bool {
	for _, it := range items {
		j, ok := it.(*query.FromJoin)
		if !ok {
			continue
		}
		left, right := fromRels(j.Left)[n], fromRels(j.Right)[n]
		if left && (j.Kind == query.Right || j.Kind == query.Full) ||
			right && (j.Kind == query.Left || j.Kind == query.Full) {
			return true
		}
		if nullable([]query.From{j.Left, j.Right}, n) {
			return true
		}
	}
	return false
}
