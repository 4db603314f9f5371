package plan

import (
	"strings"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

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
