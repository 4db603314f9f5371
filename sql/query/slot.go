package query

// Slot reads slot N of the input row. A planner puts slots in the place of Vars.
type Slot struct {
	T
	N    int
	Name string // for EXPLAIN
	Rel  string // for EXPLAIN: the table, if the query has several
	Of   Expr   // for EXPLAIN: the expression that was computed into it below, nil for a column
}

// Outer reads parameter N of the execution, which an operator above sets: a nested loop or a
// subquery.
type Outer struct {
	T
	N    int
	Name string // for EXPLAIN: the column, "" for a subquery's value
	Rel  string // for EXPLAIN: its table
	Of   Expr   // for EXPLAIN: the expression that a lookup binds, nil for a plain column
}

// Pick is the constant Of[N], as GROUPING(…) returns it for the number of the grouping set.
type Pick struct {
	T
	N  *Slot
	Of []Expr
}
