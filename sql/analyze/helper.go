package analyze

import (
	"fmt"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

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
