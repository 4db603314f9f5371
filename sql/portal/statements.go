package portal

import (
	"context"
	"slices"
	"strings"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// Statement is a prepared statement, made by Parse or by PREPARE.
type Statement struct {
	Text   string
	Tree   *parse.Statement // nil: an empty statement
	Params []types.OID      // all parameters, in order

	fromSQL         bool
	made            time.Time
	program         *stmt.Program // as of the last use; nil: it is not a query
	path            []string      // search_path by which it was analyzed; nil: it does not matter
	generic, custom int64         // executions with plans for all arguments, and for their own
}

// node returns the statement's node; nil: it is empty.
func (st *Statement) node() *pg_query.Node {
	if st.Tree == nil {
		return nil
	}
	return st.Tree.Node
}

// IsQuery reports whether the statement is a query, which has a program.
func (st *Statement) IsQuery() bool { return st.Tree != nil && parse.IsQuery(st.Tree.Node) }

// EndsTransaction reports whether a failed transaction allows the statement.
func (st *Statement) EndsTransaction() bool {
	return st.Tree != nil && parse.EndsTransaction(st.Tree.Node)
}

// MayWrite reports whether the statement may write rows or change definitions.
func (st *Statement) MayWrite() bool {
	return st.Tree != nil && (st.program == nil || st.program.Writes)
}

// Statements are the prepared statements of a session, by name. "" is the unnamed one.
type Statements struct {
	env    *Environment
	byName map[string]*Statement
}

// Find returns the statement of a name.
func (t *Statements) Find(name string) (*Statement, error) {
	if st, ok := t.byName[name]; ok {
		return st, nil
	}
	if name == "" {
		return nil, pgerr.New(pgerr.InvalidSQLStatementName, "unnamed prepared statement does not exist")
	}
	return nil, pgerr.New(pgerr.InvalidSQLStatementName, `prepared statement "%s" does not exist`, name)
}

// Close forgets a statement, if there is one of the name.
func (t *Statements) Close(name string) { delete(t.byName, name) }

// CloseAll forgets all statements.
func (t *Statements) CloseAll() { clear(t.byName) }

// Parse prepares a statement under a name. The unnamed statement is replaced.
func (t *Statements) Parse(ctx context.Context, name, text string, params []types.OID) error {
	if name != "" {
		if err := t.isFree(name); err != nil {
			return err
		}
	}
	st, err := t.parse(ctx, text, params)
	if err != nil {
		return err
	}
	t.byName[name] = st
	return nil
}

func (t *Statements) isFree(name string) error {
	if _, ok := t.byName[name]; ok {
		return pgerr.New(pgerr.DuplicatePreparedStatement, `prepared statement "%s" already exists`, name)
	}
	return nil
}

func (t *Statements) parse(ctx context.Context, text string, params []types.OID) (*Statement, error) {
	list, err := t.env.Parse(text)
	if err != nil {
		return nil, err
	}
	st := &Statement{Text: text, Params: params, made: time.Now()}
	if len(list) == 0 {
		return st, nil
	}
	if len(list) > 1 {
		return nil, pgerr.New(pgerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	st.Tree = &list[0]
	if err := t.env.Allowed(); err != nil && !st.EndsTransaction() {
		return nil, err
	}
	if !parse.IsQuery(st.Tree.Node) {
		if len(params) > 0 || strings.Contains(text, "$") {
			st.Params, err = t.containedParams(ctx, *st.Tree, params)
		}
		return st, err
	}
	if st.program, err = t.env.Program(ctx, *st.Tree, params); err != nil {
		return nil, err
	}
	st.Params, st.path = st.program.Params, t.env.Compiler().Path
	return st, nil
}

// containedParams returns the parameters of the query in a statement that contains one. declared
// are the parameters whose types the client has declared; any other statement has only these.
func (t *Statements) containedParams(
	ctx context.Context, st parse.Statement, declared []types.OID,
) ([]types.OID, error) {
	inner, ok := parse.Contained(st)
	if !ok {
		return declared, nil
	}
	p, err := t.env.Program(ctx, inner, declared)
	if err != nil {
		return nil, err
	}
	return p.Params, nil
}

// Prepare runs PREPARE name (types) AS statement.
func (t *Statements) Prepare(ctx context.Context, st parse.Statement, n *pg_query.PrepareStmt) error {
	if err := t.isFree(n.Name); err != nil {
		return err
	}
	actx := t.env.Compiler().Analysis(st.Source)
	var declared []types.OID
	for _, name := range n.Argtypes {
		oid, _, err := analyze.TypeName(actx, st.Source, name.GetTypeName())
		if err != nil {
			return err
		}
		declared = append(declared, oid)
	}
	inner := parse.Statement{Node: n.Query, Source: st.Source, Start: st.Start, End: st.End}
	p, err := t.env.Program(ctx, inner, declared)
	if err != nil {
		return err
	}
	t.byName[n.Name] = &Statement{
		Text: st.Text(), Tree: &inner, Params: p.Params, fromSQL: true, made: time.Now(), program: p,
		path: t.env.Compiler().Path,
	}
	return nil
}

// Deallocate runs DEALLOCATE, and returns its tag.
func (t *Statements) Deallocate(n *pg_query.DeallocateStmt) (tag string, err error) {
	if n.Isall || n.Name == "" {
		t.CloseAll()
		return "DEALLOCATE ALL", nil
	}
	if _, err := t.Find(n.Name); err != nil {
		return "", err
	}
	t.Close(n.Name)
	return "DEALLOCATE", nil
}

// Program returns the program of a query for the current definitions.
func (t *Statements) Program(ctx context.Context, st *Statement) (*stmt.Program, error) {
	if st.program != nil && st.program.Version == t.env.Version() &&
		st.program.Role == t.env.Compiler().Role && !t.moved(st) && !st.program.Stale(t.env.Compiler) {
		return st.program, nil
	}
	p, err := t.env.Program(ctx, *st.Tree, st.Params)
	if err != nil {
		return nil, err
	}
	if st.program != nil {
		if err := stmt.CheckColumns(st.program.Columns, p.Columns); err != nil {
			return nil, err
		}
	}
	st.program = p
	if st.path != nil {
		st.path = t.env.Compiler().Path
	}
	return p, nil
}

// moved reports whether names of a statement may mean something else by now, because search_path has
// changed.
func (t *Statements) moved(st *Statement) bool {
	return st.path != nil && !slices.Equal(st.path, t.env.Compiler().Path)
}

// ForArgs returns the program by which a query is executed with arguments.
func (t *Statements) ForArgs(ctx context.Context, st *Statement, args []types.Datum) (*stmt.Program, error) {
	p, err := t.Program(ctx, st)
	if err != nil {
		return nil, err
	}
	out, err := t.env.Compiler().For(p, args)
	switch {
	case err != nil:
		return nil, err
	case out == p:
		st.generic++
	default:
		st.custom++
	}
	return out, nil
}
