package sql

import (
	"context"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// bound holds the parameters that a client has bound to a statement that is not a query but
// contains one.
type bound struct {
	params []types.OID
	args   []types.Datum
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
