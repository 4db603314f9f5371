package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Statement analyses a SELECT, VALUES, INSERT, UPDATE or DELETE. source is the text that node's locations count in. params are the types of
// $1, $2, … as far as the client gave them, 0 where the statement is to decide; the types decided on come back.
func Statement(ctx *Context, source string, node *pg_query.Node, params []types.OID) (*query.Query, []types.OID, error) {
	st := &state{ctx: ctx, text: source, params: append([]types.OID(nil), params...), locs: varLocations{}}
	for i, p := range st.params {
		if p == types.Unknown {
			st.params[i] = 0
		}
	}
	s := &scope{state: st, q: &query.Query{}}
	var err error
	switch v := node.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		err = s.selectStmt(v.SelectStmt, true)
	case *pg_query.Node_InsertStmt:
		err = s.insert(v.InsertStmt)
	case *pg_query.Node_UpdateStmt:
		err = s.update(v.UpdateStmt)
	case *pg_query.Node_DeleteStmt:
		err = s.delete(v.DeleteStmt)
	case *pg_query.Node_MergeStmt:
		err = pgerr.Unsupported("MERGE is not supported yet").WithHint("Use INSERT … ON CONFLICT.")
	default:
		err = pgerr.New(pgerr.InternalError, "analyze: no query: %T", node.GetNode())
	}
	if err != nil {
		return nil, nil, err
	}
	if err := st.checkParams(s.q); err != nil {
		return nil, nil, err
	}
	return s.q, st.params, nil
}

// checkParams refuses parameters whose type is open, or was open at one place and decided at another.
func (st *state) checkParams(q *query.Query) error {
	for i, t := range st.params {
		if t == 0 {
			return pgerr.New(pgerr.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1)
		}
	}
	if len(st.params) == 0 {
		return nil
	}
	var err error
	query.WalkQuery(q, func(e query.Expr, _ int) {
		if p, ok := e.(*query.Param); ok && err == nil && st.params[p.N-1] != p.OID {
			err = pgerr.New(pgerr.AmbiguousParameter, "could not determine data type of parameter $%d", p.N)
		}
	})
	return err
}
