package selectivity

import (
	"github.com/sherddb/sherd/sql/gin"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/types"
)

// Of conditions on the contents of documents and arrays, as PostgreSQL guesses (matchingsel,
// arraycontsel).
const (
	unknownContents = 0.01
	unknownElements = 0.005 // arrays that contain, or are in, another one
)

// ofContents returns the guessed share of rows that meet a condition on contents; ok is false for
// other operators.
func ofContents(op string, value query.Expr) (share float64, ok bool) {
	switch op {
	case "?", "?|", "?&", "@?", "@@", "&&":
		return unknownContents, true
	case "@>", "<@":
		if types.BaseOf(value.Type()) == types.JSONB {
			return unknownContents, true
		}
		return unknownElements, true
	}
	return 0, false
}

// contents adds a condition on the contents of a column, and reports whether it is one. The known
// values of the column show how many rows meet it.
func (e *estimate) contents(op string, v statistics.Variable, value query.Expr) bool {
	guess, ok := ofContents(op, value)
	if !ok {
		return false
	}
	d, known := constant(value)
	if v.Column == nil || !known || d.IsNull() {
		e.term(v, guess, nil)
		return true
	}
	column := gin.Column{Type: v.Column.Type, Class: gin.ClassOf(v.Column.Type, 0)}
	if column.Class == gin.JSONBOps && !(op[0] == '?') {
		column.Class = gin.JSONBPathOps
	}
	if !column.Class.Searches(op) || !column.Takes(value.Type()) {
		e.term(v, guess, nil)
		return true
	}
	s, err := column.Search(op, d)
	if err != nil || s.Kind == gin.All {
		e.term(v, guess, nil)
		return true
	}
	matches := func(d types.Datum) bool {
		terms, err := column.Append(nil, d)
		return err == nil && s.Finds(terms)
	}
	e.term(v, v.Matching(guess, matches), matches)
	return true
}
