package session

import (
	"context"
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
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
