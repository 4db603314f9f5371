package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// selectInto runs SELECT … INTO, which is another form of CREATE TABLE AS.
func (s *Session) selectInto(
	ctx context.Context, st parse.Statement, n *pg_query.SelectStmt, w stmt.ResultWriter, implicitBlock bool,
) error {
	query, into := parse.WithoutInto(n)
	return s.createTableAs(ctx, st, &pg_query.CreateTableAsStmt{
		Query: query, Into: into, Objtype: pg_query.ObjectType_OBJECT_TABLE, IsSelectInto: true,
	}, w, implicitBlock)
}

// createTableAs runs CREATE TABLE … AS.
func (s *Session) createTableAs(
	ctx context.Context, st parse.Statement, n *pg_query.CreateTableAsStmt, w stmt.ResultWriter, implicitBlock bool,
) error {
	s.block.Join(implicitBlock)
	if n.Objtype == pg_query.ObjectType_OBJECT_MATVIEW {
		return createMaterialized(ctx, s, st, n, w)
	}
	if s.block.Tx.IsReadOnly() {
		if n.IsSelectInto {
			return s.block.Tx.ReadOnlyError("SELECT INTO")
		}
		return s.block.Tx.ReadOnlyError("CREATE TABLE AS")
	}
	s.block.Tx.Used = true
	as := &schemachange.TableAs{Tx: s.block.Tx.Tx, Node: n, Scope: s.txEnv.Scope(), Compiler: s.currentCompiler}
	if exists, err := as.Exists(s.names(), w.Notice); err != nil {
		return err
	} else if exists {
		return w.Complete("CREATE TABLE AS")
	}
	p, args, err := s.asQuery(ctx, st, n.Query)
	if err != nil {
		return err
	}
	if p, err = s.settleNew(ctx, p); err != nil {
		return err
	}
	if err := as.Define(ctx, s.definer(w.Notice), st, p.Columns); err != nil {
		return err
	}
	if n.Into.SkipData {
		return w.Complete("CREATE TABLE AS")
	}
	rows, err := s.fillTable(ctx, as, p, args)
	if nerr := s.sendNotices(w); err == nil {
		err = nerr
	}
	if err != nil {
		return err
	}
	return w.Complete(fmt.Sprintf("SELECT %d", rows))
}

// createMaterialized runs CREATE MATERIALIZED VIEW.
func createMaterialized(
	ctx context.Context, s *Session, st parse.Statement, n *pg_query.CreateTableAsStmt, w stmt.ResultWriter,
) error {
	if s.block.Tx.IsReadOnly() {
		return s.block.Tx.ReadOnlyError("CREATE MATERIALIZED VIEW")
	}
	s.block.Tx.Used = true
	as := &schemachange.TableAs{Tx: s.block.Tx.Tx, Node: n, Scope: s.txEnv.Scope(), Compiler: s.currentCompiler}
	if exists, err := as.Exists(s.names(), w.Notice); err != nil {
		return err
	} else if exists {
		return w.Complete("CREATE MATERIALIZED VIEW")
	}
	if s.bound != nil && len(s.bound.params) > 0 {
		return pgerr.Unsupported("materialized views may not be defined using bound parameters")
	}
	if _, err := ddl.Run(ctx, s.definer(w.Notice), st); err != nil {
		return err
	}
	if n.Into.SkipData {
		return w.Complete("CREATE MATERIALIZED VIEW")
	}
	rows, err := fillMaterialized(ctx, s, n.Into.Rel, false)
	if nerr := s.sendNotices(w); err == nil {
		err = nerr
	}
	if err != nil {
		return err
	}
	return w.Complete(fmt.Sprintf("SELECT %d", rows))
}

