package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/expr"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/exec/spool"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/plpgsql"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/routine"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// anonymous runs anonymous blocks, for one statement of the session.
type anonymous struct {
	procedural
	w stmt.ResultWriter
}

// environment is what the statements of routines in PL/pgSQL use of the session.
func (s procedural) environment() *routine.Environment {
	return &routine.Environment{
		Compiler: s.currentCompiler, Version: func() uint64 { return s.block.View().DefinitionVersion() },
		Known: s.node.knownNames, Values: s.Env, Portals: s.portals, Transaction: s,
		Notice: s.notice, Report: s.report, Utility: s.utility,
		UtilityColumns: func(st parse.Statement) []stmt.Column { return utilityColumns(st.Node) },
		Expressions: func(ctx context.Context) expr.Ctx {
			return expr.Ctx{Context: ctx, Session: info{objects(s), ctx}}
		},
		Memory: func() *memory.Account {
			return memory.Limited(s.derived.Memory).WithFiles(s.node.TempDir)
		},
	}
}

// procedural is what routines in PL/pgSQL may do in any statement: those of queries do no more.
type procedural struct{ *Session }

// notice keeps a message, if the client wants messages of its severity.
func (s procedural) notice(e *pgerr.Error) error {
	if s.wanted(e) {
		s.Session.notice(e)
	}
	return nil
}

// report sends the client a setting that has changed.
func (s procedural) report(name, value string) error {
	if s.writer == nil {
		return nil
	}
	return s.writer.Parameter(name, value)
}

// utility runs a statement of a routine that is not a query.
func (s procedural) utility(ctx context.Context, st parse.Statement, b routine.Bound, w stmt.ResultWriter) error {
	text, outer := s.query, s.bound
	s.bound = &bound{vars: b.Vars, args: b.Args}
	err := s.Session.utility(ctx, st, w, true)
	s.query, s.bound = text, outer
	return err
}

// BeginSub implements routine.Transaction.
func (s procedural) BeginSub() int { return s.block.BeginSub() }

// EndSub implements routine.Transaction.
func (s procedural) EndSub(i int, keep bool) { s.block.EndSub(i, keep) }

// End implements routine.Transaction.
func (s procedural) End(context.Context, bool, bool) error {
	return pgerr.New(pgerr.InvalidTransactionTermination, "invalid transaction termination")
}

// wanted reports whether the client wants messages of an error's severity.
func (s procedural) wanted(e *pgerr.Error) bool {
	if e.Severity == "DEBUG" {
		e.Severity = "DEBUG1"
	}
	least, _ := s.vars.Get("client_min_messages")
	at := slices.Index(severities, strings.ToLower(e.Severity))
	return at < 0 || at >= slices.Index(severities, strings.ToLower(least))
}

// End implements routine.Transaction. The statement is not run again from here on.
func (r anonymous) End(ctx context.Context, commit, chain bool) error {
	if h, ok := r.w.(*stmt.HoldingWriter); ok {
		if err := h.Once(); err != nil {
			return err
		}
	}
	return r.block.Next(unbounded(ctx), commit, chain)
}

// severities are those of messages for clients, in the order of client_min_messages.
var severities = []string{"debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"}

// notice sends a message, if the client wants messages of its severity.
func (r anonymous) notice(e *pgerr.Error) error {
	if !r.wanted(e) {
		return nil
	}
	if err := r.sendNotices(r.w); err != nil {
		return err
	}
	return r.w.Notice(e)
}

