package analyze

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// aggregateOrWindow turns a call into an aggregate or a window call. within is the number of WITHIN
// GROUP arguments at its end.
func (s *scope) aggregateOrWindow(f *pg_query.FuncCall, name []string, call *query.Call, found *found,
	within int) (query.Expr, error) {
	shown := strings.Join(name, ".")
	if call.Proc.RetSet {
		return nil, s.unsupported(f.Location, "aggregates that return sets are not supported")
	}
	if found.proc.Kind == 'a' {
		a := pgcatalog.AggregateOf(call.Proc.OID)
		ordered := a != nil && a.Kind != 'n'
		switch {
		case ordered && !f.AggWithinGroup && f.Over != nil:
			return nil, s.unsupported(f.Location, "OVER is not supported for ordered-set aggregate %s", shown)
		case ordered && !f.AggWithinGroup:
			return nil, s.errorf(f.Location, pgerr.WrongObjectType,
				"WITHIN GROUP is required for ordered-set aggregate %s", shown)
		case !ordered && f.AggWithinGroup:
			return nil, s.errorf(f.Location, pgerr.WrongObjectType,
				"%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", shown)
		}
		if len(call.Args) == 0 && !f.AggStar && !ordered {
			return nil, s.errorf(f.Location, pgerr.WrongObjectType,
				"%s(*) must be used to call a parameterless aggregate function", shown)
		}
		if ordered && a.Kind == 'h' {
			return nil, s.unsupported(f.Location, "hypothetical-set aggregate %s is not supported yet", shown)
		}
	}
	if f.Over != nil {
		return s.windowCall(f, shown, call)
	}
	return s.aggregate(f, call, within)
}

