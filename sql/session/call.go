package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/function"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// caller calls functions of users, in the transaction and the goroutine of the statement that calls.
type caller struct{ *Session }

// callState is what a session keeps of the functions that it calls.
type callState struct {
	depth    int // of nested calls
	definers int // of nested calls of SECURITY DEFINER functions
	triggers int // of nested calls of trigger functions
	compiled map[routineKey]*sqlRoutine
	bodies   map[routineKey]compiledBody
}

// maxCallDepth bounds the nesting of calls, as max_stack_depth does in PostgreSQL.
const maxCallDepth = 1500

// keptRoutines is how many compiled functions a session keeps.
const keptRoutines = 500

// routineKey is what the compiled form of a function depends on, besides the definitions.
type routineKey struct {
	function, role catalog.OID
	arguments      string
	ambient        string
	path           string
}

// sqlRoutine is a function in SQL that is compiled for the types of a call.
type sqlRoutine struct {
	f          *catalog.Function
	version    uint64
	statements []sqlStatement
	columns    []query.Column // of the result; nil: none
	row        []types.OID    // types of the columns of a result that is a row
	names      string         // of these columns
	loose      bool           // the row is a record whose columns the last statement has: it is one value
}

// sqlStatement is a statement of a function in SQL.
type sqlStatement struct {
	text    string
	program *stmt.Program
	utility string // the name of a statement that is no query
}

// invocation is a call under way.
type invocation struct {
	*sqlRoutine
	outer *exec.Ctx // the statement that calls
	ctx   context.Context
	args  []types.Datum
	// tables are the transition tables that the statements may read.
	tables []function.Transition
}

// call calls a function. emit gets the rows of a set.
func (r caller) call(
	c *builtin.Ctx, p *pgcatalog.Proc, args []types.Datum, emit func(row []types.Datum) error,
) (types.Datum, error) {
	outer, f := exec.StatementOf(c), catalog.FunctionByOID(r.block.View(), p.OID)
	switch {
	case outer == nil || r.block.Tx == nil:
		return types.Null, pgerr.Unsupported("function %s cannot be called here because it cannot be inlined", p.Name).
			WithHint("A function that is one SELECT of one expression, in LANGUAGE sql, is inlined.")
	case f == nil:
		return types.Null, pgerr.New(pgerr.UndefinedFunction, "function with OID %d does not exist", p.OID)
	case r.calls.depth >= maxCallDepth:
		return types.Null, errTooDeep()
	}
	r.calls.depth++
	defer func() { r.calls.depth-- }()
	if err := privilege.Of(r.block.View(), r.database, r.role).MayCall(f); err != nil {
		return types.Null, err
	}
	leave, err := r.enter(f)
	defer leave()
	if err != nil {
		return types.Null, err
	}
	if f.Language != function.SQL {
		return r.callBody(c, f, outer, args, emit)
	}
	b, err := r.compile(f, c.ArgTypes, c.Columns)
	if err != nil {
		return types.Null, pgerr.InContext(err, `SQL function "`+f.Name+`" during startup`)
	}
	x := &invocation{sqlRoutine: b, outer: outer, ctx: c.Context, args: slices.Clone(args)}
	if emit != nil && f.Volatility == 'v' {
		return types.Null, r.all(x, emit)
	}
	return r.run(x, emit)
}

func errTooDeep() error {
	return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").
		WithHint("Functions may call each other to a depth of %d.", maxCallDepth)
}

// enter applies SECURITY DEFINER and SET; leave undoes it.
func (r caller) enter(f *catalog.Function) (leave func(), err error) {
	leave = func() {}
	if f.SecurityDefiner {
		role := r.role
		r.calls.definers++
		actAs(r.Session, f.Owner)
		leave = func() {
			actAs(r.Session, role)
			r.calls.definers--
		}
	}
	if len(f.Settings) == 0 {
		return leave, nil
	}
	before, nest := leave, r.block.Tx.Depth()+2+r.calls.depth // above each level that a statement may end
	leave = func() {
		r.vars.End(false, nest)
		r.freshen()
		before()
	}
	for _, s := range f.Settings {
		name, value, _ := strings.Cut(s, "=")
		if err := r.identity.check(r.Session, name, value); err != nil {
			return leave, err
		}
		if err := r.vars.Set(name, &value, true, nest); err != nil {
			return leave, err
		}
	}
	r.freshen()
	return leave, nil
}

