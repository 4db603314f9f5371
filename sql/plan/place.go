package plan

import (
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// locality says that every fragment can run a part alone, each for the buckets it holds.
type locality struct {
	rels []int // range table entries of the same query whose rows share the bucket
	// firm are those of rels whose columns no outer join has filled with nulls: their rows say in
	// which bucket a row of the part lies.
	firm  []int
	route Route
}

// gather ends locality: what is below runs in the fragments, what comes above at the gateway. Merge
// keeps the order of sorted children; the order that the part is known to have is kept too.
func (p *planner) gather(cur part, merge []SortKey) part {
	if cur.local == nil {
		return cur
	}
	if merge == nil {
		merge = cur.order
	}
	forgetFound(cur.node, cur.local.route.Index)
	cur.node = &Gather{Base: Base{cur.node.Output()}, Child: cur.node, Route: cur.local.route, Merge: merge}
	cur.local = nil
	return cur
}

// colocated decides whether a join of two local parts can run inside the fragments: rows that join
// must share the bucket. That holds where both sides are tied by all parts of what their buckets
// follow from (placing). Policies count if they are validated and without a Range: a block of
// several buckets may lie across two fragments.
func colocated(l *level, kind query.JoinKind, left, right part, eqs []equality) *locality {
	if left.local == nil || right.local == nil {
		return nil
	}
	for _, a := range left.local.rels {
		for _, b := range right.local.rels {
			if sameBucket(l, a, b, eqs) {
				return joinedLocality(kind, left.local, right.local)
			}
		}
	}
	return nil
}

// joinedLocality is what a join inside the fragments leaves. A route is only ever a shortcut: the
// scans keep their conditions. So a join takes the route of a side without whose rows there is no
// result, and of neither where both sides' rows are kept.
func joinedLocality(kind query.JoinKind, left, right *locality) *locality {
	out := &locality{rels: slices.Concat(left.rels, right.rels), route: left.route}
	switch kind {
	case query.Inner:
		out.firm = slices.Concat(left.firm, right.firm)
		out.route = narrower(left.route, right.route)
	case query.Semi:
		out.rels, out.firm = left.rels, left.firm
		out.route = narrower(left.route, right.route)
	case query.Anti:
		out.rels, out.firm = left.rels, left.firm
	case query.Left:
		out.firm = left.firm
	case query.Right:
		out.firm, out.route = right.firm, right.route
	default:
		out.route = Route{Table: left.route.Table}
	}
	return out
}

// narrower chooses between two routes that both hold: by key before by content before by interval.
func narrower(a, b Route) Route {
	if b.rank() < a.rank() {
		return b
	}
	return a
}

func (r *Route) rank() int {
	switch {
	case r.Never:
		return 0
	case len(r.Keys) > 0:
		return 1
	case r.KeyArray != nil:
		return 2
	case r.Index != nil:
		return 3
	case len(r.Content) > 0:
		return 4
	case r.Lo != nil || r.Hi != nil:
		return 5
	case r.Span != nil, r.ByPrefix():
		return 6
	}
	return 7
}

// placing is one way to tell a row's bucket from its values: the texts of some parts of it are
// hashed together.
type placing struct {
	rule  placeRule
	parts []func(e query.Expr) bool // whether e is the part, in the order of their texts
}

type placeRule int

const (
	byID     placeRule = iota // of a document: what is behind its last $ counts, if there is one
	byKey                     // all columns of the primary key
	byPolicy                  // the fields of a policy without functions
)

// placings lists what the bucket of a row of entry rel follows from.
func placings(l *level, rel int) (out []placing) {
	t := l.q.Rels[rel].Table
	if key := keyPositions(t); len(key) > 0 && !placedByPolicy(t) {
		x := placing{rule: byKey}
		if t.Anchors {
			x.rule = byID
		}
		for _, col := range key {
			x.parts = append(x.parts, func(e query.Expr) bool { return isColumn(e, varKey{rel, col}) })
		}
		out = append(out, x)
	}
	if trustedPlain(t) && t.Policy.Range == 1 {
		x := placing{rule: byPolicy}
		for i := range t.Policy.Fields {
			x.parts = append(x.parts, func(e query.Expr) bool { return isPolicyField(l, e, rel, i) })
		}
		out = append(out, x)
	}
	return out
}

// hashesLike reports whether both ways hash the same texts for equal values. A key and a policy
// join the texts of several parts in different ways, and a policy hashes a text that reads like a
// number as the number (alikeInBoth).
func (x placing) hashesLike(y placing) bool {
	return len(x.parts) == len(y.parts) &&
		(x.rule == y.rule || x.rule != byID && y.rule != byID && len(x.parts) == 1)
}

// tied reports whether equalities say that all parts of both are equal.
func (x placing) tied(y placing, eqs []equality) bool {
	for i := range x.parts {
		if !slices.ContainsFunc(eqs, func(e equality) bool {
			return !e.nulls && x.parts[i](e.left) && y.parts[i](e.right) &&
				(x.rule == y.rule || alikeInBoth(e.left.Type()))
		}) {
			return false
		}
	}
	return true
}

// alikeInBoth reports whether a policy hashes a column of a type as a key does.
func alikeInBoth(oid types.OID) bool {
	switch oid {
	case types.Int2, types.Int4, types.Int8, types.UUID, types.Bool, types.Date, types.Timestamp, types.TimestampTZ:
		return true
	}
	return false
}

func sameBucket(l *level, a, b int, eqs []equality) bool {
	ta, tb := l.q.Rels[a].Table, l.q.Rels[b].Table
	if ta == nil || tb == nil || ta.Database != tb.Database || ta.IsTemporary() != tb.IsTemporary() ||
		ranged(ta) || ranged(tb) ||
		!ta.Prefixes.Equal(tb.Prefixes) {
		return false
	}
	for _, x := range placings(l, a) {
		for _, y := range placings(l, b) {
			if x.hashesLike(y) && x.tied(y, eqs) {
				return true
			}
		}
	}
	return false
}

// trusted reports whether routing may follow the table's policy (docs/design/placement.md).
func trusted(t *catalog.Table) bool {
	return t.Policy != nil && t.PolicyValidated && !t.Policy.Mutable && !t.Policy.IsID()
}

// trustedPlain reports whether that policy has no functions, so that its fields' texts alone choose
// the bucket.
func trustedPlain(t *catalog.Table) bool {
	return trusted(t) && !slices.ContainsFunc(t.Policy.Fields, func(f shardmap.Field) bool {
		return f.Func != shardmap.PlainField
	})
}

func isColumn(e query.Expr, k varKey) bool {
	v, ok := bare(e).(*query.Var)
	return ok && v.Up == 0 && v.Rel == k.rel && v.Col == k.col
}

// bare strips casts that leave value, equality and order as they are: those between text and
// varchar. Others, as integer to oid or text to character, compare in another way than the column
// itself.
func bare(e query.Expr) query.Expr {
	for {
		r, ok := e.(*query.Relabel)
		if !ok || !textLike(r.OID) || !textLike(r.Arg.Type()) {
			return e
		}
		e = r.Arg
	}
}

func textLike(oid types.OID) bool { return oid == types.Text || oid == types.VarChar }

// keyPositions lists the positions of the primary key's columns in t.Columns, in key order; none
// where there is no primary key.
func keyPositions(t *catalog.Table) []int {
	for _, c := range t.Constraints {
		if c.Kind != catalog.PrimaryKey {
			continue
		}
		var out []int
		for _, att := range c.Columns {
			for i := range t.Columns {
				if t.Columns[i].AttNum == att {
					out = append(out, i)
				}
			}
		}
		return out
	}
	return nil
}

// placedByPolicy reports whether the bucket comes from policy columns inside the primary key rather
// than from the whole key.
func placedByPolicy(t *catalog.Table) bool {
	return t.Policy != nil && !t.Anchors
}

// stays reports whether e holds what only the gateway can run (R3): a subquery, or a call that asks
// or changes the session, its node or the catalog.
func stays(e query.Expr) bool {
	return query.Contains(e, func(x query.Expr) bool {
		switch x.(type) {
		case *SubPlan, *query.SubLink:
			return true
		}
		return asksGateway(x)
	})
}

// asksGateway is the same of one expression without its inputs, and of calls alone.
func asksGateway(x query.Expr) bool {
	switch n := x.(type) {
	case *query.Call:
		switch builtin.PlaceOf(n.Proc) {
		case builtin.Anywhere:
			return false
		case builtin.AnywhereNamed:
			_, constant := n.Args[0].(*query.Const)
			return !constant
		}
		return true
	case *query.CoerceIO: // a name of an object is one for the session's search path
		return isNamed(n.Type()) || isNamed(n.Arg.Type())
	}
	return false
}

// isNamed reports whether values of a type have names in the catalog as their text forms.
func isNamed(oid types.OID) bool {
	if elem := types.ElemOf(oid); elem != 0 {
		oid = elem
	}
	if types.KindOf(oid) != types.KindOid {
		return false
	}
	t := pgcatalog.TypeByOID(oid)
	return t != nil && strings.HasPrefix(t.Name, "reg")
}

// once reports whether x has one value during the statement, though the gateway must find it:
// nothing in it hangs on a row.
func once(x query.Expr) bool {
	return !query.Contains(x, func(x query.Expr) bool {
		switch n := x.(type) {
		case *query.Call:
			return n.Proc.RetSet || n.Proc.Volatility == 'v' && builtin.PlaceOf(n.Proc) != builtin.AtGatewayOnce
		case *query.Slot, *query.Outer, *SubPlan, *query.Pick, *query.Var, *query.SubLink, *query.Element,
			*query.SubColumn, *query.Agg, *query.WindowCall:
			return true
		}
		return false
	})
}

// runsWithRow returns an error for a function of a user in an expression that is evaluated in the
// fragment of the row: only functions that are inlined run there.
func runsWithRow(what string, list ...query.Expr) error {
	for _, e := range list {
		var found *query.Proc
		query.Walk(e, func(x query.Expr) bool {
			if c, ok := x.(*query.Call); ok && c.Proc.Language != "" {
				found = c.Proc
			}
			return found == nil
		})
		if found != nil {
			return pgerr.Unsupported("function %s cannot be used in %s because it cannot be inlined", found.Name, what).
				WithHint("A function that is one SELECT of one expression, in LANGUAGE sql, is inlined.")
		}
	}
	return nil
}