// aggregate completes an aggregate call (transformAggregateCall).
func (s *scope) aggregate(f *pg_query.FuncCall, call *query.Call, within int) (query.Expr, error) {
	agg := &query.Agg{T: call.T, Proc: call.Proc, Star: f.AggStar, Distinct: f.AggDistinct, Pos: call.Pos}
	if f.AggWithinGroup {
		agg.Direct, agg.Args = call.Args[:len(call.Args)-within], call.Args[len(call.Args)-within:]
		for i, n := range f.AggOrder {
			o, err := s.aggOrder(n.GetSortBy(), agg.Args[i])
			if err != nil {
				return nil, err
			}
			o.Arg = i
			agg.Order = append(agg.Order, o)
		}
	} else {
		agg.Args = append([]query.Expr(nil), call.Args...)
		if err := s.aggLiterals(f, agg); err != nil {
			return nil, err
		}
		if err := s.aggOrders(f, agg); err != nil {
			return nil, err
		}
	}
	if agg.Distinct {
		if err := s.aggDistinct(f, agg, len(call.Args)-within); err != nil {
			return nil, err
		}
	}
	if f.AggFilter != nil {
		err := s.at(inFilter, func() error {
			e, err := s.expr(f.AggFilter)
			if err != nil {
				return err
			}
			agg.Filter, err = s.coerceBool(e, "FILTER", location(f.AggFilter))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return s.placeAggregate(agg, f.Location)
}

// aggLiterals makes literals without a type, as in count(DISTINCT 'x'), text if DISTINCT compares
// them.
func (s *scope) aggLiterals(f *pg_query.FuncCall, agg *query.Agg) error {
	for i, a := range agg.Args {
		if !agg.Distinct || a.Type() != types.Unknown {
			continue
		}
		e, err := s.coerce(a, types.Text, -1, implicit, location(f.Args[min(i, len(f.Args)-1)]))
		if err != nil {
			return err
		}
		agg.Args[i] = e
	}
	return nil
}

// aggOrders reads ORDER BY inside the parentheses. Sort keys that are not arguments are appended to
// the arguments.
func (s *scope) aggOrders(f *pg_query.FuncCall, agg *query.Agg) error {
	for _, n := range f.AggOrder {
		sb := n.GetSortBy()
		e, err := s.expr(sb.Node)
		if err != nil {
			return err
		}
		if e.Type() == types.Unknown {
			if e, err = s.coerce(e, types.Text, -1, implicit, location(sb.Node)); err != nil {
				return err
			}
		}
		at := -1
		for i, a := range agg.Args {
			if query.Equal(a, e) {
				at = i
				break
			}
		}
		if at < 0 {
			if agg.Distinct {
				return s.errorf(location(sb.Node), pgerr.InvalidColumnReference,
					"in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list")
			}
			at = len(agg.Args)
			agg.Args = append(agg.Args, e)
		}
		o, err := s.aggOrder(sb, e)
		if err != nil {
			return err
		}
		o.Arg = at
		agg.Order = append(agg.Order, o)
	}
	return nil
}

func (s *scope) aggOrder(sb *pg_query.SortBy, e query.Expr) (query.AggOrder, error) {
	desc, nullsFirst, err := s.direction(sb)
	if err != nil {
		return query.AggOrder{}, err
	}
	return query.AggOrder{Desc: desc, NullsFirst: nullsFirst}, s.sortable(e.Type(), location(sb.Node), "ordering")
}

func (s *scope) aggDistinct(f *pg_query.FuncCall, agg *query.Agg, n int) error {
	if n == 0 {
		return s.errorf(f.Location, pgerr.InvalidColumnReference,
			"an aggregate with DISTINCT must have at least one argument")
	}
	for i := range n {
		if err := s.sortable(agg.Args[i].Type(), location(f.Args[min(i, len(f.Args)-1)]), "equality"); err != nil {
			return err
		}
	}
	return nil
}

// placeAggregate finds the query level of an aggregate, and returns an error if an aggregate is not
// allowed there (check_agglevels_and_constraints).
func (s *scope) placeAggregate(agg *query.Agg, loc int32) (query.Expr, error) {
	level, nested, window := aggLevel(agg)
	if nested != nil {
		return nil, pgerr.New(pgerr.GroupingError, "aggregate function calls cannot be nested").At(nested.Pos)
	}
	if window != nil {
		return nil, s.errorf(s.locs.of(window), pgerr.GroupingError,
			"aggregate function calls cannot contain window function calls")
	}
	for _, a := range agg.Args {
		if returnsSet(a) {
			return nil, s.noAggSet(loc)
		}
	}
	agg.Up = level
	owner := s.levelAt(level)
	if message := noAggregates(owner.place); message != "" {
		return nil, s.errorf(loc, pgerr.GroupingError, "%s", message)
	}
	owner.q.HasAggs = true
	return agg, nil
}

func (s *scope) noAggSet(loc int32) error {
	return s.unsupported(loc, "aggregate function calls cannot contain set-returning function calls").
		WithHint("You might be able to move the set-returning function into a LATERAL FROM item.")
}

// noAggregates returns the message for a place where aggregates are not allowed, else "".
func noAggregates(p place) string {
	switch p {
	case inSelect, inOther, inHaving, inOrderBy, inDistinctOn, inWindowPartition, inWindowOrder, inInsert:
		return ""
	case inJoinOn:
		return "aggregate functions are not allowed in JOIN conditions"
	case inFromSubselect:
		return "aggregate functions are not allowed in FROM clause of their own query level"
	case inFromFunction:
		return "aggregate functions are not allowed in functions in FROM"
	case inWindowFrame:
		return "aggregate functions are not allowed in window RANGE"
	case inCheck:
		return "aggregate functions are not allowed in check constraints"
	case inDefault, inParameterDefault:
		return "aggregate functions are not allowed in DEFAULT expressions"
	case inGenerated:
		return "aggregate functions are not allowed in column generation expressions"
	case inIndexKey:
		return "aggregate functions are not allowed in index expressions"
	case inIndexPredicate:
		return "aggregate functions are not allowed in index predicates"
	case inTransform:
		return "aggregate functions are not allowed in transform expressions"
	}
	return "aggregate functions are not allowed in " + placeNames[p]
}

// aggLevel returns the innermost query level whose variables an aggregate's arguments use, and
// calls in them that must not be nested in an aggregate.
func aggLevel(agg *query.Agg) (level int, nested *query.Agg, window query.Expr) {
	low := -1
	visit := func(up int) {
		if up >= 0 && (low < 0 || up < low) {
			low = up
		}
	}
	aggs := map[int]*query.Agg{}
	each := func(e query.Expr) {
		walkLevels(e, 0, func(x query.Expr, depth int) {
			switch v := x.(type) {
			case *query.Var:
				visit(v.Up - depth)
			case *query.Agg:
				if v.Up >= depth {
					aggs[v.Up-depth] = v
					visit(v.Up - depth)
				}
			case *query.WindowCall:
				if depth == 0 {
					window = v
				}
			}
		})
	}
	for _, a := range agg.Args {
		each(a)
	}
	if agg.Filter != nil {
		each(agg.Filter)
	}
	if low < 0 {
		low = 0
	}
	for _, d := range agg.Direct {
		each(d)
	}
	return low, aggs[low], window
}

// walkLevels calls f with every expression in e, including those in subqueries; depth is the number
// of subqueries around the expression.
func walkLevels(e query.Expr, depth int, f func(x query.Expr, depth int)) {
	if e == nil {
		return
	}
	query.Walk(e, func(x query.Expr) bool {
		f(x, depth)
		if sub, ok := x.(*query.SubLink); ok {
			query.WalkQuery(sub.Query, func(x query.Expr, d int) { f(x, depth+1+d) })
		}
		return true
	})
}

// hasOwnVars reports whether e uses a variable of its own query level.
func hasOwnVars(e query.Expr) bool {
	found := false
	walkLevels(e, 0, func(x query.Expr, depth int) {
		if v, ok := x.(*query.Var); ok && v.Up == depth {
			found = true
		}
	})
	return found
}
