package parse

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// Contained returns the query in a statement that is not a query but contains one that may have
// parameters: CREATE TABLE AS, SELECT INTO, DECLARE CURSOR, and EXPLAIN of a query or of one of
// these. ok is false if there is none.
func Contained(st Statement) (inner Statement, ok bool) {
	switch n := st.Node.Node.(type) {
	case *pg_query.Node_CreateTableAsStmt:
		st.Node = n.CreateTableAsStmt.Query
	case *pg_query.Node_SelectStmt:
		st.Node, _ = WithoutInto(n.SelectStmt)
	case *pg_query.Node_DeclareCursorStmt:
		st.Node = n.DeclareCursorStmt.Query
	case *pg_query.Node_ExplainStmt:
		if st.Node = n.ExplainStmt.Query; !IsQuery(st.Node) {
			return Contained(st)
		}
	default:
		return st, false
	}
	return st, IsQuery(st.Node)
}

// WithoutInto returns the query of SELECT … INTO, and its INTO clause.
func WithoutInto(n *pg_query.SelectStmt) (*pg_query.Node, *pg_query.IntoClause) {
	n = proto.CloneOf(n) // trees are shared
	first := n
	for first.Larg != nil {
		first = first.Larg
	}
	into := first.IntoClause
	first.IntoClause = nil
	return &pg_query.Node{Node: &pg_query.Node_SelectStmt{SelectStmt: n}}, into
}