// compile returns the compiled form of a function for the types of a call.
func (r caller) compile(f *catalog.Function, arguments []types.OID, columns []builtin.Column) (*sqlRoutine, error) {
	c := r.currentCompiler()
	k := routineKey{function: f.OID, role: c.Role, arguments: fmt.Sprint(arguments, columns), ambient: c.Ambient,
		path: strings.Join(c.Path, ",")}
	if b := r.calls.compiled[k]; b != nil && b.version == c.View.DefinitionVersion() && !c.Uncommitted {
		return b, nil
	}
	b := &sqlRoutine{f: f, version: c.View.DefinitionVersion()}
	b.columns = resultColumns(c, f, arguments, columns)
	texts := f.Body
	if len(texts) == 0 {
		texts = []string{f.Source}
	}
	for _, text := range texts {
		stmts, err := parse.Parse(text)
		if err != nil {
			return nil, pgerr.Within(err, text)
		}
		for _, st := range stmts {
			b.statements = append(b.statements, sqlStatement{text: text, program: &stmt.Program{Statement: st}})
		}
	}
	if err := b.check(c); err != nil {
		return nil, err
	}
	if len(r.calls.compiled) >= keptRoutines || r.calls.compiled == nil {
		r.calls.compiled = map[routineKey]*sqlRoutine{}
	}
	for i := range b.statements {
		if err := b.prepare(c, i, arguments); err != nil {
			return nil, err
		}
	}
	if n := len(b.statements); f.Result == types.Record && len(b.columns) == 0 && n > 0 {
		for _, col := range b.statements[n-1].program.Columns {
			b.columns = append(b.columns, query.Column{Name: col.Name, Type: col.Type, Typmod: col.Typmod})
		}
		b.loose = true
	}
	for _, col := range b.columns {
		b.row = append(b.row, col.Type)
	}
	if f.Result != types.Record {
		b.row = nil
	} else {
		b.names = types.RecordNames(columnNames(b.columns))
	}
	if !c.Uncommitted {
		r.calls.compiled[k] = b
	}
	return b, nil
}

// check checks that the last statement can return the result.
func (b *sqlRoutine) check(c *stmt.Compiler) error {
	if b.f.Result == types.Void || len(b.statements) > 0 {
		return nil
	}
	_, err := analyze.FinalStatement(c.Analysis(""), b.f, nil, b.columns)
	return err
}

// prepare compiles a statement.
func (b *sqlRoutine) prepare(c *stmt.Compiler, i int, arguments []types.OID) error {
	s := &b.statements[i]
	st := s.program.Statement
	if !parse.IsQuery(st.Node) {
		s.utility = parse.Name(st.Node)
		return nil
	}
	var columns []query.Column
	if i == len(b.statements)-1 {
		columns = b.columns
	}
	p, err := c.Routine(b.f, s.text, st, arguments, columns)
	if err != nil {
		return pgerr.Within(err, s.text)
	}
	if p.Writes && b.f.Volatility != 'v' {
		return pgerr.Unsupported("%s is not allowed in a non-volatile function", p.Query.Command)
	}
	s.program = p
	return nil
}

// resultColumns returns the columns of the result of a call; those of a record are the ones that the
// call defines.
func resultColumns(
	c *stmt.Compiler, f *catalog.Function, arguments []types.OID, columns []builtin.Column,
) []query.Column {
	if len(columns) > 0 && f.Result == types.Record {
		var out []query.Column
		for _, col := range columns {
			out = append(out, query.Column{Name: col.Name, Type: col.Type, Typmod: col.Typmod})
		}
		return out
	}
	return analyze.CallColumns(c.Analysis(""), f, arguments)
}

func columnNames(columns []query.Column) []string {
	var out []string
	for _, c := range columns {
		out = append(out, c.Name)
	}
	return out
}

// all runs a function to its end before it emits rows: what it writes does not depend on how many rows
// are wanted.
func (r caller) all(x *invocation, emit func(row []types.Datum) error) error {
	var rows [][]types.Datum
	_, err := r.run(x, func(row []types.Datum) error {
		rows = append(rows, cloneRow(row))
		return nil
	})
	for _, row := range rows {
		if err == nil {
			err = emit(row)
		}
	}
	return err
}

