package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/counters"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/integrity"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/parameter"
	"github.com/sherddb/sherd/sql/parse"
	"github.com/sherddb/sherd/sql/portal"
	"github.com/sherddb/sherd/sql/privilege"
	"github.com/sherddb/sherd/sql/sequence"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/subset"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/temporary"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/sql/usertype"
	"github.com/sherddb/sherd/txn/locks"
)

// Session is one client's connection. It is not safe for concurrent use.
type Session struct {
	node     *Node
	start    StartupParams
	role     catalog.OID // the current role, whose privileges are checked
	identity identity
	database catalog.OID
	locks    *locks.Session
	opened   time.Time
	txEnv    tx.Environment // what its transactions have in common

	portals *portal.Portals // and prepared statements

	parameters
	request
	gone      chan struct{}  // closed when the session has ended
	block     *txblock.Block // its transaction
	compiler  stmt.Compiler  // see currentCompiler
	hook      exec.Hooks
	activity  *monitor.Activity
	counters  *monitor.DatabaseCounters
	random    *rand.Rand // of random(); no secret depends on it
	sequences *sequence.Session
	listener  *notify.Listener
	calls     callState
	temporary catalog.OID // the schema of temporary objects that compiler finds; 0: it finds none
}

// parameters are the settings of a session, and what follows from them.
type parameters struct {
	vars     *settings.Values
	settings *parameter.Statements
	env      *boundEnv // of the transaction or, between transactions, of the last one
	derived  settings.Derived
	limit    exec.Limits // without ReadOnly
	reads    subset.Reader
}

// request is the running statement of the client, and the messages that it makes for the client.
type request struct {
	query          string // the text
	queryAt        time.Time
	running        context.Context // for functions that act through the session
	bound          *bound          // if it is not a query and has parameters; else nil
	leads          bool            // it is the first of its pipeline
	lastOfPipeline bool            // Sync follows the next Execute
	notices        []*pgerr.Error  // for the client, see sendNotices
	// Writer of the running query, for messages that are sent at once; nil outside of one.
	writer stmt.ResultWriter
}

func newSession(n *Node, p StartupParams, role, database catalog.OID) *Session {
	s := &Session{
		node: n, start: p, role: role, opened: time.Now(),
		random:   rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
		identity: identity{login: role},
	}
	s.gone, s.portals = make(chan struct{}), newPortals(s)
	s.listener = n.Notifications.Session(database, p.PID, p.Handle.Notify, p.Handle.terminate)
	s.counters = n.Monitor.Counters.Of(database)
	s.database, s.locks = database, n.Locks.NewSession(p.PID)
	x := &s.txEnv
	x.Services, x.Database, x.PID, x.Locks = &n.Services, database, p.PID, s.locks
	s.vars = settings.NewValues(settings.Sources{
		User:    p.User,
		State:   func(name string) (string, bool) { return stateOf(s, name) },
		Cluster: n.ClusterSetting, CommandLine: n.Given,
	})
	s.activity = monitor.NewActivity(monitor.Client{
		PID: p.PID, User: p.User, Database: p.Database, Role: role, DatabaseID: database, Remote: p.Remote,
		Opened: s.opened, Locks: s.locks, WaitsElsewhere: x.WaitsElsewhere,
	}, n.Logger)
	x.Setting, x.Values, x.Report = s.vars.Get, s.Env, s.activity.SetTransaction
	x.Temporary = &tx.Temporary{NewRows: func() *temporary.Rows { return temporaryRows(s) }}
	s.sequences = n.Sequences.Session(sequence.Client{
		PID: p.PID, Database: database, Role: func() catalog.OID { return s.role },
		RelationName: func(oid uint32) (string, bool) {
			_, name, ok := s.names().Name(builtin.ObjRelation, oid)
			return name, ok
		},
	})
	s.block = txblock.New(txblock.Environment{
		Environment: x, Role: func() catalog.OID { return s.role }, Settings: s.vars,
		Listener: s.listener, Sequences: n.Sequences,
		TransactionIDs: &n.TransactionIDs, Counters: s.counters, Prepared: n.Prepared,
		HearOthers: n.hearOthers,
		Executor:   s.executor,
		Arrival:    func() time.Time { return s.queryAt },
		Begun:      func() { s.env = nil },
		Portals: txblock.Portals{
			Close: s.portals.EndTransaction, Keep: s.portals.Hold, AnyToKeep: s.portals.HasHoldable,
			Undo: s.portals.RollbackTo, Release: s.portals.Release,
		},
	})
	s.reads = subset.Reader{Settings: s.vars, Database: database, Warn: s.notice}
	s.settings = &parameter.Statements{
		Values: s.vars, Block: s.block,
		Check: func(name, value string) error {
			if err := s.identity.check(s, name, value); err != nil {
				return err
			}
			return s.reads.Check(s.block.View(), name, value)
		},
	}
	s.hook = s.hooks()
	s.compiler = stmt.Compiler{
		Database: database, Role: role, Values: x.Values, Cache: n.Statements, Temporary: x.Temporary,
		Storages: &n.Services.Storages,
		Hooks:    stmt.Hooks{Integrity: integrity.Attach, Split: counters.Attach},
	}
	return s
}

