package plan

import "github.com/sherddb/sherd/sql/query"

// expandKeys adds those keys of GROUP BY to the rows below the aggregation that must be evaluated once
// for each row: set-returning expressions, for whose rows it has a row each then (SELECT unnest(tags),
// count(*) … GROUP BY 1), and volatile ones, because an aggregation that writes rows to a file
// evaluates its keys again.
func (p *planner) expandKeys(l *level, cur part, keys []query.Expr) (part, error) {
	var proj *Project
	in := *cur.in
	gateway := false
	for _, k := range keys {
		if !hasSet(k) && !volatile(k) {
			continue
		}
		if proj == nil {
			proj = passOn(cur.node)
		}
		proj.Sets = proj.Sets || hasSet(k)
		e, err := p.rewrite(l, k, cur.in)
		if err != nil {
			return part{}, err
		}
		gateway = gateway || stays(e) || volatile(e)
		col := Col{"", k.Type(), k.Typmod()}
		in.exprs = append(in.exprs, placed{k, len(proj.Exprs), col})
		proj.Exprs, proj.Cols = append(proj.Exprs, e), append(proj.Cols, col)
	}
	if proj == nil {
		return cur, nil
	}
	if gateway {
		cur = p.gather(cur, nil)
		proj.Child = cur.node
	}
	return part{node: proj, in: &in, local: cur.local}, nil
}

// passOn is a Project that returns the columns of its child, and more are added.
func passOn(child Node) *Project {
	proj := &Project{Child: child}
	for i, c := range child.Output() {
		proj.Exprs, proj.Cols = append(proj.Exprs, slot(i, c)), append(proj.Cols, c)
	}
	return proj
}
