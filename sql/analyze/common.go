package analyze

import (
	"fmt"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// item is an expression with its location in the text, for messages.
type item struct {
	expr query.Expr
	loc  int32
}

func exprsOf(items []item) []query.Expr {
	out := make([]query.Expr, len(items))
	for i, it := range items {
		out[i] = it.expr
	}
	return out
}

// commonType is select_common_type: it returns the type that all items can be coerced to. context
// names the construct in messages; if it is "", the result is 0 instead of an error.
func (s *scope) commonType(items []item, context string) (types.OID, error) {
	first := items[0].expr.Type()
	if same(items, first) && first != types.Unknown {
		return first, nil
	}
	best := baseType(first)
	bestCategory := category(best)
	bestPreferred := preferred(categoryInvalid, best)
	for _, it := range items[1:] {
		t := baseType(it.expr.Type())
		if t == types.Unknown || t == best {
			continue
		}
		c := category(t)
		switch {
		case best == types.Unknown:
			best, bestCategory, bestPreferred = t, c, preferred(categoryInvalid, t)
		case c != bestCategory:
			if context == "" {
				return 0, nil
			}
			return 0, s.errorf(it.loc, pgerr.DatatypeMismatch, "%s types %s and %s cannot be matched", context,
				s.ctx.name(best), s.ctx.name(t))
		case !bestPreferred && canCoerceOne(best, t, implicit) && !canCoerceOne(t, best, implicit):
			best, bestCategory, bestPreferred = t, c, preferred(categoryInvalid, t)
		}
	}
	if best == types.Unknown {
		best = types.Text
	}
	return best, nil
}

func same(items []item, t types.OID) bool {
	for _, it := range items {
		if it.expr.Type() != t {
			return false
		}
	}
	return true
}

// commonTypeOf is select_common_type_from_oids without expressions; ok is false if there is no
// common type.
func commonTypeOf(oids []types.OID) (types.OID, bool) {
	best := oids[0]
	allSame := best != types.Unknown
	for _, t := range oids[1:] {
		allSame = allSame && t == best
	}
	if allSame {
		return best, true
	}
	best = baseType(best)
	bestCategory, bestPreferred := category(best), preferred(categoryInvalid, best)
	for _, t := range oids[1:] {
		t = baseType(t)
		if t == types.Unknown || t == best {
			continue
		}
		c := category(t)
		switch {
		case best == types.Unknown:
			best, bestCategory, bestPreferred = t, c, preferred(categoryInvalid, t)
		case c != bestCategory:
			return 0, false
		case !bestPreferred && canCoerceOne(best, t, implicit) && !canCoerceOne(t, best, implicit):
			best, bestCategory, bestPreferred = t, c, preferred(categoryInvalid, t)
		}
	}
	if best == types.Unknown {
		best = types.Text
	}
	for _, t := range oids { // verify_common_type_from_oids
		if t != types.Unknown && !canCoerceOne(t, best, implicit) {
			return 0, false
		}
	}
	return best, true
}

// coerceAll coerces every item to the common type.
func (s *scope) coerceAll(items []item, t types.OID, context string) ([]query.Expr, error) {
	out := make([]query.Expr, len(items))
	for i, it := range items {
		e, err := s.coerceCommon(it.expr, t, context, it.loc)
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

func itoa(n int) string { return strconv.Itoa(n) }

func typeOfNode(n *pg_query.Node) string { return fmt.Sprintf("%T", n.GetNode()) }

// clearLocations sets every location in a parse tree to 0.
func clearLocations(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Name() == "location":
			m.Clear(f)
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				clearLocations(v.List().Get(i).Message())
			}
		case f.Message() != nil && !f.IsMap():
			clearLocations(v.Message())
		}
		return true
	})
}

// isCollatable reports whether values of a type are compared by a collation.
func isCollatable(t types.OID) bool {
	p := pgcatalog.TypeByOID(baseType(t))
	if p == nil {
		return false
	}
	if e := pgcatalog.ElementOf(p.OID); e != 0 {
		return isCollatable(e)
	}
	return p.Collation != 0
}

// DependsOnClock reports whether the value of a literal depends on the time: now, today and similar
// words are evaluated when the statement runs.
func DependsOnClock(t types.OID, text string) bool {
	switch t {
	case types.Date, types.Time, types.TimeTZ, types.Timestamp, types.TimestampTZ:
		lower := strings.ToLower(text)
		for _, word := range []string{"now", "today", "tomorrow", "yesterday"} {
			if strings.Contains(lower, word) {
				return true
			}
		}
	}
	return false
}

// locations has the locations of variables, parameters and window calls in the text, for errors
// that are found later.
type locations map[query.Expr]int32

func (l locations) of(v query.Expr) int32 {
	if loc, ok := l[v]; ok {
		return loc
	}
	return -1
}

// add notes a number or a string of the text.
func (l Literals) add(c *query.Const, n *pg_query.A_Const) {
	switch n.Val.(type) {
	case *pg_query.A_Const_Ival, *pg_query.A_Const_Fval, *pg_query.A_Const_Sval:
		if l != nil && n.Location >= 0 {
			l[c] = n.Location
		}
	}
}

// readAs notes a literal that is read as another type.
func (l Literals) readAs(c, literal *query.Const) {
	if loc, ok := l[literal]; ok {
		l[c] = loc
	}
}
