package sql

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// bound holds the parameters that a client has bound to a statement that is not a query but
// contains one: CREATE TABLE AS, SELECT INTO, DECLARE CURSOR and EXPLAIN.
type bound struct {
	params []types.OID
	args   []types.Datum
}

// contained returns the query in a statement that may have parameters; ok is false if there is
// none.
func contained(st parse.Statement) (inner parse.Statement, ok bool) {
	switch n := st.Node.Node.(type) {
	case *pg_query.Node_CreateTableAsStmt:
		st.Node = n.CreateTableAsStmt.Query
	case *pg_query.Node_SelectStmt:
		st.Node, _ = withoutInto(n.SelectStmt)
	case *pg_query.Node_DeclareCursorStmt:
		st.Node = n.DeclareCursorStmt.Query
	case *pg_query.Node_ExplainStmt:
		st.Node = n.ExplainStmt.Query
	default:
		return st, false
	}
	return st, parse.IsQuery(st.Node)
}

// withoutInto returns the query of SELECT … INTO, and its INTO clause.
func withoutInto(n *pg_query.SelectStmt) (*pg_query.Node, *pg_query.IntoClause) {
	n = proto.CloneOf(n) // trees are shared
	first := n
	for first.Larg != nil {
		first = first.Larg
	}
	into := first.IntoClause
	first.IntoClause = nil
	return &pg_query.Node{Node: &pg_query.Node_SelectStmt{SelectStmt: n}}, into
}

// containedParams returns the parameters of the query in a statement that contains one. declared
// are the parameters whose types the client has declared; any other statement has only these.
func (s *Session) containedParams(ctx context.Context, st parse.Statement, declared []types.OID) ([]types.OID, error) {
	inner, ok := contained(st)
	if !ok {
		return declared, nil
	}
	p, err := s.program(ctx, inner, declared)
	if err != nil {
		return nil, err
	}
	return p.Params, nil
}

// containedProgram returns the program of a contained query, and the arguments bound to its
// parameters.
func (s *Session) containedProgram(ctx context.Context, inner parse.Statement) (*stmt.Program, []types.Datum, error) {
	if b := s.bound; b != nil {
		p, err := s.program(ctx, inner, b.params)
		return p, b.args, err
	}
	p, err := s.program(ctx, inner, nil)
	if err == nil && len(p.Params) > 0 || pgerr.Is(err, pgerr.IndeterminateDatatype) {
		err = s.currentCompiler().NoParameters(inner)
	}
	return p, nil, err
}
