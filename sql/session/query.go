package session

import (
	"context"
	"time"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/parse/shape"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// Simple runs the statements of text, all in one transaction unless they say otherwise.
func (s *Session) Simple(ctx context.Context, text string, w stmt.ResultWriter) error {
	s.activity.Run(text)
	defer s.rests()
	s.ClosePortal("")
	s.CloseStatement("")
	q := simpleQuery{s, stmt.NewHoldingWriter(w, s.node.TempDir, false)}
	if t, ok := shape.Split(text); ok {
		if p, args := s.currentCompiler().Shared(&t); p != nil {
			return s.failed(q.shared(ctx, p, args))
		}
	}
	stmts, err := s.node.Statements.Parse(text)
	if err != nil {
		return s.failed(err)
	}
	if len(stmts) == 0 {
		return w.EmptyQuery()
	}
	for i, st := range stmts {
		if i < len(stmts)-1 {
			err = q.one(ctx, st, w)
		} else {
			err = q.last(ctx, st, len(stmts) > 1)
		}
		if err != nil {
			return s.failed(err)
		}
	}
	return q.w.Send()
}

// simpleQuery runs the statements of a query string.
type simpleQuery struct {
	*Session
	w *stmt.HoldingWriter // for the last one
}

// shared runs a text that is one query, by a program that it shares with others.
func (q simpleQuery) shared(ctx context.Context, p *stmt.Program, args []types.Datum) error {
	ctx, cancel := q.arrives(ctx, p.Statement.Text())
	defer cancel()
	q.w.Alone = q.block.Tx == nil
	err := q.autocommit(ctx, q.w, func() error {
		if err := q.block.MayRun(); err != nil {
			return err
		}
		return q.perform(ctx, p, args, q.w)
	}, nil)
	if err != nil {
		return err
	}
	return q.w.Send()
}

// last runs the last statement of a query string, and commits an implicit transaction. A statement
// that is all of its transaction, and has not sent the client anything yet, is run again if the
// commit met a conflict, or if rows moved or a leader changed during the run.
func (q simpleQuery) last(ctx context.Context, st parse.Statement, implicitBlock bool) error {
	ctx, cancel := q.arrives(ctx, st.Text())
	defer cancel()
	q.w.Alone = q.block.Tx == nil && !implicitBlock
	return q.autocommit(ctx, q.w, func() error { return q.statement(ctx, st, q.w, implicitBlock) }, nil)
}

// one runs a statement that others follow.
func (q simpleQuery) one(ctx context.Context, st parse.Statement, w stmt.ResultWriter) error {
	ctx, cancel := q.arrives(ctx, st.Text())
	defer cancel()
	return q.statement(ctx, st, w, true)
}

// arrives begins a statement, which may be run several times, and bounds it by statement_timeout.
func (s *Session) arrives(ctx context.Context, text string) (context.Context, context.CancelFunc) {
	s.query, s.queryAt = text, time.Now()
	return s.timed(ctx)
}

// statement runs a statement that has arrived; implicitBlock reports whether there are others.
func (q simpleQuery) statement(ctx context.Context, st parse.Statement, w stmt.ResultWriter, implicitBlock bool) error {
	if err := q.block.MayRun(); err != nil && !parse.EndsTransaction(st.Node) {
		return err
	}
	if implicitBlock && q.block.Tx == nil {
		q.block.Begin().ImplicitBlock = true
	}
	if !parse.IsQuery(st.Node) {
		q.holdUtility(st.Node, w)
		return q.utility(ctx, st, w, implicitBlock)
	}
	p, err := q.Session.program(ctx, st, nil)
	if err == nil && len(p.Params) > 0 || pgerr.Is(err, pgerr.IndeterminateDatatype) {
		err = q.currentCompiler().NoParameters(st)
	}
	if err != nil {
		return err
	}
	return q.perform(ctx, p, nil, w)
}

// perform runs the program of a statement whose columns the client does not know yet.
func (q simpleQuery) perform(ctx context.Context, p *stmt.Program, args []types.Datum, w stmt.ResultWriter) error {
	first := p
	p, err := q.settleNew(ctx, p)
	if err != nil {
		return err
	}
	args = first.ArgumentsOf(p, args)
	if h, ok := w.(*stmt.HoldingWriter); ok && (p.Writes || p.Defines || p.Calls != 0) {
		h.Hold()
	}
	if p.Columns != nil {
		if err := w.Describe(p.Columns); err != nil {
			return err
		}
	}
	return q.runQuery(ctx, p, args, w)
}

// runQuery runs a program to its end and sends its tag.
func (s *Session) runQuery(ctx context.Context, p *stmt.Program, args []types.Datum, w stmt.ResultWriter) error {
	emit := w.Row
	if p.Columns == nil {
		emit = func([]types.Datum) error { return nil }
	}
	s.writer = w
	rows, err := s.run(ctx, nil, p, args, emit)
	s.writer = nil
	if nerr := s.sendNotices(w); err == nil {
		err = nerr
	}
	if err != nil {
		return err
	}
	return w.Complete(p.Tag(rows))
}

// failed ends the transaction, or marks it as failed, and returns the error for the client.
func (s *Session) failed(err error) error {
	if err != nil {
		err = stmt.Conceal(s.block.View(), s.database, s.role, clockJumped(err))
		s.countError(err)
		s.block.Fail()
	}
	return err
}

// clockJumped returns a refused timestamp as 57P03, so that it does not look like a bad value of
// the client's. The clock of this node or of another one has jumped, and other nodes still serve.
// Times of the past that a client names are checked earlier.
func clockJumped(err error) error {
	if !txn.IsAhead(err) {
		return err
	}
	e := *pgerr.From(err)
	e.Code, e.Hint = pgerr.CannotConnectNow,
		"Try again in a moment, or at another node. Set the clocks of the nodes right."
	return &e
}
