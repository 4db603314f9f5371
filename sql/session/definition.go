package session

import (
	"context"
	"errors"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/stmt"
)

// definition runs DDL as part of the transaction, which commits it.
func (s *Session) definition(ctx context.Context, st parse.Statement, w stmt.ResultWriter, implicitBlock bool) error {
	if schemachange.IsOnline(st.Node) && s.isAutocommit(implicitBlock) && !isTemporary(s, st.Node) {
		return s.defineOnline(ctx, st, w)
	}
	if s.block.Tx == nil {
		s.block.Begin().ImplicitBlock = implicitBlock
	}
	if s.block.Tx.IsReadOnly() {
		return s.block.Tx.ReadOnlyError(parse.Name(st.Node))
	}
	s.block.Tx.Used = true
	e := s.definer(w.Notice)
	e.Lock = func(ctx context.Context, tables []catalog.OID) error {
		name := parse.Name(st.Node)
		switch {
		case st.Node.GetDropStmt() != nil:
			name = "DROP TABLE"
		case st.Node.GetTruncateStmt() != nil:
			name = "TRUNCATE"
		}
		if err := s.notInUse(name, tables); err != nil {
			return err
		}
		return s.block.Tx.DDL.Lock(ctx, tables)
	}
	e.Truncating = func(ctx context.Context, timing catalog.TriggerEvents, tables []catalog.OID) error {
		x := s.executor(ctx)
		return s.block.Tx.Constraints.Truncating(ctx, &x, timing, tables)
	}
	tag, err := ddl.Run(ctx, e, st)
	if err != nil {
		return inLiteral(err, st)
	}
	if err := s.sendNotices(w); err != nil { // of triggers
		return err
	}
	return w.Complete(tag)
}

// isTemporary reports whether a statement that IsOnline accepts is about a temporary table.
func isTemporary(s *Session, n *pg_query.Node) bool {
	view := s.block.View()
	if temporaryIn(s, view) == nil {
		return false
	}
	rv := n.GetIndexStmt().GetRelation()
	if x := n.GetAlterTableStmt(); x != nil {
		rv = x.Relation
	}
	path := visiblePath(s, view)
	if rv.GetSchemaname() != "" {
		path = []string{rv.Schemaname}
	}
	for _, schema := range path {
		if t := view.FindTable(s.database, schema, rv.GetRelname()); t != nil {
			return t.IsTemporary()
		}
	}
	return false
}

// definitionOutsideBlock runs DDL that cannot be undone and therefore commits by itself.
func (s *Session) definitionOutsideBlock(ctx context.Context, st parse.Statement, w stmt.ResultWriter) error {
	if tag, ok := parse.NeedsNoWork(st.Node); ok {
		return w.Complete(tag)
	}
	if st.Node.GetIndexStmt() != nil {
		if isTemporary(s, st.Node) {
			return s.definition(ctx, st, w, false)
		}
		return s.defineOnline(ctx, st, w)
	}
	// It can be undone, and takes effect with the commit that proves its locks.
	if st.Node.GetDropStmt() != nil {
		return s.definition(ctx, st, w, false)
	}
	if s.vars.On("default_transaction_read_only") {
		return pgerr.New(pgerr.ReadOnlySQLTransaction,
			"cannot execute %s in a read-only transaction", parse.Name(st.Node))
	}
	if s.block.Tx == nil {
		s.block.Begin() // holds locks until the statement has ended
	}
	e := s.definer(w.Notice)
	e.Change = func(ctx context.Context, plan func(*catalog.View, *catalog.Change) error) error {
		_, err := s.node.Catalog.Update(ctx, plan)
		return err
	}
	tag, err := ddl.Run(ctx, e, st)
	if err != nil {
		return err
	}
	return w.Complete(tag)
}

// definer returns the environment that package ddl needs from the session.
func (s *Session) definer(notice func(*pgerr.Error) error) *ddl.Env {
	fragments := s.node.Fragments
	s.freshen()
	e := &ddl.Env{
		Catalog: s.node.Catalog, Database: s.database, Role: s.role,
		Client: ddl.Client{SessionRole: s.identity.session(s.vars)},
		Namespaces: ddl.Namespaces{
			SearchPath: visiblePath(s, s.block.View()), TemporarySchema: temporarySchema(s),
		},
		Env: s.Env(), Notice: notice, View: s.block.View, Setting: s.vars.Check,
		Bodies: ddl.Bodies{
			Languages: languages(s), CheckBodies: func() bool { return s.vars.On("check_function_bodies") },
		},
		Disconnect:   s.disconnect,
		WaitDatabase: fragments.WaitFragments, Silent: fragments.Silent, FillFragments: fragments.FillFragments,
		Sequence: func(ctx context.Context, t *catalog.Table) (value int64, called bool, err error) {
			st, err := s.sequences.State(ctx, s.sequenceTx(), t)
			return st.Value, st.Called, err
		},
	}
	if s.block.Tx != nil {
		rows := &schemachange.Rows{Tx: &s.block.Tx.DDL, Executor: s.executor}
		rows.Attach(e)
	}
	return e
}

// defineOnline runs a statement that schemachange.IsOnline accepts, outside of any transaction.
func (s *Session) defineOnline(ctx context.Context, st parse.Statement, w stmt.ResultWriter) error {
	t := s.block.Tx // of a pipeline, and not used yet
	if t == nil {
		t = s.block.Begin()
	}
	if t.IsReadOnly() {
		return t.ReadOnlyError(parse.Name(st.Node))
	}
	t.Used, s.leads = true, false
	run := &schemachange.Online{
		Node: schemachange.Node{
			Services: &s.node.Services, Locks: s.node.Locks, TableStats: s.node.Fragments.TableStats,
		},
		Database: s.database, Outer: &t.DDL, Env: &s.txEnv, Executor: s.executor,
	}
	tag, err := run.Run(ctx, s.definer(w.Notice), st)
	if errors.Is(err, schemachange.ErrOffline) {
		return s.definition(ctx, st, w, t.ImplicitBlock)
	}
	if err != nil {
		return err
	}
	return w.Complete(tag)
}

// notInUse refuses to change a table that a cursor of the same session reads.
func (s *Session) notInUse(statement string, tables []catalog.OID) error {
	for _, oid := range tables {
		if t := s.block.View().Table(oid); t != nil && s.block.Tx != nil && s.block.Tx.Constraints.Awaits(oid) {
			return pgerr.New(pgerr.ObjectInUse, `cannot %s "%s" because it has pending trigger events`,
				statement, t.Name)
		}
	}
	if oid, ok := s.portals.Reads(tables); ok {
		if t := s.block.View().Table(oid); t != nil {
			return pgerr.New(pgerr.ObjectInUse,
				`cannot %s "%s" because it is being used by active queries in this session`, statement, t.Name)
		}
	}
	return nil
}

// disconnect is ddl.Env.Disconnect for DROP DATABASE.
func (s *Session) disconnect(ctx context.Context, database catalog.OID, force bool) (int, error) {
	f := s.node.Fragments
	u := &schemachange.DatabaseUsers{
		Catalog: s.node.Catalog, View: s.block.View(), Database: database, Force: force,
		Prepared: f.PreparedSoon, IsSilent: f.Silent, IsLost: f.Lost,
		Here: func() []schemachange.Connection { return s.node.Sessions.connectedTo(database, s) },
	}
	if o := s.node.Others; o != nil {
		u.Reports, u.Signal = o.Reports, o.Signal
	}
	return u.Disconnect(ctx)
}