// ReportedParameters returns the settings that a client is sent at the start, name and value.
func (s *Session) ReportedParameters() [][2]string { return s.vars.Report() }

// Env returns the environment by which the session's values are read and printed.
func (s *Session) Env() *types.Env {
	s.freshen()
	view := s.block.View()
	if s.env != nil && s.env.view == view {
		return &s.env.Env
	}
	var now int64
	switch {
	case s.env != nil:
		now = s.env.Now
	case s.block.Tx != nil:
		now = types.TimestampOf(s.block.Tx.Began)
	default:
		now = types.TimestampOf(time.Now())
	}
	s.env = &boundEnv{Env: s.derived.Base, view: view}
	s.env.Now = now
	source := &usertype.Source{
		View: view, Database: s.database, Path: s.compiler.Path, Newest: usertype.NewestOf(s.node.Catalog),
	}
	source.Attach(&s.env.Env)
	if catalog.HasFunctions(view, s.database) {
		s.env.FunctionOut = func(oid types.OID) string { return sysview.FunctionName(s.names(), oid) }
	}
	return &s.env.Env
}

// boundEnv is an environment that has the types of users as a view of the catalog defines them.
type boundEnv struct {
	types.Env
	view *catalog.View
}

// freshen derives again what follows from the settings, if they have changed.
func (s *Session) freshen() {
	if s.derived.Version == s.vars.Version() {
		return
	}
	s.env = nil
	s.named()
	s.derived = s.vars.Derive()
	if n := s.node.QueryMemory; n > 0 {
		s.derived.Memory.Query = n
	}
	s.activity.LogAfter(s.derived.LogAfter)
	s.derived.Base.RegIn, s.derived.Base.RegOut = s.regIn, s.regOut
	if s.calls.definers == 0 {
		s.role = s.identity.current(s.vars)
	}
	actAs(s, s.role)
	s.compiler.PlanCache = stmt.PlanCacheMode(s.derived.PlanCacheMode)
	s.compiler.RowSecurityOff = !s.vars.On("row_security")
	s.compiler.Off = stmt.SwitchedOff(s.vars.On)
	if s.block.Tx != nil && s.block.Tx.Parts != nil {
		s.block.Tx.Parts.SetLockTimeout(s.vars.Milliseconds("lock_timeout"))
	}
	s.limit = exec.Limits{
		MaxFanout: s.vars.Number("sherd.max_fanout"), FanoutNotice: s.vars.Number("sherd.fanout_notice"),
		ExplicitBuckets: s.vars.On("sherd.explicit_buckets"),
	}
	role, _ := s.vars.Get("session_replication_role")
	s.limit.Replica = role == "replica"
	if s.vars.On("log_lock_waits") {
		after := max(s.vars.Milliseconds("deadlock_timeout"), time.Millisecond)
		s.limit.LockWaits = monitor.LogLockWaits(s.node.Logger, s.node.Deadlocks, s.start.PID, after)
	}
}

