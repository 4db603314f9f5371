package plan

import (
	"github.com/sherddb/sherd/sql/query"
)

// reduced makes an outer join a narrower one where conditions above it cannot hold of rows filled
// with nulls.
func reduced(l *level, fj *query.FromJoin, conds []query.Expr) *query.FromJoin {
	left, right := false, false // needs a row of this side
	for _, c := range conds {
		left = left || rejectsNulls(c, fromRels(fj.Left))
		right = right || rejectsNulls(c, fromRels(fj.Right))
	}
	kind := fj.Kind
	switch kind {
	case query.Full:
		switch {
		case left && right:
			kind = query.Inner
		case left:
			kind = query.Left
		case right:
			kind = query.Right
		}
	case query.Left:
		if right {
			kind = query.Inner
		}
	case query.Right:
		if left {
			kind = query.Inner
		}
	}
	if kind == fj.Kind {
		return fj
	}
	out := *fj
	out.Kind = kind
	return &out
}

// rejectsNulls reports whether a condition is never true where all columns of rels are null.
func rejectsNulls(c query.Expr, rels relSet) bool {
	switch n := c.(type) {
	case *query.NullTest:
		return n.Not && !n.Row && nullWith(n.Arg, rels)
	case *query.Or:
		for _, a := range n.Args {
			if !rejectsNulls(a, rels) {
				return false
			}
		}
		return true
	case *query.And:
		for _, a := range n.Args {
			if rejectsNulls(a, rels) {
				return true
			}
		}
		return false
	case *query.ArrayOp: // false, not null, of an empty array
		return !n.All && n.Proc.Strict && nullWith(n.Left, rels)
	case *query.BoolTest:
		return !n.Not && n.Value != 'u' && nullWith(n.Arg, rels)
	}
	return nullWith(c, rels)
}

// nullWith reports whether e is null where all columns of rels are.
func nullWith(e query.Expr, rels relSet) bool {
	switch n := e.(type) {
	case *query.Var:
		return n.Up == 0 && n.Col != query.ColWholeRow && rels[n.Rel]
	case *query.Relabel:
		return nullWith(n.Arg, rels)
	case *query.CoerceIO:
		return nullWith(n.Arg, rels)
	case *query.Not:
		return nullWith(n.Arg, rels)
	case *query.Call:
		if !n.Proc.Strict || n.Proc.RetSet {
			return false
		}
		for _, a := range n.Args {
			if nullWith(a, rels) {
				return true
			}
		}
	}
	return false
}