// do runs DO.
func (r anonymous) do(ctx context.Context, st parse.Statement, n *pg_query.DoStmt, implicitBlock bool) error {
	source, err := inlineSource(n)
	if err != nil {
		return err
	}
	atomic := !r.isAutocommit(implicitBlock)
	t := r.block.Join(implicitBlock)
	alone := t.ImplicitBlock
	t.Used, t.ImplicitBlock = true, true // its statements follow one another
	defer func() {
		if t := r.block.Tx; t != nil {
			t.ImplicitBlock = alone
		}
	}()
	env := r.environment()
	env.Transaction, env.Notice, env.Report = r, r.notice, r.w.Parameter
	env.Run = func(ctx context.Context, p *stmt.Program, args []types.Datum, emit exec.Emit) (int64, error) {
		return r.run(ctx, nil, p, args, emit)
	}
	x := routine.New(env, atomic)
	d := &function.Definition{Result: types.Void, Source: source}
	body, err := plpgsql.Language{}.Compile(d, x)
	if err != nil {
		return inLiteral(err, st)
	}
	_, err = body.Call(&function.Call{
		Context: ctx, Values: r.Env(), Statements: x, Notice: r.notice, Setting: r.vars.Get, Atomic: atomic,
	})
	if nerr := r.sendNotices(r.w); err == nil {
		err = nerr
	}
	return complete(r.w, "DO", err)
}

// inlineSource returns the text of a DO, whose language must be PL/pgSQL.
func inlineSource(n *pg_query.DoStmt) (string, error) {
	source, language, given := "", "plpgsql", map[string]bool{}
	for _, a := range n.Args {
		d := a.GetDefElem()
		if given[d.Defname] {
			return "", pgerr.New(pgerr.SyntaxError, "conflicting or redundant options")
		}
		given[d.Defname] = true
		if d.Defname == "as" {
			source = d.Arg.GetString_().GetSval()
		} else {
			language = d.Arg.GetString_().GetSval()
		}
	}
	switch {
	case !given["as"]:
		return "", pgerr.New(pgerr.SyntaxError, "no inline code specified")
	case language == "sql" || language == "c" || language == "internal":
		return "", pgerr.New(pgerr.FeatureNotSupported, "language %q does not support inline code execution", language)
	case language != "plpgsql":
		return "", pgerr.New(pgerr.UndefinedObject, "language %q does not exist", language)
	}
	return source, nil
}

// inLiteral makes the position of an error in the body of a routine one in the client's statement,
// if the body is a literal without escapes.
func inLiteral(err error, st parse.Statement) error {
	e := pgerr.From(err)
	if e.InnerQuery == "" || e.InnerPosition == 0 {
		return err
	}
	at := strings.Index(st.Source[st.Start:st.End], e.InnerQuery)
	if at < 0 {
		return err
	}
	own := *e
	own.Position = utf8.RuneCountInString(st.Source[:st.Start+at]) + e.InnerPosition
	own.InnerPosition, own.InnerQuery = 0, ""
	return &own
}

// languages are the languages of functions other than SQL, each with what checks a definition.
func languages(s *Session) map[string]func(*analyze.Context, *catalog.Function) error {
	return map[string]func(*analyze.Context, *catalog.Function) error{
		"plpgsql": func(_ *analyze.Context, f *catalog.Function) error {
			d := definitionOf(f, nil, analyze.ResultColumns(s.currentCompiler().Analysis(""), f))
			return plpgsql.Language{}.Check(d, routine.New(procedural{s}.environment(), true))
		},
	}
}

// definitionOf returns a function as its language sees it, for the types of the arguments of a call
// and the columns of its result.
func definitionOf(f *catalog.Function, actual []types.OID, columns []query.Column) *function.Definition {
	d := &function.Definition{
		OID: f.OID, Name: f.Name, Procedure: f.Kind == 'p', Result: f.Result, Typmod: -1, Set: f.Set,
		Strict: f.Strict, ReadOnly: f.Volatility != 'v', Source: f.Source,
	}
	switch {
	case f.Result == 0:
		d.Result = types.Void
	case f.Result == types.Record:
		d.Columns = columns
	case len(columns) == 1:
		d.Result = columns[0].Type
	}
	input, output := 0, 0
	for i := range f.Arguments {
		from := &f.Arguments[i]
		a := function.Argument{Name: from.Name, Mode: from.Mode, Type: from.Type, Typmod: -1}
		if a.IsInput() {
			if isPseudo(a.Type) && input < len(actual) {
				a.Type = actual[input]
			}
			input++
		}
		if a.Mode != 'i' && a.Mode != 'v' {
			if isPseudo(a.Type) && output < len(columns) {
				a.Type = columns[output].Type
			}
			output++
		}
		d.Arguments = append(d.Arguments, a)
	}
	return d
}

