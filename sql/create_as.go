package sql

import (
	"context"
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/copy"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/types"
)

// selectInto runs SELECT … INTO, which is another form of CREATE TABLE AS.
func (s *Session) selectInto(
	ctx context.Context, st parse.Statement, n *pg_query.SelectStmt, w stmt.ResultWriter, together bool,
) error {
	query, into := withoutInto(n)
	return s.createTableAs(ctx, st, &pg_query.CreateTableAsStmt{
		Query: query, Into: into, Objtype: pg_query.ObjectType_OBJECT_TABLE, IsSelectInto: true,
	}, w, together)
}

// createTableAs runs CREATE TABLE … AS. It analyses the query before the table exists, creates the
// table with the query's columns, and writes the rows as COPY does.
func (s *Session) createTableAs(
	ctx context.Context, st parse.Statement, n *pg_query.CreateTableAsStmt, w stmt.ResultWriter, together bool,
) error {
	s.block.Join(together)
	if s.block.Tx.IsReadOnly() {
		if n.IsSelectInto {
			return s.block.Tx.ReadOnlyError("SELECT INTO")
		}
		return s.block.Tx.ReadOnlyError("CREATE TABLE AS")
	}
	s.block.Tx.Used = true
	if exists, err := s.tableThere(n, w); err != nil {
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
	made, err := tableOf(p.Columns, n)
	if err != nil {
		return err
	}
	table := st
	table.Node = &pg_query.Node{Node: &pg_query.Node_CreateStmt{CreateStmt: made}}
	if _, err := ddl.Run(ctx, s.definer(w.Notice), table); err != nil {
		if e := pgerr.From(err); e != nil {
			e.Position = 0 // PostgreSQL sends none here
		}
		return err
	}
	if n.Into.SkipData {
		return w.Complete("CREATE TABLE AS")
	}
	rows, err := s.insertRows(ctx, n.Into.Rel, p, args)
	if nerr := s.sendNotices(w); err == nil {
		err = nerr
	}
	if err != nil {
		return err
	}
	return w.Complete(fmt.Sprintf("SELECT %d", rows))
}

// tableThere reports whether IF NOT EXISTS has found the table. Without IF NOT EXISTS, a table that
// exists already is an error before the query runs.
func (s *Session) tableThere(n *pg_query.CreateTableAsStmt, w stmt.ResultWriter) (bool, error) {
	rel := n.Into.Rel
	names := s.names()
	schema := rel.Schemaname
	if schema == "" {
		if path := names.Schemas(); len(path) > 0 {
			schema = path[0]
		}
	}
	in := s.block.View().SchemaByName(s.database, schema)
	if in == nil {
		return false, nil // the definition returns the error
	}
	if there, _ := s.block.View().Relation(in.OID, rel.Relname); there == nil {
		return false, nil
	}
	e := pgerr.New(pgerr.DuplicateTable, `relation "%s" already exists`, rel.Relname)
	if !n.IfNotExists {
		return false, e
	}
	e.Severity, e.Message = "NOTICE", e.Message+", skipping"
	return true, w.Notice(e)
}

// asQuery returns the program of the query or the prepared statement that fills the table, and its
// arguments.
func (s *Session) asQuery(
	ctx context.Context, st parse.Statement, n *pg_query.Node,
) (*stmt.Program, []types.Datum, error) {
	if x := n.GetExecuteStmt(); x != nil {
		p, args, err := s.executed(ctx, x)
		if err == nil && (p == nil || p.Columns == nil || p.Writes) {
			err = pgerr.New(pgerr.WrongObjectType, "prepared statement is not a SELECT")
		}
		return p, args, err
	}
	st.Node = n
	return s.containedProgram(ctx, st)
}

// tableOf returns the definition of a table with a query's columns.
func tableOf(columns []stmt.Column, n *pg_query.CreateTableAsStmt) (*pg_query.CreateStmt, error) {
	names := n.Into.ColNames
	if len(names) > len(columns) {
		return nil, pgerr.New(pgerr.SyntaxError, "too many column names were specified")
	}
	if len(columns) == 0 {
		return nil, pgerr.Unsupported("a table without columns cannot be made of a query")
	}
	out := &pg_query.CreateStmt{
		Relation: n.Into.Rel, Options: n.Into.Options, Oncommit: n.Into.OnCommit, Tablespacename: n.Into.TableSpaceName,
		AccessMethod: n.Into.AccessMethod,
	}
	for i, c := range columns {
		name := c.Name
		if i < len(names) {
			name = names[i].GetString_().GetSval()
		}
		t := pgcatalog.TypeByOID(c.Type)
		if t == nil {
			return nil, pgerr.Unsupported(`column "%s" is of a type that no column can have yet`, name)
		}
		typ := &pg_query.TypeName{
			Names:   []*pg_query.Node{pg_query.MakeStrNode(t.Namespace), pg_query.MakeStrNode(t.Name)},
			Typemod: c.Typmod, Location: -1,
		}
		def := &pg_query.ColumnDef{Colname: name, TypeName: typ, IsLocal: true, Location: -1}
		out.TableElts = append(out.TableElts, &pg_query.Node{Node: &pg_query.Node_ColumnDef{ColumnDef: def}})
	}
	return out, nil
}

// insertRows writes a program's rows into a table that the transaction has made.
func (s *Session) insertRows(
	ctx context.Context, rel *pg_query.RangeVar, p *stmt.Program, args []types.Datum,
) (int64, error) {
	if err := s.block.Tx.CheckStorages(p.Tables); err != nil {
		return 0, err
	}
	if err := s.readsAll(p); err != nil {
		return 0, err
	}
	in, err := copy.Into(rel, s.query).Input(ctx, s.block.Tx.Tx, s.currentCompiler)
	if err != nil {
		return 0, err
	}
	if err := s.block.Tx.Parts.Bound(s.txEnv.Scope()); err != nil {
		return 0, err
	}
	return in.Insert(s.execution(ctx, nil), func(emit exec.Emit) error {
		x := s.executor(ctx)
		_, err := x.Perform(s.block.Tx.Tx, p, x.Context(ctx, s.block.Tx.Tx, args), emit)
		return err
	})
}
