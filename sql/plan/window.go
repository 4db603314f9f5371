package plan

import (
	"github.com/sherddb/sherd/sql/query"
)

// window plans the window functions; they run at the gateway.
func (p *planner) window(l *level, cur part) (part, error) {
	cur = p.gather(cur, nil)
	w := &Window{Child: cur.node}
	for _, s := range l.q.Windows {
		spec, err := p.windowSpec(l, s, cur.in)
		if err != nil {
			return part{}, err
		}
		w.Specs = append(w.Specs, spec)
	}
	w.Cols = append(w.Cols, cur.node.Output()...)
	in := *cur.in
	for _, t := range l.q.Targets {
		for _, call := range windowCalls(t.Expr) {
			r := *call
			var err error
			if r.Args, err = p.rewriteAll(l, call.Args, cur.in); err != nil {
				return part{}, err
			}
			if r.Filter, err = p.rewrite(l, call.Filter, cur.in); err != nil {
				return part{}, err
			}
			col := Col{call.Proc.Name, call.Type(), call.Typmod()}
			in.exprs = append(in.exprs, placed{call, len(w.Cols), col})
			w.Calls, w.Cols = append(w.Calls, &r), append(w.Cols, col)
		}
	}
	return part{node: w, in: &in}, nil
}

func (p *planner) windowSpec(l *level, s query.Window, in *layout) (query.Window, error) {
	out := query.Window{Frame: s.Frame}
	var err error
	if out.Partition, err = p.rewriteAll(l, s.Partition, in); err != nil {
		return out, err
	}
	for _, o := range s.Order {
		if o.Expr, err = p.rewrite(l, o.Expr, in); err != nil {
			return out, err
		}
		out.Order = append(out.Order, o)
	}
	if out.Frame.Start, err = p.rewrite(l, s.Frame.Start, newLayout()); err != nil {
		return out, err
	}
	out.Frame.End, err = p.rewrite(l, s.Frame.End, newLayout())
	return out, err
}

func windowCalls(e query.Expr) []*query.WindowCall {
	var out []*query.WindowCall
	query.Walk(e, func(x query.Expr) bool {
		if w, ok := x.(*query.WindowCall); ok {
			out = append(out, w)
			return false
		}
		return true
	})
	return out
}
