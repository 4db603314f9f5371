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

// Namespaces are the schemas in which names are found, and objects created.
type Namespaces struct {
	SearchPath []string // schema names, with "$user" replaced
	// TemporarySchema is the name of the schema of the session's temporary objects, which is created
	// with the first of them; "": there can be none.
	TemporarySchema string
}

// Client is for which role a statement runs.
type Client struct {
	For         string      // the role that started the job, if a job runs this as Env.Role
	SessionRole catalog.OID // SESSION_USER; 0: Env.Role
}

// Env is the environment of a statement. All fields except Client are required.
type Env struct {
	Catalog  *catalog.Catalog
	Database catalog.OID
	Role     catalog.OID
	Client
	Namespaces
	Env *types.Env

	Notice func(*pgerr.Error) error
	// View returns the definitions as the transaction sees them.
	View func() *catalog.View
	// Change adds the steps that plan puts and drops to the transaction's change of the catalog. It
	// runs plan again if another change was committed first.
	Change func(ctx context.Context, plan func(*catalog.View, *catalog.Change) error) error
	// Lock locks tables updateExclusive until the transaction ends.
	Lock func(ctx context.Context, tables []catalog.OID) error
	// Reserve blocks other changes of the tables' definitions until the transaction ends, but no
	// reads or writes.
	Reserve func(ctx context.Context, tables []catalog.OID) error
	// Quiet blocks writes to tables and changes of their definitions until the transaction ends,
	// but no reads.
	Quiet func(ctx context.Context, tables []catalog.OID) error
	// Barrier waits until the other transactions that use a table now have ended; new ones are not
	// blocked.
	Barrier func(ctx context.Context, table catalog.OID) error
	// Query runs a SELECT against the definitions of view, without locks. It sees rows committed by
	// now and the transaction's own.
	Query func(ctx context.Context, view *catalog.View, text string, emit func(row []types.Datum) error) error
	// Fill writes an index's entries for all rows, those committed by now and the transaction's
	// own, in the transaction. The caller has locked the table updateExclusive.
	Fill func(ctx context.Context, view *catalog.View, table, index catalog.OID) error
	// Rewrite writes the rows of a table as view defines it: those committed by now and the
	// transaction's own, in the transaction. The caller has locked the table updateExclusive. With
	// Judge, misplaced reports whether a row lies outside the buckets that the policy allows.
	Rewrite func(ctx context.Context, view *catalog.View, w Rewrite) (misplaced bool, err error)
	// Sequence returns the state of a sequence that the caller has locked updateExclusive: its last
	// value, and whether nextval has returned it.
	Sequence func(ctx context.Context, sequence *catalog.Table) (value int64, called bool, err error)
	Bodies
	// Setting checks a configuration parameter and returns the value to store.
	Setting func(name, value string) (string, error)
	// WaitDatabase waits until the fragments of a new database serve.
	WaitDatabase func(ctx context.Context, d *catalog.Database) error
	// FillFragments returns a plan that moves to every fragment of grown, which has more fragments
	// than now, its share of the buckets.
	FillFragments func(ctx context.Context, now, grown *catalog.Database) (*catalog.Plan, error)
	// Silent reports whether a node does not answer.
	Silent func(node uint32) bool
	// Misplaced scans a table as view defines it for documents that lie outside the buckets that
	// its policy allows. It takes no locks.
	Misplaced func(ctx context.Context, view *catalog.View, t *catalog.Table, emit func(Misplaced) error) error
	// Truncating fires the triggers on TRUNCATE of tables: TriggerBefore or, with 0, those after it.
	Truncating func(ctx context.Context, timing catalog.TriggerEvents, tables []catalog.OID) error
	// Disconnect returns how many other sessions use a database; with force it terminates them
	// first.
	Disconnect func(ctx context.Context, database catalog.OID, force bool) (int, error)
}

// Bodies says how the bodies of functions are checked.
type Bodies struct {
	// CheckBodies is check_function_bodies; nil: on.
	CheckBodies func() bool
	// Languages has the languages of functions other than SQL, each with what checks a definition.
	Languages map[string]func(ctx *analyze.Context, f *catalog.Function) error
}

// Rewrite describes how the rows of a table are rewritten.
type Rewrite struct {
	Table catalog.OID
	Old   *catalog.View // the definitions to read the rows with
	// Exprs compute the columns of the new definition from those of the old one, which are Var{Rel:
	// 0}; nil means null.
	Exprs []query.Expr
	Judge bool // check the rows against the policy, which counts as validated if all fit
}

