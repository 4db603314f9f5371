package session

import (
	"context"
	"errors"
	"time"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/sql/counters"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/memory"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/portal"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// Description is the answer to Describe for a prepared statement or portal.
type Description struct {
	Params  []types.OID
	Columns []stmt.Column // nil if it returns no rows
}

// newPortals returns the prepared statements and portals of a new session.
func newPortals(s *Session) *portal.Portals {
	return portal.New(portal.Environment{
		Parse: s.node.Statements.Parse, Allowed: func() error { return s.block.MayRun() },
		Arrived: func() time.Time { return s.queryAt },
		Tx: func() *tx.Tx {
			if s.block.Tx == nil {
				return nil
			}
			return s.block.Tx.Tx
		},
		Begin: func() { s.block.Join(false) },
		Memory: func() *memory.Account {
			return memory.Limited(s.derived.Memory).WithFiles(s.node.TempDir)
		},
		Version: func() uint64 { return s.block.View().DefinitionVersion() }, Compiler: s.currentCompiler,
		Program: s.program, Columns: utilityColumns,
		Context: func(ctx context.Context) *exec.Ctx { return s.execution(ctx, nil) },
		Fold:    s.foldFirst,
		Part:    func(p *stmt.Program) (*exec.Part, error) { return s.reads.Part(s.block.Tx.Tx, p) },
		Run: func(
			ctx context.Context, o *portal.Opening, p *stmt.Program, args []types.Datum, emit exec.Emit,
		) (int64, error) {
			if o != nil {
				ctx = unbounded(ctx)
			}
			return s.run(ctx, o, p, args, emit)
		},
	})
}

// Parse prepares a statement under a name; "" is the unnamed one, which it replaces.
func (s *Session) Parse(ctx context.Context, name, text string, params []types.OID) error {
	s.activity.Run(text)
	return s.failed(s.portals.Statements.Parse(ctx, name, text, params))
}

// DescribeStatement returns a prepared statement's parameters and columns.
func (s *Session) DescribeStatement(ctx context.Context, name string) (Description, error) {
	st, err := s.portals.Statements.Find(name)
	if err != nil {
		return Description{}, s.failed(err)
	}
	cols, err := s.portals.Columns(ctx, st)
	return Description{Params: st.Params, Columns: cols}, s.failed(err)
}

// Bind makes a portal of a statement and its arguments.
func (s *Session) Bind(ctx context.Context, name, statement string, args []types.Datum) error {
	return s.failed(s.portals.Bind(name, statement, args))
}

// DescribePortal returns a portal's columns.
func (s *Session) DescribePortal(ctx context.Context, name string) (Description, error) {
	p, err := s.portals.Find(name)
	if err != nil {
		return Description{}, s.failed(err)
	}
	cols, err := s.portals.Columns(ctx, p.Statement)
	return Description{Columns: cols}, s.failed(err)
}

// CloseStatement forgets a prepared statement.
func (s *Session) CloseStatement(name string) { s.portals.Statements.Close(name) }

// ClosePortal forgets a portal.
func (s *Session) ClosePortal(name string) { s.portals.Close(name) }

// SyncFollows notes that the client has sent Sync after the next Execute. If that statement is also
// the first of its pipeline, it is all of its transaction.
func (s *Session) SyncFollows() { s.lastOfPipeline = true }

// Execute runs a portal to its end or for maxRows rows; 0 means all. It describes nothing, and
// sends the command's tag unless it suspends the portal.
func (s *Session) Execute(
	ctx context.Context, name string, maxRows int, w stmt.ResultWriter,
) (suspended bool, err error) {
	p, err := s.portals.Find(name)
	if err != nil {
		return false, s.failed(err)
	}
	if p.Statement.Tree == nil {
		return false, w.EmptyQuery()
	}
	if err := s.block.MayRun(); err != nil && !p.Statement.EndsTransaction() {
		return false, s.failed(err)
	}
	ctx, cancel := s.arrives(ctx, p.Statement.Text)
	defer cancel()
	s.activity.Run(s.query)
	suspended, err = s.executePortal(ctx, p, maxRows, undescribed{w})
	s.leads, s.lastOfPipeline = false, false
	return suspended, s.failed(err)
}

func (s *Session) executePortal(
	ctx context.Context, p *portal.Portal, maxRows int, w stmt.ResultWriter,
) (bool, error) {
	if p.Done {
		return false, w.Complete(p.Tag(0))
	}
	s.leads = s.block.Tx == nil
	if s.leads {
		s.block.Begin().Pipeline = true
	}
	if !p.Statement.IsQuery() {
		p.Done = true
		if len(p.Statement.Params) > 0 {
			s.bound = &bound{params: p.Statement.Params, args: p.Args}
			defer func() { s.bound = nil }()
		}
		if s.isAutocommit(false) && s.mayMeetMoves(p.Statement.Tree.Node) {
			return false, s.runAutocommit(ctx, p, nil, w)
		}
		return false, s.utility(ctx, *p.Statement.Tree, w, false)
	}
	prog, err := s.portals.Program(ctx, p)
	if err != nil {
		return false, err
	}
	if maxRows <= 0 && !p.IsOpen() {
		p.Done = true
		if (prog.Writes || prog.Defines) && s.isAutocommit(false) {
			return false, s.runAutocommit(ctx, p, prog, w)
		}
		return false, s.runQuery(ctx, prog, p.Args, w)
	}
	return s.runPart(ctx, p, prog, maxRows, w)
}

// runPart runs a portal for at most maxRows rows, and leaves it there for the next Execute.
func (s *Session) runPart(
	ctx context.Context, p *portal.Portal, prog *stmt.Program, maxRows int, w stmt.ResultWriter,
) (bool, error) {
	if !p.IsOpen() {
		if err := s.portals.Open(ctx, p, prog); err != nil {
			return false, err
		}
	}
	suspended, rows, err := p.Run(maxRows, w.Row)
	if nerr := s.sendNotices(w); err == nil {
		err = nerr
	}
	if err != nil || suspended {
		return suspended, err
	}
	return false, w.Complete(p.Tag(rows))
}

// undescribed drops the Describe of statements that a client has described before.
type undescribed struct{ stmt.ResultWriter }

func (undescribed) Describe([]stmt.Column) error { return nil }

// executeStmt runs EXECUTE name (arguments).
func (s *Session) executeStmt(ctx context.Context, n *pg_query.ExecuteStmt, w stmt.ResultWriter) error {
	st, err := s.portals.Statements.Executed(n)
	if err != nil {
		return err
	}
	if st.Tree == nil {
		return w.EmptyQuery()
	}
	if !st.IsQuery() {
		return s.utility(ctx, *st.Tree, w, false)
	}
	prog, args, err := s.portals.Statements.Execution(ctx, n, s.query)
	if err != nil {
		return err
	}
	if prog.Columns != nil {
		if err := w.Describe(prog.Columns); err != nil {
			return err
		}
	}
	return s.runQuery(ctx, prog, args, w)
}

// declareCursor runs DECLARE name CURSOR FOR query.
func (s *Session) declareCursor(
	ctx context.Context, st parse.Statement, n *pg_query.DeclareCursorStmt, w stmt.ResultWriter,
) error {
	if err := s.portals.MayDeclare(n, s.block.InBlock()); err != nil {
		return err
	}
	inner := st
	inner.Node = n.Query
	prog, args, err := s.containedProgram(ctx, inner)
	if err == nil {
		err = s.portals.Declare(ctx, st, n, prog, args)
	}
	return complete(w, "DECLARE CURSOR", err)
}

// fetch runs FETCH and MOVE.
func (s *Session) fetch(ctx context.Context, n *pg_query.FetchStmt, w stmt.ResultWriter) error {
	tag, err := s.portals.Fetch(ctx, n, w)
	if err == nil {
		err = s.sendNotices(w)
	}
	return complete(w, tag, err)
}

// complete sends the tag of a statement that has not failed.
func complete(w stmt.ResultWriter, tag string, err error) error {
	if err != nil {
		return err
	}
	return w.Complete(tag)
}

// foldFirst adds the parts of split documents to the documents whose rows a portal is going to
// lock.
func (s *Session) foldFirst(ctx context.Context, p *stmt.Program, args []types.Datum) error {
	if !counters.Folds(p) {
		return nil
	}
	p, _, err := s.settle(ctx, p, nil)
	if err != nil || !counters.Folds(p) {
		return err
	}
	s.block.Tx.Used = true
	if err := errors.Join(s.block.Tx.ReadPastAsSet(), s.block.Tx.TakeSnapshot(ctx)); err != nil {
		return err
	}
	c, x := s.execution(ctx, args), s.executor(ctx)
	return counters.Fold(&x, s.block.Tx.Tx, p, c)
}
