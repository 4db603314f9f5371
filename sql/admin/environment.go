package admin

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/verify"
	"github.com/sherddb/sherd/txn"
)

// Cluster is what the functions use of the node that runs them. All sessions share it.
type Cluster struct {
	Catalog   *catalog.Catalog
	Fragments Fragments
	// JoinToken makes a token that lets a new node join, or lets the node of a number replace its
	// certificate; nil: nodes cannot join.
	JoinToken func(ctx context.Context, life time.Duration, node uint32) (string, error)
	// RotateAuthority starts the replacement of the authority of the nodes' certificates; nil: there is
	// none.
	RotateAuthority func(ctx context.Context) error
	// Version is the newest version of the cluster that this program knows.
	Version uint32
	Address string        // of the node, for clients
	Samples *stmt.Samples // of statements that ran at the node
	// CatchUp waits for the definitions that other nodes have committed, if there are other nodes.
	CatchUp func(ctx context.Context)
	// Forwarded counts that a statement has named a document by a former id.
	Forwarded func(sysview.Forwarded)
}

// Fragments is the databases' fragments.
type Fragments interface {
	// WaitFragments waits until all fragments of a database serve.
	WaitFragments(ctx context.Context, d *catalog.Database) error
	// Silent reports whether a node does not answer.
	Silent(node uint32) bool
	// PlanRebalance makes a plan for a database and keeps it as a proposal; its number is 0 if there is
	// nothing to do.
	PlanRebalance(ctx context.Context, database catalog.OID, a catalog.Author) (id uint64, p *catalog.Plan, err error)
	// SegmentCut returns the keys at which a segment above a limit of its size is split, and the key that
	// divides its bytes if it is not above; none if it cannot be split.
	SegmentCut(
		ctx context.Context, t *catalog.Table, b shardmap.Bucket, f shardmap.FragmentID, limit int64,
	) ([][]byte, error)
	// TableStats counts the rows of a storage id, of all for 0, in each fragment of a database.
	TableStats(ctx context.Context, d *catalog.Database, storageID uint32) ([]sysview.Stat, error)
	// Check verifies that the fragments of a database agree with its definitions.
	Check(ctx context.Context, database catalog.OID, emit verify.Emit) error
	// ResolveTransaction decides a transaction whose coordinator fragment is lost (T7).
	ResolveTransaction(ctx context.Context, database catalog.OID, id txn.ID, outcome txn.Outcome) error
}

// Environment is what a function uses of its caller's session and statement.
type Environment struct {
	*Cluster
	Context context.Context // of the statement; nil outside of any
	Names   *sysview.Names  // resolves names as the session sees them, in its database
	Role    catalog.OID
	Values  *types.Env
	Tx      *tx.Tx // nil outside of any
	// Application is the name of the client's application, and Query the text of the statement.
	Application, Query string
	// ArgTypes are the resolved types of the arguments. Variadic is set if the last argument is an array
	// for a VARIADIC "any".
	ArgTypes []types.OID
	Variadic bool
	// Notice keeps a notice for the client, and NoticeNow sends one at once.
	Notice    func(n *pgerr.Error)
	NoticeNow func(n *pgerr.Error) error
	// Definer returns what a change of definitions in the transaction needs.
	Definer func() *ddl.Env
	// Unused returns an error if a cursor or deferred trigger of the session uses one of the tables,
	// which the action would change.
	Unused func(action string, tables []catalog.OID) error
	// Executor returns an executor with the session's values.
	Executor func() *stmt.Executor
	// Prove verifies foreign keys, former ids and split documents of the database.
	Prove func(ctx context.Context, emit verify.Emit) error
}

// View returns the definitions as the transaction sees them.
func (e *Environment) View() *catalog.View {
	if e.Tx == nil {
		return e.Catalog.View()
	}
	return e.Tx.View()
}

// roleName returns the name of the session's role, "" if it was dropped.
func (e *Environment) roleName() string {
	if me := e.View().Role(e.Role); me != nil {
		return me.Name
	}
	return ""
}

// author returns the author of a change of the topology.
func (e *Environment) author(why string) catalog.Author {
	return catalog.Author{Who: e.roleName(), Why: why, Micros: time.Now().UnixMicro()}
}

// subject returns the role whose privileges are checked.
func (e *Environment) subject() *privilege.Subject {
	return privilege.Of(e.View(), e.Names.Database.OID, e.Role)
}

// administrate returns an error unless the role may administrate the cluster's nodes.
func (e *Environment) administrate(function string) error {
	if !e.subject().Superuser() {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function %s", function).
			WithHint("Only superusers may administrate the cluster's nodes.")
	}
	return e.mayWrite(function)
}

// reshape returns an error unless the role may change where buckets lie.
func (e *Environment) reshape(function string) error {
	if !e.subject().Admin() {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for function %s", function).
			WithHint("Only superusers and the role %s may change where buckets lie.", catalog.AdminRoleName)
	}
	return e.mayWrite(function)
}

// mayWrite returns an error outside of statements, and in a transaction that only reads.
func (e *Environment) mayWrite(function string) error {
	if e.Context == nil {
		return pgerr.Unsupported("sherd.%s() cannot run here", function)
	}
	if e.Tx != nil && e.Tx.Modes.ReadOnly {
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute sherd.%s() in a read-only transaction", function)
	}
	return nil
}

// mayDefine returns an error if the function, named with its schema, cannot change the definition of a
// table in the transaction. Otherwise the transaction has the table for itself.
func (e *Environment) mayDefine(function string, table catalog.OID) error {
	switch {
	case e.Context == nil:
		return pgerr.Unsupported("%s cannot run here", function)
	case e.Tx == nil:
		return nil
	case e.Tx.Modes.ReadOnly:
		return pgerr.New(pgerr.ReadOnlySQLTransaction, "cannot execute %s in a read-only transaction", function)
	case e.Tx.UsesAlready(table):
		return pgerr.New(pgerr.ObjectInUse,
			"cannot execute %s because the table is being used by active queries in this session", function)
	}
	e.Tx.DefineTables(table)
	return nil
}

// change changes the topology of a named database, if the role may.
func (e *Environment) change(
	function, database string, change func(d *catalog.Database, c *catalog.Change) error,
) error {
	if err := e.reshape(function); err != nil {
		return err
	}
	_, err := e.Catalog.Update(e.Context, func(v *catalog.View, c *catalog.Change) error {
		d := v.DatabaseByName(database)
		if d == nil {
			return noDatabase(database)
		}
		return change(d, c)
	})
	return err
}

// update changes the catalog, if it is known that the role may.
func (e *Environment) update(change func(v *catalog.View, c *catalog.Change) error) error {
	_, err := e.Catalog.Update(e.Context, change)
	return err
}

func noDatabase(name string) error {
	return pgerr.New(pgerr.InvalidCatalogName, `database "%s" does not exist`, name)
}
