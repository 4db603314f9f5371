package ddl

import (
	"context"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/analyze"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/types"
)

// Env is what a statement runs in. All fields but For are required.
type Env struct {
	Catalog    *catalog.Catalog
	Database   catalog.OID
	Role       catalog.OID
	For        string   // the role that started the job which runs it as Role
	SearchPath []string // schema names, "$user" replaced
	Env        *types.Env

	Notice func(*pgerr.Error) error
	// View gives the definitions as the transaction sees them.
	View func() *catalog.View
	// Change adds what plan puts and drops to the transaction's change of the catalog. plan may run several times: where somebody else's change
	// came first.
	Change func(ctx context.Context, plan func(*catalog.View, *catalog.Change) error) error
	// Lock keeps everybody else off tables until the transaction ends.
	Lock func(ctx context.Context, tables []catalog.OID) error
	// Reserve keeps everybody else from changing the definitions of tables until the transaction ends; their users are not disturbed.
	Reserve func(ctx context.Context, tables []catalog.OID) error
	// Quiet keeps writers off tables, and changes of their definitions, until the transaction ends; readers are not disturbed.
	Quiet func(ctx context.Context, tables []catalog.OID) error
	// Barrier waits until the other transactions that use a table now have ended; new ones are not stopped.
	Barrier func(ctx context.Context, table catalog.OID) error
	// Query runs a SELECT against the definitions of view, without locks. It sees what is committed now, and what the transaction has written.
	Query func(ctx context.Context, view *catalog.View, text string, emit func(row []types.Datum) error) error
	// Fill gives an index the entries of all rows, those that are committed now and the transaction's own, in the transaction. The caller has the
	// table to itself.
	Fill func(ctx context.Context, view *catalog.View, table, index catalog.OID) error
	// Rewrite stores the rows of a table anew as view defines it: those that are committed now and the transaction's own, in the transaction. The
	// caller has the table to itself. With Judge, misplaced reports whether a row lies where the policy does not allow.
	Rewrite func(ctx context.Context, view *catalog.View, w Rewrite) (misplaced bool, err error)
	// Sequence tells where a sequence is, that the caller has to itself: its last value, and whether that was given.
	Sequence func(ctx context.Context, sequence *catalog.Table) (value int64, called bool, err error)
	// Setting checks a configuration parameter and gives the value to keep.
	Setting func(name, value string) (string, error)
	// WaitDatabase waits until the fragments of a new database serve.
	WaitDatabase func(ctx context.Context, d *catalog.Database) error
	// FillFragments makes a plan that gives every fragment of grown, which has more of them than the database now, its share.
	FillFragments func(ctx context.Context, now, grown *catalog.Database) (*catalog.Plan, error)
	// Silent tells whether a node does not answer.
	Silent func(node uint32) bool
	// Misplaced scans a table as defined in view for documents that its policy does not allow where they are. It takes no locks.
	Misplaced func(ctx context.Context, view *catalog.View, t *catalog.Table, emit func(Misplaced) error) error
	// Disconnect gives how many other sessions use a database; with force it ends them first.
	Disconnect func(ctx context.Context, database catalog.OID, force bool) (int, error)
}

// Rewrite says how the rows of a table are stored anew.
type Rewrite struct {
	Table catalog.OID
	Old   *catalog.View // the definitions by which the rows can be read
	// Exprs give what becomes of each column of the new definition, over the columns of the old one, which are Var{Rel: 0}; nil is null.
	Exprs []query.Expr
	Judge bool // the rows are held against the policy, which becomes validated if all fit
}

// Run runs a statement and gives its command tag.
func Run(ctx context.Context, e *Env, st parse.Statement) (tag string, err error) {
	r := &runner{Env: e, ctx: ctx, source: st.Source}
	for _, n := range longNames(st.Text()) {
		if err := e.Notice(n); err != nil {
			return "", err
		}
	}
	if tag, done, err := r.tables(st.Node); done {
		return tag, err
	}
	if tag, done, err := r.others(st.Node); done {
		return tag, err
	}
	return "", unsupported(st.Node)
}