// currentCompiler returns the session's compiler, with its settings and the definitions that it
// sees now.
func (s *Session) currentCompiler() *stmt.Compiler {
	s.freshen()
	view := s.block.View()
	s.compiler.View, s.compiler.Uncommitted = view, s.block.HasSchemaChanges()
	if oidOf(temporaryIn(s, view)) != s.temporary {
		followTemporary(s, view)
	}
	return &s.compiler
}

// followTemporary has the compiler find the session's temporary objects, if it has any. Its programs
// are its own then.
func followTemporary(s *Session, view *catalog.View) {
	temporary, user := temporaryIn(s, view), s.start.User
	if r := view.Role(s.role); r != nil {
		user = r.Name
	}
	s.temporary = oidOf(temporary)
	s.compiler.Path = catalog.SearchPath(temporary, s.vars.SearchPathOf(user))
	s.compiler.Ambient = s.derived.Analysis
	if s.temporary != 0 {
		s.compiler.Ambient += fmt.Sprintf("\x00%d", s.temporary)
	}
}

// temporaryIn returns the schema of the session's temporary objects in a view, which the running
// transaction may have created; nil if there is none.
func temporaryIn(s *Session, view *catalog.View) *catalog.Schema {
	if catalog.TemporaryOf(view) == nil && !s.block.HasSchemaChanges() {
		return nil
	}
	return view.SchemaByName(s.database, catalog.TemporarySchema)
}

func oidOf(x *catalog.Schema) catalog.OID {
	if x == nil {
		return 0
	}
	return x.OID
}

// temporarySchema returns the name of the schema of the session's temporary objects.
func temporarySchema(s *Session) string {
	return fmt.Sprintf("%s_%d", catalog.TemporarySchema, s.start.PID)
}

// temporaryRows makes the fragment of the session's temporary tables.
func temporaryRows(s *Session) *temporary.Rows {
	s.freshen()
	return temporary.New(temporary.Config{
		Buffer: s.vars.Number("temp_buffers") * 8 << 10, Memory: temporary.KeyMemory, Files: s.derived.Memory.Files,
		Dir: s.node.TempDir,
	})
}

// program returns the program of a query, from the cache or compiled now.
func (s *Session) program(
	ctx context.Context, st parse.Statement, params []types.OID,
) (p *stmt.Program, err error) {
	err = s.node.knownNames(ctx, func() error {
		p, err = s.currentCompiler().Program(st, params)
		return err
	})
	return p, err
}

// renewed returns the program of p's statement for the definitions of now.
func renewed(ctx context.Context, s *Session, p *stmt.Program) (q *stmt.Program, err error) {
	err = s.node.knownNames(ctx, func() error {
		q, err = s.currentCompiler().Renew(p)
		return err
	})
	return q, err
}

// Close ends the session; an open transaction is rolled back.
func (s *Session) Close() {
	s.portals.CloseAll()
	s.block.Close()
	s.txEnv.Temporary.Close()
	s.listener.UnlistenAll()
	s.locks.UnlockAll()
	s.node.Sessions.remove(s)
}

// Status returns the transaction status for ReadyForQuery.
func (s *Session) Status() txblock.Status { return s.block.Status() }

// FailPipeline reports an error that was found before the session saw the message.
func (s *Session) FailPipeline() { s.block.Fail() }

// identity has the roles of a session. Settings hold the names of roles that statements have set; the
// roles keep their numbers if they are renamed.
type identity struct {
	login catalog.OID // with which the client has connected
	named map[string]catalog.OID
}

// Settings that name the roles of a session.
const (
	roleSetting    = "role"
	sessionSetting = "session_authorization"
	noRole         = "none"
)

// session returns the role of SET SESSION AUTHORIZATION.
func (i *identity) session(vars *settings.Values) catalog.OID {
	if vars.IsSet(sessionSetting) {
		name, _ := vars.Get(sessionSetting)
		return i.named[name]
	}
	return i.login
}

