package session

import (
	"context"
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/sql/copy"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/stmt"
)

// copyStmt runs COPY.
func (s *Session) copyStmt(ctx context.Context, st parse.Statement, n *pg_query.CopyStmt, w stmt.ResultWriter) error {
	c, err := copy.New(st, n, s.query)
	if err != nil {
		return err
	}
	run := s.copyTo
	if c.IsFrom() {
		run = s.copyFrom
	}
	me := privilege.Of(s.block.View(), s.database, s.role)
	rows, err := c.Through(w, me, func(w stmt.ResultWriter) (int64, error) {
		return run(ctx, c, w)
	})
	if err != nil {
		return err
	}
	if err := s.sendNotices(w); err != nil {
		return err
	}
	return w.Complete(fmt.Sprintf("COPY %d", rows))
}

// copyFrom loads rows from the client, all or none.
func (s *Session) copyFrom(ctx context.Context, c *copy.Statement, w stmt.ResultWriter) (int64, error) {
	if s.block.Tx == nil {
		s.block.Begin()
	}
	var in *copy.Input
	err := s.node.knownNames(ctx, func() (err error) {
		in, err = c.Input(ctx, s.block.Tx.Tx, s.currentCompiler)
		return err
	})
	if err != nil {
		return 0, err
	}
	if s.block.Tx.IsReadOnly() && !in.IsTemporary() {
		return 0, s.block.Tx.ReadOnlyError("COPY FROM")
	}
	s.running = ctx
	x := s.executor(ctx)
	return in.Run(ctx, &x, &s.block.Tx.Constraints, s.txEnv.Scope(), w)
}

// copyTo sends a table or the result of a query.
func (s *Session) copyTo(ctx context.Context, c *copy.Statement, w stmt.ResultWriter) (int64, error) {
	var query parse.Statement
	err := s.node.knownNames(ctx, func() (err error) {
		query, err = c.Query(s.currentCompiler())
		return err
	})
	if err != nil {
		return 0, err
	}
	p, err := s.program(ctx, query, nil)
	if err != nil {
		return 0, err
	}
	out, err := c.Output(w, p.Columns, s.Env())
	if err != nil {
		return 0, err
	}
	rows, err := s.run(ctx, nil, p, nil, out.Row)
	if err != nil {
		return 0, err
	}
	return rows, out.End()
}
