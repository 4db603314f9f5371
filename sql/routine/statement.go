package routine

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
)

// statement implements function.Statement.
type statement struct {
	program *stmt.Program // nil: it is not a query
	tree    parse.Statement
	vars    function.Names
	version uint64 // of the definitions
	columns []query.Column
	params  []int
	tag     string
	// value evaluates an expression without tables; nil: it has some.
	simple *simple
}

// Columns implements function.Statement.
func (s *statement) Columns() []query.Column { return s.columns }

// Params implements function.Statement.
func (s *statement) Params() []int { return s.params }

// Tag implements function.Statement.
func (s *statement) Tag() string { return s.tag }

// newStatement makes the statement of a program.
func newStatement(p *stmt.Program) *statement {
	s := &statement{program: p, tree: p.Statement, version: p.Version, tag: p.Query.Command.String()}
	s.params = paramsOf(p.Query, len(p.Params))
	if p.Columns != nil {
		s.columns = []query.Column{}
		for _, c := range p.Columns {
			own := query.Column{Name: c.Name, Type: c.Type, Typmod: c.Typmod}
			if c.Declared != 0 {
				own.Type, own.Typmod = c.Declared, -1
			}
			s.columns = append(s.columns, own)
		}
	}
	if isSimple(p.Query) {
		s.simple = &simple{e: p.Query.Targets[0].Expr}
	}
	return s
}

// paramsOf returns the numbers of the parameters up to n that a query reads, in order.
func paramsOf(q *query.Query, n int) []int {
	var out []int
	query.RewriteAll(q, func(e query.Expr, _ int) (query.Expr, bool) {
		if p, ok := e.(*query.Param); ok && p.N <= n && !slices.Contains(out, p.N) {
			out = append(out, p.N)
		}
		return nil, false
	})
	slices.Sort(out)
	return out
}

// parsed parses a text of one statement.
func parsed(text string) (parse.Statement, error) {
	list, err := parse.Parse(text)
	if err != nil {
		return parse.Statement{}, err
	}
	switch {
	case len(list) == 0:
		return parse.Statement{}, pgerr.New(pgerr.SyntaxError, "the statement is empty")
	case len(list) > 1:
		return parse.Statement{}, pgerr.Unsupported("several statements in one text are not supported yet").
			WithHint("Run each of them by itself.")
	}
	return list[0], nil
}

// refuse returns the error of a statement that functions cannot run.
func refuse(st parse.Statement) error {
	switch n := st.Node; {
	case n.GetTransactionStmt() != nil:
		return function.ErrTransaction
	case n.GetCopyStmt() != nil && n.GetCopyStmt().Filename == "":
		return pgerr.New(pgerr.FeatureNotSupported, "cannot COPY to/from client in PL/pgSQL")
	case parse.CommitsItself(n) != "":
		return pgerr.New(pgerr.ActiveSQLTransaction, "%s cannot be executed from a function", parse.CommitsItself(n))
	}
	return nil
}

// utilityTag returns the name of a statement that is not a query.
func utilityTag(st parse.Statement) string { return strings.TrimSpace(parse.Name(st.Node)) }

// free is an instance of a compiled expression that nothing uses now.
type free struct{ atomic.Pointer[instance] }
