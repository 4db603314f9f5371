package sql

import (
	"context"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/types"
)

// define runs a statement that changes definitions.
func (s *Session) define(ctx context.Context, st parse.Statement, w ResultWriter) (tag string, err error) {
	return ddl.Run(ctx, s.definer(w.Notice), st)
}

// definer is what package ddl needs of the session.
func (s *Session) definer(notice func(*pgerr.Error) error) *ddl.Env {
	return &ddl.Env{
		Catalog: s.db.cfg.Catalog, Database: s.database, Role: s.role, SearchPath: s.vars.searchPath(s.start.User), Env: s.Env(),
		Notice: notice, Lock: s.lockTables, Query: s.queryAgainst, Setting: s.vars.check, WaitDatabase: s.db.cfg.Fragments.WaitFragments,
		Misplaced: s.misplaced, Disconnect: s.disconnect,
	}
}

func (s *Session) lockTables(ctx context.Context, tables []catalog.OID) (release func(), err error) {
	if err := s.db.locks.exclude(ctx, tables); err != nil {
		return nil, err
	}
	return func() { s.db.locks.release(tables, true) }, nil
}

// queryAgainst runs a SELECT in a transaction of its own, against the definitions of view. It takes no locks: the caller has them.
func (s *Session) queryAgainst(ctx context.Context, view *catalog.View, text string, emit func(row []types.Datum) error) error {
	stmts, err := parse.Parse(text)
	if err != nil {
		return err
	}
	actx := s.analysis(view, text)
	actx.Tables = nil // the definitions may never come into force
	q, _, err := analyze.Statement(actx, stmts[0].Node, nil)
	if err != nil {
		return err
	}
	p, err := s.compile(q, nil, view.DefinitionVersion())
	if err != nil {
		return err
	}
	outer := s.tx
	s.begin()
	defer func() {
		s.tx.rollback()
		s.tx, s.stale = outer, true
	}()
	c := s.execution(ctx, nil)
	c.Limits.MaxFanout, c.Limits.FanoutNotice = 0, 0
	return p.exec.Run(c, emit)
}

// misplaced scans a table for documents that its policy does not allow where they are.
func (s *Session) misplaced(ctx context.Context, view *catalog.View, t *catalog.Table, emit func(ddl.Misplaced) error) error {
	p, err := exec.NewPlacement(t)
	if err != nil {
		return err
	}
	columns := p.Columns()
	row := make([]types.Datum, len(t.Columns))
	return s.queryAgainst(ctx, view, selectColumns(view, t, columns), func(got []types.Datum) error {
		for i, at := range columns {
			row[at] = got[i]
		}
		id, bucket, err := p.Check(row)
		if !pgerr.Is(err, pgerr.CheckViolation) {
			return err
		}
		e := pgerr.From(err)
		detail := e.Detail
		if detail == "" {
			detail = e.Message
		}
		return emit(ddl.Misplaced{ID: strings.Clone(id), Bucket: bucket, Detail: detail})
	})
}

// selectColumns is the text of a query for columns of a table, by position.
func selectColumns(view *catalog.View, t *catalog.Table, columns []int) string {
	var names []string
	for _, at := range columns {
		names = append(names, builtin.QuoteIdent(t.Columns[at].Name))
	}
	schema := view.Schema(t.Schema)
	return "SELECT " + strings.Join(names, ", ") + " FROM " + builtin.QuoteIdent(schema.Name) + "." + builtin.QuoteIdent(t.Name)
}

// Sessions that are just going are waited for, as PostgreSQL does.
const (
	leavingPatience = 5 * time.Second
	leavingPause    = 100 * time.Millisecond
)

// disconnect gives how many other sessions use a database, after some patience with those that are just going.
func (s *Session) disconnect(ctx context.Context, database catalog.OID, force bool) (int, error) {
	deadline := time.Now().Add(leavingPatience)
	for {
		n := s.db.connectedTo(database, s)
		if n > 0 && force {
			return n, pgerr.Unsupported("DROP DATABASE … WITH (FORCE) is not supported yet while others use the database").
				WithHint("Close their connections first.")
		}
		if n == 0 || time.Now().After(deadline) {
			return n, nil
		}
		select {
		case <-time.After(leavingPause):
		case <-ctx.Done():
			return n, cancelled(ctx)
		}
	}
}