// isPseudo reports whether a type stands for others: a polymorphic one.
func isPseudo(oid types.OID) bool {
	t := pgcatalog.TypeByOID(oid)
	return t != nil && t.Kind == 'p' && oid != types.Record
}

// compiledBody is a function in PL/pgSQL that is compiled for the types of a call.
type compiledBody struct {
	function.Body
	version uint64
}

// body returns the compiled form of a function in PL/pgSQL for the types of a call.
func (r caller) body(
	f *catalog.Function, arguments []types.OID, columns []builtin.Column, x *routine.Statements,
) (function.Body, error) {
	return r.compiled(f, fmt.Sprint(arguments, columns), x, func(c *stmt.Compiler) *function.Definition {
		return definitionOf(f, arguments, resultColumns(c, f, arguments, columns))
	})
}

// compiled returns the compiled form of a function for a kind of calls.
func (r caller) compiled(
	f *catalog.Function, kind string, x *routine.Statements, define func(*stmt.Compiler) *function.Definition,
) (function.Body, error) {
	c := r.currentCompiler()
	k := routineKey{function: f.OID, role: c.Role, arguments: kind, ambient: c.Ambient, path: strings.Join(c.Path, ",")}
	if b, ok := r.calls.bodies[k]; ok && b.version == c.View.DefinitionVersion() && !c.Uncommitted {
		return b.Body, nil
	}
	b, err := plpgsql.Language{}.Compile(define(c), x)
	if err != nil || c.Uncommitted {
		return b, err
	}
	if len(r.calls.bodies) >= keptRoutines || r.calls.bodies == nil {
		r.calls.bodies = map[routineKey]compiledBody{}
	}
	r.calls.bodies[k] = compiledBody{b, c.View.DefinitionVersion()}
	return b, nil
}

// statementsOf returns the statements of a call of a function, which run in the statement that calls and
// may read transition tables.
func (r caller) statementsOf(
	f *catalog.Function, outer *exec.Ctx, tables []function.Transition,
) (*routine.Statements, *routine.Environment) {
	env := procedural(r).environment()
	if len(tables) > 0 {
		env.Compiler = func() *stmt.Compiler {
			c := *r.currentCompiler()
			c.Transitions = map[string][]query.Column{}
			for i := range tables {
				c.Transitions[tables[i].Name] = tables[i].Columns
			}
			return &c
		}
	}
	env.Run = func(ctx context.Context, p *stmt.Program, args []types.Datum, emit exec.Emit) (int64, error) {
		if p.Writes && f.Volatility != 'v' {
			return 0, pgerr.Unsupported("%s is not allowed in a non-volatile function", p.Query.Command)
		}
		x := &invocation{sqlRoutine: &sqlRoutine{f: f}, outer: outer, ctx: ctx, args: args, tables: tables}
		return r.program(x, p, emit)
	}
	env.Utility = func(ctx context.Context, st parse.Statement, b routine.Bound, w stmt.ResultWriter) error {
		if f.Volatility != 'v' && utilityColumns(st.Node) == nil {
			return pgerr.Unsupported("%s is not allowed in a non-volatile function", parse.Name(st.Node))
		}
		return procedural(r).utility(ctx, st, b, w)
	}
	return routine.New(env, true), env
}

