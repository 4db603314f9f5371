package schemachange

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/copy"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/pgcatalog"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
)

// TableAs makes a table with the columns of a query, and fills it with the query's rows: CREATE
// TABLE … AS. The caller analyses the query before the table exists.
type TableAs struct {
	Tx    *tx.Tx
	Node  *pg_query.CreateTableAsStmt
	Scope txn.Scope // of the rows
	// Compiler returns a compiler with the definitions that the transaction sees now.
	Compiler func() *stmt.Compiler
}

// Exists reports whether IF NOT EXISTS has found the table, with a notice. Without IF NOT EXISTS, a
// table that exists already is an error before the query runs.
func (a *TableAs) Exists(names *sysview.Names, notice func(*pgerr.Error) error) (bool, error) {
	rel := a.Node.Into.Rel
	schema := rel.Schemaname
	if schema == "" {
		if path := catalog.WrittenPath(names.Schemas()); len(path) > 0 {
			schema = path[0]
		}
		if rel.Relpersistence == "t" {
			schema = catalog.TemporarySchema
		}
	}
	in := names.View.SchemaByName(names.Database.OID, schema)
	if in == nil {
		return false, nil // the definition returns the error
	}
	if there, _ := names.View.Relation(in.OID, rel.Relname); there == nil {
		return false, nil
	}
	e := pgerr.New(pgerr.DuplicateTable, `relation "%s" already exists`, rel.Relname)
	if !a.Node.IfNotExists {
		return false, e
	}
	e.Severity, e.Message = "NOTICE", e.Message+", skipping"
	return true, notice(e)
}

// Define makes the table with the columns of a query.
func (a *TableAs) Define(ctx context.Context, e *ddl.Env, st parse.Statement, columns []stmt.Column) error {
	made, err := a.definition(columns)
	if err != nil {
		return err
	}
	st.Node = &pg_query.Node{Node: &pg_query.Node_CreateStmt{CreateStmt: made}}
	_, err = ddl.Run(ctx, e, st)
	if e := pgerr.From(err); err != nil && e != nil {
		e.Position = 0 // PostgreSQL sends none here
	}
	return err
}

// definition returns the definition of a table with a query's columns.
func (a *TableAs) definition(columns []stmt.Column) (*pg_query.CreateStmt, error) {
	into := a.Node.Into
	if len(into.ColNames) > len(columns) {
		return nil, pgerr.New(pgerr.SyntaxError, "too many column names were specified")
	}
	if len(columns) == 0 {
		return nil, pgerr.Unsupported("a table without columns cannot be made of a query")
	}
	out := &pg_query.CreateStmt{
		Relation: into.Rel, Options: into.Options, Oncommit: into.OnCommit, Tablespacename: into.TableSpaceName,
		AccessMethod: into.AccessMethod,
	}
	for i, c := range columns {
		name := c.Name
		if i < len(into.ColNames) {
			name = into.ColNames[i].GetString_().GetSval()
		}
		if c.Declared != 0 {
			c.Type, c.Typmod = c.Declared, -1
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

// Fill writes the rows of a program, the query's, into the table as COPY does, and returns their
// number. text is the statement's.
func (a *TableAs) Fill(
	ctx context.Context, x *stmt.Executor, text string, p *stmt.Program, args []types.Datum,
) (int64, error) {
	in, err := copy.Into(a.Node.Into.Rel, text).Input(ctx, a.Tx, a.Compiler)
	if err != nil {
		return 0, err
	}
	if err := a.Tx.Parts.Bound(a.Scope); err != nil {
		return 0, err
	}
	return in.Insert(x.Context(ctx, a.Tx, nil), func(emit exec.Emit) error {
		_, err := x.Perform(a.Tx, p, x.Context(ctx, a.Tx, args), emit)
		return err
	})
}
