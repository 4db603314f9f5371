package sql

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/stmt"
)

// copyStmt is COPY … FROM STDIN and TO STDOUT.
func (s *Session) copyStmt(ctx context.Context, st parse.Statement, n *pg_query.CopyStmt, w stmt.ResultWriter) error {
	if n.Filename != "" || n.IsProgram {
		return pgerr.Unsupported("COPY with a file or program of the server is not supported").
			WithHint(`Use \copy in psql, or COPY … FROM STDIN and TO STDOUT.`)
	}
	opts, err := copyOptions(n.Options, n.IsFrom, func(loc int32) int { return parse.Position(st.Source, int(loc)) })
	if err != nil {
		return err
	}
	if n.IsFrom {
		return s.copyFrom(ctx, n, opts, w)
	}
	return s.copyTo(ctx, st, n, opts, w)
}

// copyTable finds the table that is copied to or from.
func (s *Session) copyTable(view *catalog.View, rv *pg_query.RangeVar, direction string) (*catalog.Table, error) {
	t, err := analyze.Table(s.currentCompiler().Analysis(s.query), rv)
	if pgerr.Is(err, pgerr.WrongObjectType) && pgerr.From(err).Detail != "" { // what kind it is of
		return nil, pgerr.New(pgerr.WrongObjectType, `cannot copy %s sequence "%s"`, direction, rv.Relname)
	}
	return t, err
}