// runner is one statement being run.
type runner struct {
	*Env
	ctx    context.Context
	source string
}

func (r *runner) tables(n *pg_query.Node) (string, bool, error) {
	switch x := n.Node.(type) {
	case *pg_query.Node_CreateSeqStmt:
		return "CREATE SEQUENCE", true, r.createSequence(x.CreateSeqStmt)
	case *pg_query.Node_AlterSeqStmt:
		return "ALTER SEQUENCE", true, r.alterSequence(x.AlterSeqStmt)
	case *pg_query.Node_CreateStmt:
		return "CREATE TABLE", true, r.createTable(x.CreateStmt)
	case *pg_query.Node_IndexStmt:
		return "CREATE INDEX", true, r.createIndex(x.IndexStmt)
	case *pg_query.Node_AlterTableStmt:
		return "ALTER " + kindWord(x.AlterTableStmt.Objtype), true, r.alterTable(x.AlterTableStmt)
	case *pg_query.Node_DropStmt:
		return r.drop(x.DropStmt)
	case *pg_query.Node_TruncateStmt:
		return "TRUNCATE TABLE", true, r.truncate(x.TruncateStmt)
	case *pg_query.Node_RenameStmt:
		return r.rename(x.RenameStmt)
	case *pg_query.Node_AlterObjectSchemaStmt:
		return r.setSchema(x.AlterObjectSchemaStmt)
	case *pg_query.Node_AlterOwnerStmt:
		return r.setOwner(x.AlterOwnerStmt)
	case *pg_query.Node_CommentStmt:
		return "COMMENT", true, r.comment(x.CommentStmt)
	}
	return "", false, nil
}

func (r *runner) others(n *pg_query.Node) (string, bool, error) {
	switch x := n.Node.(type) {
	case *pg_query.Node_CreateExtensionStmt:
		return "CREATE EXTENSION", true, r.createExtension(x.CreateExtensionStmt)
	case *pg_query.Node_CreateSchemaStmt:
		return "CREATE SCHEMA", true, r.createSchema(x.CreateSchemaStmt)
	case *pg_query.Node_CreatedbStmt:
		return "CREATE DATABASE", true, r.createDatabase(x.CreatedbStmt)
	case *pg_query.Node_DropdbStmt:
		return "DROP DATABASE", true, r.dropDatabase(x.DropdbStmt)
	case *pg_query.Node_AlterDatabaseStmt:
		return "ALTER DATABASE", true, r.alterDatabase(x.AlterDatabaseStmt)
	case *pg_query.Node_AlterDatabaseSetStmt:
		return "ALTER DATABASE", true, r.alterDatabaseSet(x.AlterDatabaseSetStmt)
	case *pg_query.Node_AlterSystemStmt:
		return "ALTER SYSTEM", true, r.alterSystem(x.AlterSystemStmt)
	case *pg_query.Node_CreateRoleStmt:
		return "CREATE ROLE", true, r.createRole(x.CreateRoleStmt)
	case *pg_query.Node_AlterRoleStmt:
		return "ALTER ROLE", true, r.alterRole(x.AlterRoleStmt)
	case *pg_query.Node_AlterRoleSetStmt:
		return "ALTER ROLE", true, r.alterRoleSet(x.AlterRoleSetStmt)
	case *pg_query.Node_DropRoleStmt:
		return "DROP ROLE", true, r.dropRole(x.DropRoleStmt)
	}
	return "", false, nil
}

// pos gives the character position of a location of the parse tree.
func (r *runner) pos(loc int32) int { return parse.Position(r.source, int(loc)) }

// analysis is the context in which expressions and types are read.
func (c *change) analysis() *analyze.Context {
	return &analyze.Context{Catalog: c.view, Database: c.Database, SearchPath: c.SearchPath, Env: c.Env.Env}
}