// trigger calls the function of a trigger: exec.Hooks.Trigger.
func (r caller) trigger(outer *exec.Ctx, of catalog.OID, t *function.Trigger) error {
	f := catalog.FunctionByOID(r.block.View(), of)
	switch {
	case f == nil:
		return pgerr.New(pgerr.UndefinedFunction, "function with OID %d does not exist", of)
	case r.calls.depth >= maxCallDepth:
		return errTooDeep()
	}
	depth, triggers := r.calls.depth, r.calls.triggers
	r.calls.depth++
	r.calls.triggers++
	if outer.Keyed {
		r.calls.triggers++
	}
	defer func() { r.calls.depth, r.calls.triggers = depth, triggers }()
	leave, err := r.enter(f)
	defer leave()
	if err != nil {
		return err
	}
	x, env := r.statementsOf(f, outer, t.Tables)
	b, err := r.triggerBody(f, t, x)
	if err != nil {
		return err
	}
	_, err = b.Call(&function.Call{
		Context: outer.Context, Values: r.Env(), Statements: x, Notice: env.Notice, Setting: r.vars.Get, Atomic: true,
		Passing: r.passing, Trigger: t,
	})
	var row *txn.RowError // of a row of a statement of the function
	if errors.As(err, &row) {
		return pgerr.From(err)
	}
	return err
}

// triggerBody returns the compiled form of a trigger function for the rows of a table.
func (r caller) triggerBody(
	f *catalog.Function, t *function.Trigger, x *routine.Statements,
) (function.Body, error) {
	kind := fmt.Sprint("trigger ", t.Relation)
	for _, table := range t.Tables {
		kind += " " + table.Name
	}
	return r.compiled(f, kind, x, func(*stmt.Compiler) *function.Definition {
		return definitionOf(f, nil, nil)
	})
}

// callBody calls a function in PL/pgSQL. emit gets the rows of a set when the function has ended, as
// in PostgreSQL.
func (r caller) callBody(
	c *builtin.Ctx, f *catalog.Function, outer *exec.Ctx, args []types.Datum, emit func(row []types.Datum) error,
) (types.Datum, error) {
	x, env := r.statementsOf(f, outer, nil)
	b, err := r.body(f, c.ArgTypes, c.Columns, x)
	if err != nil {
		return types.Null, err
	}
	var rows spool.List
	rows.Begin(env.Memory())
	defer rows.Free()
	d, err := b.Call(&function.Call{
		Context: c.Context, Args: slices.Clone(args), Values: r.Env(), Statements: x, Emit: rows.Add,
		Notice: env.Notice, Setting: r.vars.Get, Atomic: true, Passing: r.passing,
	})
	switch {
	case err != nil || emit == nil:
		return d, err
	case !f.Set:
		return types.Null, emitValue(d, f, len(resultColumns(r.currentCompiler(), f, c.ArgTypes, c.Columns)), emit)
	}
	from, err := rows.From(0)
	if err != nil {
		return types.Null, err
	}
	defer from.Close()
	for {
		row, ok, err := from.Next()
		if err == nil && ok {
			err = emit(row)
		}
		if err != nil || !ok {
			return types.Null, err
		}
	}
}

// emitValue emits the result of a function that returns no set as a row of some columns.
func emitValue(d types.Datum, f *catalog.Function, columns int, emit func(row []types.Datum) error) error {
	switch {
	case f.Result != types.Record:
		return emit([]types.Datum{d})
	case d.IsNull():
		return emit(make([]types.Datum, columns))
	}
	v, err := types.RecordOf(d)
	if err != nil {
		return err
	}
	row := make([]types.Datum, v.Len())
	for i := range row {
		row[i] = v.At(i)
	}
	return emit(row)
}

// passing reports whether an error makes the statement that calls run again, so that no handler of a
// function may take it.
func (r caller) passing(err error) bool {
	var lost *txn.LostError
	if errors.As(err, &lost) {
		return true
	}
	return pgerr.Is(err, pgerr.SerializationFailure) && !r.block.Tx.OneSnapshot()
}
