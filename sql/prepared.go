package sql

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// prepared is a prepared statement, made by Parse or by PREPARE.
type prepared struct {
	text     string
	stmt     *parse.Statement // nil is an empty statement
	params   []types.OID      // all parameters, in order
	declared []types.OID      // as the client declared them
	fromSQL  bool
	program  *stmt.Program // as of the last use; nil if the statement is not a query
}

// portal is a bound statement; it may have returned some of its rows.
type portal struct {
	st      *prepared
	args    []types.Datum
	done    bool
	rows    int64
	next    func() ([]types.Datum, bool)
	stop    func()
	scroll  *scroll // of a cursor, and of a portal that FETCH has read; next goes through it
	binary  bool    // FETCH answers in the binary format
	broken  bool    // a FETCH has failed
	kept    bool    // next returns rows that are kept here, and no longer uses the transaction
	nest    int     // nesting level of the transaction or savepoint that opened it; it closes with that
	hold    bool    // a cursor WITH HOLD
	opened  time.Time
	held    bool    // its transaction has committed: it closes with the session
	opening opening // what it reads
	err     error
	tag     func(rows int64) string
}

// Parse prepares a statement under a name; "" is the unnamed one, which it replaces.
func (s *Session) Parse(ctx context.Context, name, text string, params []types.OID) error {
	s.activity.Run(text)
	if _, ok := s.statements[name]; ok && name != "" {
		return s.failed(pgerr.New(pgerr.DuplicatePreparedStatement, `prepared statement "%s" already exists`, name))
	}
	st, err := s.prepare(ctx, text, params)
	if err != nil {
		return s.failed(err)
	}
	s.statements[name] = st
	return nil
}