// refreshMaterialized runs REFRESH MATERIALIZED VIEW.
func refreshMaterialized(
	ctx context.Context, s *Session, st parse.Statement, n *pg_query.RefreshMatViewStmt, w stmt.ResultWriter,
	implicitBlock bool,
) error {
	const tag = "REFRESH MATERIALIZED VIEW"
	if s.block.Join(implicitBlock); s.block.Tx.IsReadOnly() {
		return s.block.Tx.ReadOnlyError(tag)
	}
	s.block.Tx.Used = true
	e := s.definer(w.Notice)
	e.Lock = func(ctx context.Context, tables []catalog.OID) error {
		if err := s.notInUse(tag, tables); err != nil {
			return err
		}
		return s.block.Tx.DDL.Lock(ctx, tables)
	}
	if _, err := ddl.Run(ctx, e, st); err != nil {
		return err
	}
	if n.Concurrent && n.SkipData {
		return pgerr.New(pgerr.SyntaxError, "%s and %s options cannot be used together", "CONCURRENTLY", "WITH NO DATA")
	}
	if n.SkipData {
		return w.Complete(tag)
	}
	_, err := fillMaterialized(ctx, s, n.Relation, n.Concurrent)
	if nerr := s.sendNotices(w); err == nil {
		err = nerr
	}
	if err != nil {
		return err
	}
	return w.Complete(tag)
}

// fillMaterialized runs the query of a materialized view, and stores its rows. It deletes those that are there,
// if there are any.
func fillMaterialized(ctx context.Context, s *Session, rv *pg_query.RangeVar, replaces bool) (int64, error) {
	c := s.currentCompiler()
	t, err := analyze.Table(c.Analysis(s.query), rv)
	if err != nil {
		return 0, err
	}
	fill, empty, err := c.ForRefresh(t)
	if err != nil {
		return 0, err
	}
	s.running = ctx
	if err := s.block.Tx.LockTables(ctx, fill.Tables); err != nil {
		return 0, err
	}
	if fill.Version != s.block.View().DefinitionVersion() {
		return 0, pgerr.New(pgerr.SerializationFailure, "could not serialize access due to concurrent update").
			WithDetail("The definitions that the materialized view uses have changed.").WithHint("Try again.")
	}
	if fill.Plan.Failing != nil {
		return 0, fill.Plan.Failing
	}
	if err := s.block.Tx.CheckStorages(fill.Tables); err != nil {
		return 0, err
	}
	if err := s.reads.CheckAll(fill); err != nil {
		return 0, err
	}
	if err := s.block.Tx.Parts.Bound(s.txEnv.Scope()); err != nil {
		return 0, err
	}
	x, none := s.executor(ctx), func([]types.Datum) error { return nil }
	if replaces {
		run := x.Context(ctx, s.block.Tx.Tx, nil)
		run.Before = s.block.Tx.Parts.Mark()
		if _, err := x.Perform(s.block.Tx.Tx, empty, run, none); err != nil {
			return 0, err
		}
	}
	run := x.Context(ctx, s.block.Tx.Tx, nil)
	run.Before = s.block.Tx.Parts.Mark()
	if _, err = x.Perform(s.block.Tx.Tx, fill, run, none); !replaces {
		err = asIndexBuild(err)
	}
	return run.Affected, err
}

// asIndexBuild returns the error of two rows with the same unique key as PostgreSQL reports it, which makes the
// indexes of a materialized view after its rows.
func asIndexBuild(err error) error {
	var e *pgerr.Error
	if !errors.As(err, &e) || e.Code != pgerr.UniqueViolation {
		return err
	}
	own := *e
	own.Message = strings.Replace(e.Message, "duplicate key value violates unique constraint",
		"could not create unique index", 1)
	own.Detail = strings.Replace(e.Detail, "already exists.", "is duplicated.", 1)
	return &own
}

// asQuery returns the program of the query or the prepared statement that fills the table, and its
// arguments.
func (s *Session) asQuery(
	ctx context.Context, st parse.Statement, n *pg_query.Node,
) (*stmt.Program, []types.Datum, error) {
	if x := n.GetExecuteStmt(); x != nil {
		p, args, err := s.portals.Statements.Execution(ctx, x, s.query)
		if err == nil && (p == nil || p.Columns == nil || p.Writes) {
			err = pgerr.New(pgerr.WrongObjectType, "prepared statement is not a SELECT")
		}
		return p, args, err
	}
	st.Node = n
	return s.containedProgram(ctx, st)
}

func (s *Session) fillTable(
	ctx context.Context, as *schemachange.TableAs, p *stmt.Program, args []types.Datum,
) (int64, error) {
	if err := s.block.Tx.CheckStorages(p.Tables); err != nil {
		return 0, err
	}
	if err := s.reads.CheckAll(p); err != nil {
		return 0, err
	}
	s.running = ctx
	x := s.executor(ctx)
	return as.Fill(ctx, &x, s.query, p, args)
}
