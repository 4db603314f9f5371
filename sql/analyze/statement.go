package analyze

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Statement analyzes a SELECT, VALUES, INSERT, UPDATE or DELETE of ctx.Source. params are the types
// of $1, $2, … from the client, 0 if the statement decides; the chosen types are returned.
func Statement(ctx *Context, node *pg_query.Node, params []types.OID) (*query.Query, []types.OID, error) {
	return statement(ctx, node, params, nil)
}

// Literals are the constants of an analyzed query that are nothing but literals of its text, read as
// their types, with the byte offsets of the literals. A number with a minus sign begins there.
type Literals map[*query.Const]int32

// WithLiterals analyzes a statement without parameters, and returns its literals.
func WithLiterals(ctx *Context, node *pg_query.Node) (*query.Query, Literals, error) {
	found := Literals{}
	q, _, err := statement(ctx, node, nil, found)
	return q, found, err
}

func statement(ctx *Context, node *pg_query.Node, params []types.OID, found Literals) (
	*query.Query, []types.OID, error,
) {
	st := &state{ctx: ctx, text: parse.Positions{Text: ctx.Source}, params: append([]types.OID(nil), params...),
		locs: locations{}, noParams: ctx.NoParams, literals: found}
	for i, p := range st.params {
		if p == types.Unknown {
			st.params[i] = 0
		}
	}
	s := &scope{state: st, q: &query.Query{}}
	if err := s.statement(node); err != nil {
		return nil, nil, err
	}
	if err := st.checkParams(s.q); err != nil {
		return nil, nil, err
	}
	for i, p := range st.current {
		p.N = len(st.params) + 1 + i
	}
	s.q.Currents = st.currents
	return s.q, st.params, nil
}

// statement analyzes a query.
func (s *scope) statement(node *pg_query.Node) error {
	switch v := node.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		return s.selectStmt(v.SelectStmt, true)
	case *pg_query.Node_InsertStmt:
		return s.insert(v.InsertStmt)
	case *pg_query.Node_UpdateStmt:
		return s.update(v.UpdateStmt)
	case *pg_query.Node_DeleteStmt:
		return s.delete(v.DeleteStmt)
	case *pg_query.Node_MergeStmt:
		return pgerr.Unsupported("MERGE is not supported yet").WithHint("Use INSERT … ON CONFLICT.")
	}
	return pgerr.New(pgerr.InternalError, "analyze: no query: %T", node.GetNode())
}

// checkParams refuses parameters whose type is undetermined, or was determined only after another
// use.
func (st *state) checkParams(q *query.Query) error {
	for i, t := range st.params {
		if t == 0 {
			return pgerr.New(pgerr.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1)
		}
	}
	if len(st.params) == 0 {
		return nil
	}
	var found *query.Param
	query.WalkQuery(q, func(e query.Expr, _ int) {
		if p, ok := e.(*query.Param); ok && found == nil && p.N > 0 &&
			types.BaseOf(st.params[p.N-1]) != p.OID {
			found = p
		}
	})
	if found == nil {
		return nil
	}
	return pgerr.New(pgerr.AmbiguousParameter, "could not determine data type of parameter $%d", found.N).
		At(st.text.At(int(st.locs.of(found))))
}

// Table finds the table of a name, for COPY, TRUNCATE and DDL. It returns 42P01 if there is no
// relation, 42809 if it is not a table.
func Table(ctx *Context, rv *pg_query.RangeVar) (*catalog.Table, error) {
	s := storedScope(ctx, ctx.Source, "", nil, inOther)
	rel, _, err := s.relation(rv)
	if err != nil {
		return nil, err
	}
	if rel.Table != nil && rel.Kind != query.RelTable {
		return nil, pgerr.New(pgerr.WrongObjectType, "%q is not a table", rv.Relname).
			WithDetail("This operation is not supported for sequences.")
	}
	if rel.View != nil {
		return nil, pgerr.New(pgerr.WrongObjectType, "%q is not a table", rv.Relname).
			WithDetail("This operation is not supported for views.")
	}
	if rel.Kind != query.RelTable {
		return nil, pgerr.New(pgerr.WrongObjectType, "%q is not a table", rv.Relname)
	}
	return rel.Table, nil
}

// FindView returns the view of a name, nil if there is none.
func FindView(ctx *Context, rv *pg_query.RangeVar) *catalog.Table {
	own := *ctx
	own.Form = true // the query of the view is not needed
	s := storedScope(&own, ctx.Source, "", nil, inOther)
	rel, _, err := s.relation(rv)
	if err != nil {
		return nil
	}
	return rel.View
}

// TypeName returns the type and the type modifier of a type's name; -1 is no modifier.
func TypeName(ctx *Context, source string, t *pg_query.TypeName) (types.OID, int32, error) {
	return storedScope(ctx, source, "", nil, inOther).typeName(t)
}

// Argument analyzes an argument of EXECUTE, coerced to the parameter's type.
func Argument(ctx *Context, source string, n *pg_query.Node, t types.OID) (query.Expr, error) {
	s := storedScope(ctx, source, "", nil, inOther)
	e, err := s.expr(n)
	if err != nil {
		return nil, err
	}
	r, err := s.coerceTo(e, t, -1, assignment, location(n))
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, s.errorf(location(n), pgerr.DatatypeMismatch,
			"parameter of type %s cannot be coerced to the expected type %s", s.ctx.name(e.Type()), s.ctx.name(t)).
			WithHint("You will need to rewrite or cast the expression.")
	}
	return r, nil
}
