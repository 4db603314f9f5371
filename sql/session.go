package sql

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/locks"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// Session is one client's connection. It is not safe for concurrent use.
type Session struct {
	db       *Server
	start    StartupParams
	role     catalog.OID // who is connected; SET ROLE is not supported yet
	database catalog.OID
	locks    *locks.Session
	opened   time.Time
	txEnv    tx.Environment // what its transactions have in common

	vars       *variables
	reported   map[string]string // as last told to the client
	statements map[string]*prepared
	portals    map[string]*portal

	gone       chan struct{} // closed when the session has ended
	tx         *transaction  // nil outside of any
	env        *types.Env    // of the transaction, or between transactions the last one's
	stale      bool          // a setting changed: base and limit must be made anew
	unreported bool          // settings may have changed since the client was told of them
	derived
	hook           exec.Hooks
	notices        []*pgerr.Error // for the client, see sendNotices
	writer         ResultWriter   // of the running query, for what the client is to be told at once; nil outside of one
	query          string         // text of the running statement
	queryAt        time.Time
	bound          *bound // of the running statement, if it is no query and has parameters; else nil
	leads          bool   // the running statement is the first of its pipeline
	lastOfPipeline bool   // Sync follows the next Execute
	activity       activity
	counters       *counters       // of the database
	running        context.Context // of the running statement, for functions that act through the session
	random         *rand.Rand      // of random(); nothing secret comes from it
	sequenceUse    sequenceUse
	byID           bool     // of the system: ids are only those that documents have now, and nothing follows from rows that it changes
	listening      []string // channels
	inbox          inbox    // what was said on them
}

// derived is what follows from the settings. The session's freshen makes it anew after one has changed.
type derived struct {
	base             types.Env     // the values' environment but for Now
	limit            exec.Limits   // but for ReadOnly
	idle, idleInside time.Duration // time-outs of a client that says nothing, 0: none; outside and inside of transactions
	memory           int64         // bytes that a query may retain
	ambient          string        // settings that analysis depends on: search path, and how literals are read
	logAfter         time.Duration // log_min_duration_statement; negative is never
}

func newSession(db *Server, p StartupParams, role, database catalog.OID) *Session {
	s := &Session{
		db: db, start: p, role: role, opened: time.Now(), vars: newVariables(), reported: map[string]string{},
		statements: map[string]*prepared{}, portals: map[string]*portal{}, stale: true,
		random: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
	}
	s.gone, s.inbox.wake = make(chan struct{}), p.Handle.Notify
	s.counters = db.countersOf(database)
	s.database, s.locks = database, db.locks.NewSession(p.PID)
	x := &s.txEnv
	x.Services, x.Database, x.PID, x.Locks = &db.services, database, p.PID, s.locks
	x.Setting, x.Values, x.Report = s.vars.get, s.Env, s.inTransaction
	s.hook = s.hooks()
	s.vars.live, s.vars.cluster, s.vars.given = s.characteristic, db.ofCluster, db.cfg.Given
	return s
}

// ofCluster gives what ALTER SYSTEM has set.
func (db *Server) ofCluster(name string) (string, bool) {
	k := db.cfg.Catalog.View().Cluster()
	if k == nil {
		return "", false
	}
	value, ok := k.Settings[name]
	return value, ok
}

// applyDefaults sets what the database, the role and the startup packet ask for, in this order.
func (s *Session) applyDefaults(role *catalog.Role, database *catalog.Database, packet map[string]string) error {
	for i, layer := range []map[string]string{database.Settings, role.Settings, packet} {
		s.vars.plain = i == 2 && !role.Superuser // what the database and the role have was set by who may
		for name, value := range layer {
			if name == "options" {
				if err := s.applyOptions(value); err != nil {
					return err
				}
				continue
			}
			if err := s.setDefault(name, value); err != nil {
				return err
			}
		}
	}
	name := strings.ToLower("session_authorization")
	s.vars.defaults[name] = role.Name
	s.vars.defaults["is_superuser"] = onOff(role.Superuser)
	s.vars.started = true
	return nil
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (s *Session) setDefault(name, value string) error {
	if name == "replication" && (value == "false" || value == "off" || value == "0") {
		return nil
	}
	canonical, err := s.vars.check(name, value)
	if err != nil {
		return err
	}
	s.vars.defaults[strings.ToLower(name)] = canonical
	return nil
}

// applyOptions reads the command-line form of settings: -c name=value and --name=value, blanks escaped by backslash.
func (s *Session) applyOptions(options string) error {
	words := splitOptions(options)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-c" && i+1 < len(words):
			i++
			w = words[i]
		case strings.HasPrefix(w, "-c"):
			w = w[2:]
		case strings.HasPrefix(w, "--"):
			w = w[2:]
		default:
			return pgerr.New(pgerr.SyntaxError, "invalid command-line argument for server process: %s", w)
		}
		name, value, _ := strings.Cut(w, "=")
		if err := s.setDefault(strings.ReplaceAll(name, "-", "_"), value); err != nil {
			return err
		}
	}
	return nil
}