// current returns the role of SET ROLE.
func (i *identity) current(vars *settings.Values) catalog.OID {
	if name, _ := vars.Get(roleSetting); name != noRole && name != "" {
		return i.named[name]
	}
	return i.session(vars)
}

// check checks the value of a setting if that names a role, and keeps the role's number.
func (i *identity) check(s *Session, name, value string) error {
	view, setting := s.block.View(), strings.ToLower(name)
	if setting != roleSetting && setting != sessionSetting {
		return nil
	}
	if s.calls.definers > 0 {
		return pgerr.New(pgerr.InsufficientPrivilege,
			`cannot set parameter "%s" within security-definer function`, setting)
	}
	if setting == roleSetting && value == noRole {
		return nil
	}
	role := view.RoleByName(value)
	if role == nil {
		return pgerr.New(pgerr.InvalidParameterValue, `role "%s" does not exist`, value)
	}
	switch login := view.Role(i.login); {
	case setting == roleSetting && !privilege.Of(view, s.database, i.session(s.vars)).Member(role.OID):
		return pgerr.New(pgerr.InsufficientPrivilege, `permission denied to set role "%s"`, value)
	case setting == sessionSetting && role.OID != i.login && (login == nil || !login.Superuser):
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to set session authorization")
	}
	if i.named == nil {
		i.named = map[string]catalog.OID{}
	}
	i.named[value] = role.OID
	return nil
}

// actAs makes a role the current one.
func actAs(s *Session, role catalog.OID) {
	view := s.block.View()
	s.role, s.compiler.Role = role, role
	r := view.Role(role)
	s.vars.Restrict(r == nil || !r.Superuser)
	followTemporary(s, view)
}

// stateOf returns the value of a setting that shows a state of the session.
func stateOf(s *Session, name string) (string, bool) {
	if name == "is_superuser" {
		r := s.block.View().Role(s.identity.current(s.vars))
		return settings.OnOff(r != nil && r.Superuser), true
	}
	return s.block.Characteristic(name)
}

// named sets the application's name that others see.
func (s *Session) named() {
	name, _ := s.vars.Get("application_name")
	s.activity.SetApplication(name)
}

// rests shows others that the session waits for its client.
func (s *Session) rests() {
	state := monitor.Idle
	switch s.block.Status() {
	case txblock.InTransaction:
		state = monitor.InTxn
	case txblock.Failed:
		state = monitor.Aborted
	}
	if s.derived.Version != s.vars.Version() {
		s.named()
	}
	s.activity.Rest(state, s.block.Tx != nil)
}

// countError counts and logs deadlocks.
func (s *Session) countError(err error) {
	if pgerr.Is(err, pgerr.DeadlockDetected) {
		s.counters.Deadlocks.Add(1)
		s.node.Logger.Info("deadlock detected",
			"pid", s.start.PID, "detail", pgerr.From(err).Detail, "query", s.query)
	}
}

// Sync ends the implicit transaction of a pipeline, and the portals that it has bound.
func (s *Session) Sync(ctx context.Context) error {
	defer s.rests()
	switch {
	case s.block.Tx == nil:
		s.portals.EndTransaction()
		return nil
	case s.block.Tx.Explicit:
		return nil
	}
	return clockJumped(s.block.Commit(ctx))
}

// IdleLimit returns how long the client may leave the session idle, 0 for ever, and the error that
// ends the session then.
func (s *Session) IdleLimit() (time.Duration, *pgerr.Error) {
	s.freshen()
	switch inside := s.Status() != txblock.Idle; {
	case inside && s.derived.IdleInTransaction > 0:
		return s.derived.IdleInTransaction, &pgerr.Error{
			Severity: "FATAL", Code: pgerr.IdleInTransactionTimeout,
			Message: "terminating connection due to idle-in-transaction timeout",
		}
	case !inside && s.derived.Idle > 0:
		return s.derived.Idle, &pgerr.Error{
			Severity: "FATAL", Code: pgerr.IdleSessionTimeout,
			Message: "terminating connection due to idle-session timeout",
		}
	}
	return 0, nil
}