// Run runs a statement and returns its command tag.
func Run(ctx context.Context, e *Env, st parse.Statement) (tag string, err error) {
	r := &runner{Env: e, ctx: ctx, source: st.Source, text: st.Text()}
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

// runner runs one statement.
type runner struct {
	*Env
	ctx    context.Context
	source string
	text   string // of the statement alone
}

func (r *runner) tables(n *pg_query.Node) (string, bool, error) {
	switch x := n.Node.(type) {
	case *pg_query.Node_CreateSeqStmt:
		return "CREATE SEQUENCE", true, r.createSequence(x.CreateSeqStmt)
	case *pg_query.Node_AlterSeqStmt:
		return "ALTER SEQUENCE", true, r.alterSequence(x.AlterSeqStmt)
	case *pg_query.Node_CreateStmt:
		return "CREATE TABLE", true, r.createTable(x.CreateStmt)
	case *pg_query.Node_ViewStmt:
		return "CREATE VIEW", true, createView(r, x.ViewStmt)
	case *pg_query.Node_CreateTableAsStmt:
		if x.CreateTableAsStmt.Objtype == pg_query.ObjectType_OBJECT_MATVIEW {
			return "CREATE MATERIALIZED VIEW", true, createMaterialized(r, x.CreateTableAsStmt)
		}
	case *pg_query.Node_RefreshMatViewStmt:
		return "REFRESH MATERIALIZED VIEW", true, refreshMaterialized(r, x.RefreshMatViewStmt)
	case *pg_query.Node_IndexStmt:
		return "CREATE INDEX", true, r.createIndex(x.IndexStmt)
	case *pg_query.Node_CreateStatsStmt:
		return "CREATE STATISTICS", true, createStatistics(r, x.CreateStatsStmt)
	case *pg_query.Node_AlterStatsStmt:
		return "ALTER STATISTICS", true, alterStatistics(r, x.AlterStatsStmt)
	case *pg_query.Node_CreateEnumStmt:
		return "CREATE TYPE", true, createEnum(r, x.CreateEnumStmt)
	case *pg_query.Node_CompositeTypeStmt:
		return "CREATE TYPE", true, createComposite(r, x.CompositeTypeStmt)
	case *pg_query.Node_CreateDomainStmt:
		return "CREATE DOMAIN", true, createDomain(r, x.CreateDomainStmt)
	case *pg_query.Node_AlterDomainStmt:
		return "ALTER DOMAIN", true, alterDomain(r, x.AlterDomainStmt)
	case *pg_query.Node_AlterEnumStmt:
		return "ALTER TYPE", true, alterEnum(r, x.AlterEnumStmt)
	case *pg_query.Node_CreateFunctionStmt:
		tag := "CREATE FUNCTION"
		if x.CreateFunctionStmt.IsProcedure {
			tag = "CREATE PROCEDURE"
		}
		return tag, true, createFunction(r, x.CreateFunctionStmt)
	case *pg_query.Node_CreateTrigStmt:
		return "CREATE TRIGGER", true, createTrigger(r, x.CreateTrigStmt)
	case *pg_query.Node_CreatePolicyStmt:
		return "CREATE POLICY", true, createRowPolicy(r, x.CreatePolicyStmt)
	case *pg_query.Node_AlterPolicyStmt:
		return "ALTER POLICY", true, alterRowPolicy(r, x.AlterPolicyStmt)
	case *pg_query.Node_AlterFunctionStmt:
		return "ALTER " + kindWord(x.AlterFunctionStmt.Objtype), true, alterFunction(r, x.AlterFunctionStmt)
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
	case *pg_query.Node_GrantStmt:
		return grantWord(x.GrantStmt.IsGrant), true, grant(r, x.GrantStmt)
	case *pg_query.Node_AlterDefaultPrivilegesStmt:
		return "ALTER DEFAULT PRIVILEGES", true, alterDefaultPrivileges(r, x.AlterDefaultPrivilegesStmt)
	case *pg_query.Node_ReassignOwnedStmt:
		return "REASSIGN OWNED", true, reassignOwned(r, x.ReassignOwnedStmt)
	case *pg_query.Node_DropOwnedStmt:
		return "DROP OWNED", true, dropOwned(r, x.DropOwnedStmt)
	case *pg_query.Node_GrantRoleStmt:
		return grantWord(x.GrantRoleStmt.IsGrant) + " ROLE", true, grantRoles(r, x.GrantRoleStmt)
	case *pg_query.Node_DropRoleStmt:
		return "DROP ROLE", true, r.dropRole(x.DropRoleStmt)
	}
	return "", false, nil
}

// pos returns the character position of a location in the parse tree.
func (r *runner) pos(loc int32) int { return parse.Position(r.source, int(loc)) }

// analysis returns the context for analyzing expressions and types.
func (c *change) analysis() *analyze.Context {
	return &analyze.Context{Catalog: c.view, Database: c.Database, SearchPath: c.SearchPath, Env: c.Env.Env,
		User: c.Role}
}