func splitOptions(s string) []string {
	var out []string
	var cur strings.Builder
	open := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			cur.WriteByte(s[i])
			open = true
		case s[i] == ' ' || s[i] == '\t' || s[i] == '\n':
			if open {
				out = append(out, cur.String())
			}
			cur.Reset()
			open = false
		default:
			cur.WriteByte(s[i])
			open = true
		}
	}
	if open {
		out = append(out, cur.String())
	}
	return out
}

// reportedNames are the parameters that clients are told of (GUC_REPORT).
var reportedNames = []string{
	"application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "in_hot_standby", "integer_datetimes", "IntervalStyle",
	"is_superuser", "server_encoding", "server_version", "session_authorization", "standard_conforming_strings", "TimeZone", "sherd.version",
}

// ReportedParameters gives the settings that a client is told at start, name and value.
func (s *Session) ReportedParameters() [][2]string {
	var out [][2]string
	for _, name := range reportedNames {
		if v, ok := s.vars.show(name); ok {
			s.reported[name] = v
			out = append(out, [2]string{name, v})
		}
	}
	return out
}

// settingsChanged tells the client of reported parameters that are different now.
func (s *Session) settingsChanged(w ResultWriter) error {
	s.stale, s.unreported = true, false
	for _, name := range reportedNames {
		v, ok := s.vars.show(name)
		if !ok || s.reported[name] == v {
			continue
		}
		s.reported[name] = v
		if err := w.Parameter(name, v); err != nil {
			return err
		}
	}
	return nil
}

// Env is by what the session's values are read and printed.
func (s *Session) Env() *types.Env {
	s.freshen()
	if s.env == nil {
		now := time.Now()
		if s.tx != nil {
			now = s.tx.Began
		}
		e := s.base
		e.Now = types.TimestampOf(now)
		s.env = &e
	}
	return s.env
}

// freshen makes anew what follows from the settings.
func (s *Session) freshen() {
	if !s.stale {
		return
	}
	s.stale = false
	s.env = nil
	s.named()
	s.logAfter = s.txEnv.Milliseconds("log_min_duration_statement")
	s.idle, s.idleInside = s.txEnv.Milliseconds("idle_session_timeout"), s.txEnv.Milliseconds("idle_in_transaction_session_timeout")
	s.base = s.vars.environment()
	s.base.RegIn, s.base.RegOut = s.regIn, s.regOut
	if s.tx != nil && s.tx.Parts != nil {
		s.tx.Parts.SetLockTimeout(s.txEnv.Milliseconds("lock_timeout"))
	}
	s.limit, s.memory = s.vars.limits(), s.vars.queryMemory()
	s.limit.LockWaits = s.lockWaits()
	s.ambient = s.start.User
	if s.byID {
		s.ambient += "\x00by id"
	}
	for _, name := range []string{"search_path", "TimeZone", "DateStyle", "IntervalStyle"} {
		v, _ := s.vars.get(name)
		s.ambient += "\x00" + v
	}
}

// Close ends the session; an open transaction is rolled back.
func (s *Session) Close() {
	s.closeAllPortals()
	s.abandon()
	s.unlistenAll()
	s.locks.UnlockAll()
	s.db.forget(s)
}

// abandon rolls back whatever is open.
func (s *Session) abandon() {
	if s.tx != nil {
		s.tx.Rollback()
		s.tx = nil
	}
}

// Status is the transaction status that ReadyForQuery tells.
func (s *Session) Status() Status {
	switch {
	case s.tx == nil || !s.tx.Explicit:
		return Idle
	case s.tx.failed:
		return Failed
	}
	return InTransaction
}

// FailPipeline tells of an error that was found before the session saw the message.
func (s *Session) FailPipeline() { s.fail() }

// fail makes an explicit transaction wait for its ROLLBACK and ends an implicit one. Where there is a savepoint, what was before it is kept for
// ROLLBACK TO.
func (s *Session) fail() {
	t := s.tx
	switch {
	case t == nil || t.failed:
	case !t.Explicit:
		s.closePortals()
		s.endImplicit()
	case t.Depth() > 0:
		s.undoTo(t.Depth() - 1)
		t.failed = true
	default:
		s.closePortals()
		t.Rollback()
		t.failed = true
	}
}

// endImplicit ends the transaction without a commit.
func (s *Session) endImplicit() {
	s.tx.Rollback()
	s.counters.rollbacks.Add(1)
	s.tx = nil
	if s.vars.end(false, 1) {
		s.stale, s.unreported = true, true
	}
}

// Sync ends the implicit transaction of a pipeline.
func (s *Session) Sync(ctx context.Context) error {
	defer s.rests()
	if s.tx == nil || s.tx.Explicit {
		return nil
	}
	return clockJumped(s.commit(ctx))
}
