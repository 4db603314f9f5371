package query

import "github.com/sherddb/sherd/catalog"

// Index is a secondary index with what it keeps of a row (Vars of Rel Result, or 0 if there is no
// query).
type Index struct {
	Def   *catalog.Index
	Keys  []Expr   // plain columns are Vars
	Names []string // of the keys, as messages show them
	Where Expr     // predicate of a partial index, nil is none
}

// StatisticsExpression is an expression of a statistics object.
type StatisticsExpression struct {
	Object   catalog.OID
	Position int // among the expressions, from 1
	Expr     Expr
}