func (s *Session) prepare(ctx context.Context, text string, params []types.OID) (*prepared, error) {
	stmts, err := s.db.statements.Trees.Parse(text)
	if err != nil {
		return nil, explainSyntax(text, err)
	}
	st := &prepared{text: text, declared: params, params: params}
	if len(stmts) == 0 {
		return st, nil
	}
	if len(stmts) > 1 {
		return nil, pgerr.New(pgerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	if err := s.block.MayRun(); err != nil && !parse.EndsTransaction(stmts[0].Node) {
		return nil, err
	}
	st.stmt = &stmts[0]
	if !parse.IsQuery(st.stmt.Node) {
		if len(params) > 0 || strings.Contains(text, "$") {
			st.params, err = s.containedParams(ctx, *st.stmt, params)
		}
		return st, err
	}
	if st.program, err = s.program(ctx, *st.stmt, params); err != nil {
		return nil, err
	}
	st.params = st.program.Params
	return st, nil
}

// refresh returns the statement's program for the current definitions.
func (s *Session) refresh(ctx context.Context, st *prepared) (*stmt.Program, error) {
	if st.program != nil && st.program.Version == s.block.View().DefinitionVersion() {
		return st.program, nil
	}
	p, err := s.program(ctx, *st.stmt, st.params)
	if err != nil {
		return nil, err
	}
	if st.program != nil && !sameColumns(st.program.Columns, p.Columns) {
		// Drivers prepare the statement again when they get this error.
		return nil, pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type").
			WithRoutine("RevalidateCachedQuery")
	}
	st.program = p
	return p, nil
}

func sameColumns(a, b []stmt.Column) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Type != b[i].Type || a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

// preparedStatements are the prepared statements of a session, by name.
type preparedStatements map[string]*prepared

func (p preparedStatements) find(name string) (*prepared, error) {
	if st, ok := p[name]; ok {
		return st, nil
	}
	if name == "" {
		return nil, pgerr.New(pgerr.InvalidSQLStatementName, "unnamed prepared statement does not exist")
	}
	return nil, pgerr.New(pgerr.InvalidSQLStatementName, `prepared statement "%s" does not exist`, name)
}

// DescribeStatement returns a prepared statement's parameters and columns.
func (s *Session) DescribeStatement(ctx context.Context, name string) (Description, error) {
	st, err := s.statements.find(name)
	if err != nil {
		return Description{}, s.failed(err)
	}
	cols, err := s.columnsOf(ctx, st)
	return Description{Params: st.params, Columns: cols}, s.failed(err)
}

func (s *Session) columnsOf(ctx context.Context, st *prepared) ([]stmt.Column, error) {
	if st.stmt == nil {
		return nil, nil
	}
	if !parse.IsQuery(st.stmt.Node) {
		cols, err := s.utilityColumns(ctx, *st.stmt)
		return s.describable(cols, err)
	}
	if s.block.HasFailed() {
		return s.describable(st.program.Columns, nil)
	}
	p, err := s.refresh(ctx, st)
	if err != nil {
		return nil, err
	}
	return p.Columns, nil
}

// describable refuses to describe rows in a failed transaction, because it cannot look up
// definitions.
func (s *Session) describable(columns []stmt.Column, err error) ([]stmt.Column, error) {
	if err == nil && columns != nil {
		err = s.block.MayRun()
	}
	return columns, err
}

// Bind makes a portal of a statement and its arguments.
func (s *Session) Bind(ctx context.Context, name, statement string, args []types.Datum) error {
	st, err := s.statements.find(statement)
	if err != nil {
		return s.failed(err)
	}
	if len(args) != len(st.params) {
		return s.failed(pgerr.New(pgerr.ProtocolViolation,
			"bind message supplies %d parameters, but prepared statement \"%s\" requires %d", len(args),
			statement, len(st.params)))
	}
	if err := s.block.MayRun(); err != nil && !(st.stmt != nil && parse.EndsTransaction(st.stmt.Node)) {
		return s.failed(err)
	}
	if _, ok := s.portals[name]; ok && name != "" {
		return s.failed(pgerr.New(pgerr.DuplicateCursor, `cursor "%s" already exists`, name))
	}
	s.ClosePortal(name)
	s.portals[name] = &portal{st: st, args: args, nest: s.block.Nest(), opened: time.Now()}
	return nil
}

func (s *Session) portal(name string) (*portal, error) {
	if p, ok := s.portals[name]; ok {
		return p, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, `portal "%s" does not exist`, name)
}

// DescribePortal returns a portal's columns.
func (s *Session) DescribePortal(ctx context.Context, name string) (Description, error) {
	p, err := s.portal(name)
	if err != nil {
		return Description{}, s.failed(err)
	}
	cols, err := s.columnsOf(ctx, p.st)
	return Description{Columns: cols}, s.failed(err)
}

// SyncFollows notes that the client has sent Sync after the next Execute. If that statement is also
// the first of its pipeline, it is all of its transaction.
func (s *Session) SyncFollows() { s.lastOfPipeline = true }

// alone reports whether the running statement is all of its transaction.
func (s *Session) alone(together bool) bool {
	if s.block.Tx == nil {
		return !together
	}
	return s.leads && s.lastOfPipeline && s.block.Tx.Pipeline && !s.block.Tx.Explicit
}

// Execute runs a portal to its end or for maxRows rows; 0 means all. It describes nothing, and
// sends the command's tag unless it suspends the portal.
func (s *Session) Execute(
	ctx context.Context, name string, maxRows int, w stmt.ResultWriter,
) (suspended bool, err error) {
	p, err := s.portal(name)
	if err != nil {
		return false, s.failed(err)
	}
	if p.st.stmt == nil {
		return false, w.EmptyQuery()
	}
	if err := s.block.MayRun(); err != nil && !parse.EndsTransaction(p.st.stmt.Node) {
		return false, s.failed(err)
	}
	ctx, cancel := s.arrives(ctx, p.st.text)
	defer cancel()
	s.activity.Run(s.query)
	suspended, err = s.executePortal(ctx, p, maxRows, undescribed{w})
	s.leads, s.lastOfPipeline = false, false
	return suspended, s.failed(err)
}

func (s *Session) executePortal(ctx context.Context, p *portal, maxRows int, w stmt.ResultWriter) (bool, error) {
	if p.done {
		return false, w.Complete(p.tag(0))
	}
	s.leads = s.block.Tx == nil
	if s.leads {
		s.block.Begin().Pipeline = true
	}
	if !parse.IsQuery(p.st.stmt.Node) {
		p.done, p.tag = true, func(int64) string { return "" }
		if len(p.st.params) > 0 {
			s.bound = &bound{p.st.params, p.args}
			defer func() { s.bound = nil }()
		}
		if s.alone(false) && s.mayMeetMoves(p.st.stmt.Node) {
			return false, s.runAlone(ctx, p, nil, w)
		}
		return false, s.utility(ctx, *p.st.stmt, w, false)
	}
	prog, err := s.refresh(ctx, p.st)
	if err != nil {
		return false, err
	}
	p.tag = func(rows int64) string { return commandTag(prog.Query, rows) }
	if maxRows <= 0 && p.next == nil {
		p.done = true
		if (prog.Writes || prog.Defines) && s.alone(false) {
			return false, s.runAlone(ctx, p, prog, w)
		}
		return false, s.runQuery(ctx, prog, p.args, w)
	}
	return s.runPart(ctx, p, prog, maxRows, w)
}

// runPart runs a portal for at most maxRows rows, and leaves it there for the next Execute.
func (s *Session) runPart(
	ctx context.Context, p *portal, prog *stmt.Program, maxRows int, w stmt.ResultWriter,
) (bool, error) {
	if p.next == nil {
		if err := s.open(ctx, p, prog); err != nil {
			return false, err
		}
	}
	for n := 0; maxRows <= 0 || n < maxRows; n++ {
		row, ok := p.next()
		if !ok {
			p.done = true
			rows := p.rows
			p.close()
			if err := s.sendNotices(w); err != nil && p.err == nil {
				p.err = err
			}
			if p.err != nil {
				return false, p.err
			}
			return false, w.Complete(commandTag(prog.Query, rows))
		}
		if err := w.Row(row); err != nil {
			return false, err
		}
	}
	return true, s.sendNotices(w)
}

// open begins a portal. A statement that writes is run to its end now; the rows of RETURNING are
// then returned in parts.
func (s *Session) open(ctx context.Context, p *portal, prog *stmt.Program) error {
	if !prog.Writes {
		late, err := s.currentCompiler().LockingLate(prog)
		if err == nil {
			err = s.foldFirst(ctx, late, p.args)
		}
		if err == nil {
			err = s.fixPart(p, late)
		}
		if err == nil {
			s.pull(ctx, p, late)
		}
		return err
	}
	k := keeper{budget: s.derived.Memory, full: tooMuchToReturn}
	rows, err := s.run(ctx, prog, p.args, k.add)
	if err != nil {
		return err
	}
	p.rows = rows
	p.give(k.rows)
	return nil
}

var errPortalClosed = errors.New("portal closed")

// pull starts the portal's program as a coroutine that stops after each row.
func (s *Session) pull(ctx context.Context, p *portal, prog *stmt.Program) {
	if p.opening.before == nil {
		p.opening.before = s.block.Tx.Parts.Mark()
	}
	seq := func(yield func([]types.Datum) bool) {
		rows, err := s.runAt(unbounded(ctx), p.opening, prog, p.args, func(row []types.Datum) error {
			if !yield(row) {
				return errPortalClosed
			}
			return nil
		}, nil)
		if !errors.Is(err, errPortalClosed) {
			p.rows, p.err = rows, err
		}
	}
	p.next, p.stop = iter.Pull(iter.Seq[[]types.Datum](seq))
}

func (p *portal) close() {
	if p.stop != nil {
		p.stop()
		p.next, p.stop = nil, nil
	}
}

// CloseStatement forgets a prepared statement.
func (s *Session) CloseStatement(name string) { delete(s.statements, name) }

// ClosePortal forgets a portal.
func (s *Session) ClosePortal(name string) {
	if p, ok := s.portals[name]; ok {
		p.close()
		delete(s.portals, name)
	}
}

// closePortals closes the portals that end with the transaction.
func (s *Session) closePortals() {
	for name, p := range s.portals {
		if !p.held {
			s.ClosePortal(name)
		}
	}
}

func (s *Session) closeAllPortals() {
	for name := range s.portals {
		s.ClosePortal(name)
	}
}

// undescribed drops the Describe of statements that a client has described before.
type undescribed struct{ stmt.ResultWriter }

func (undescribed) Describe([]stmt.Column) error { return nil }