func cloneRow(row []types.Datum) []types.Datum {
	out := make([]types.Datum, len(row))
	for i, d := range row {
		out[i] = d.Clone()
	}
	return out
}

// errRow ends a statement after its first row.
var errRow = pgerr.New(pgerr.SuccessfulCompletion, "no more rows are wanted")

// run runs the statements of a function. The result is that of the last one.
func (r caller) run(x *invocation, emit func(row []types.Datum) error) (types.Datum, error) {
	result := types.Null
	for i := range x.statements {
		s := &x.statements[i]
		take := func([]types.Datum) error { return nil }
		var taken error
		if i == len(x.statements)-1 && x.columns != nil {
			found := false
			take = func(row []types.Datum) error {
				row = row[:len(x.columns)]
				switch {
				case emit != nil:
					if x.loose {
						row = []types.Datum{types.NewNamedRecord(x.row, row, x.names)}
					}
					taken = emit(row)
					return taken
				case found:
				case x.row != nil:
					result, found = types.NewNamedRecord(x.row, row, x.names), true
				default:
					result, found = row[0].Clone(), true
				}
				if s.program.Writes {
					return nil
				}
				return errRow
			}
		}
		err := r.perform(x, i, take)
		switch {
		case err == nil || err == error(errRow):
		case taken != nil:
			return types.Null, taken
		default:
			return types.Null, pgerr.InContext(pgerr.Within(err, s.text),
				fmt.Sprintf(`SQL function "%s" statement %d`, x.f.Name, i+1))
		}
	}
	return result, nil
}

// perform runs a statement of a function.
func (r caller) perform(x *invocation, i int, emit exec.Emit) error {
	s := &x.statements[i]
	if s.utility != "" {
		return pgerr.Unsupported("%s is not supported in a SQL function", s.utility).
			WithHint("SELECT, INSERT, UPDATE and DELETE are.")
	}
	_, err := r.program(x, s.program, emit)
	return err
}

// transitions returns a hook that emits the rows of the transition tables, and of system views.
func (x *invocation) transitions(
	views func(name string, emit exec.Emit) error,
) func(name string, emit exec.Emit) error {
	return func(name string, emit exec.Emit) error {
		for i := range x.tables {
			if name == analyze.TransitionPrefix+x.tables[i].Name {
				return x.tables[i].Each(emit)
			}
		}
		return views(name, emit)
	}
}

// program runs a program of a function, and returns how many rows it has returned or written.
func (r caller) program(x *invocation, p *stmt.Program, emit exec.Emit) (int64, error) {
	t := r.block.Tx
	if p.Writes {
		if p.WritesShared() && t.IsReadOnly() {
			return 0, t.ReadOnlyError(p.Query.Command.String())
		}
		if err := t.Parts.Bound(r.txEnv.Scope()); err != nil {
			return 0, err
		}
	}
	if err := t.LockTables(x.ctx, p.Tables); err != nil {
		return 0, err
	}
	if p.Role != r.compiler.Role {
		return 0, pgerr.Unsupported("function %s cannot run statements after a change of the role", x.f.Name)
	}
	if p.Version != r.block.View().DefinitionVersion() {
		return 0, pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
			WithDetail("The definitions that function %s uses have changed.", x.f.Name).WithHint("Try again.")
	}
	if p.Plan.Failing != nil {
		return 0, p.Plan.Failing
	}
	if err := t.CheckStorages(p.Tables); err != nil {
		return 0, err
	}
	e := r.executor(x.ctx)
	c := e.Context(x.ctx, t.Tx, x.args)
	if len(x.tables) > 0 {
		c.Hooks.System = x.transitions(c.Hooks.System)
	}
	switch {
	case x.f.Volatility != 'v' && x.outer.Before != nil:
		c.Before, c.Steady, c.Gateway = x.outer.Before, true, x.outer.Gateway
	case p.Calls != 0:
		if err := steady(x.ctx, t.Tx, p, c, t.Parts.Mark()); err != nil {
			return 0, err
		}
	default:
		c.Before = t.Parts.Mark()
	}
	rows := int64(0)
	counted := func(row []types.Datum) error {
		rows++
		return emit(row)
	}
	_, err := t.Constraints.Perform(&e, p, c, counted)
	if err == nil && p.Query.Command != query.Select {
		rows = c.Affected
	}
	return rows, stmt.Conceal(r.block.View(), r.database, r.role, err)
}
