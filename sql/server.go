package sql

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/internal/scramsecret"
	"github.com/sherddb/sherd/sql/admin"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/sequence"
	"github.com/sherddb/sherd/sql/settings"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/sql/types"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// Config is what a Server is built on.
type Config struct {
	Catalog   *catalog.Catalog
	Fragments Fragments
	Clock     *txn.Clock
	Logger    *slog.Logger
	Deadlocks *txn.Detector // sees the waits for rows too; nil: one of its own
	Addr      string        // the address for clients, HOST:PORT, as sherd.route returns it
	NodeName  string
	Block     string // ends ids that the server completes: orders/17-A
	// JoinToken makes a token that lets a new node in, or the token of the node with that number;
	// nil if there can be no other nodes.
	JoinToken func(ctx context.Context, life time.Duration, node uint32) (string, error)
	// RotateAuthority begins to replace the certificate authority of the nodes, and Authorities
	// lists the authorities; nil if there is none.
	RotateAuthority func(ctx context.Context) error
	Authorities     func(ctx context.Context) ([]sysview.Authority, error)

	// Given are parameters that follow from how the node was started, such as port, by lower-case
	// name.
	Given map[string]string

	Speaks uint32  // the newest version of the cluster that this program knows (V4), 0 is the first
	Others *Others // nil: there are none
	// TempDir is for files that statements need while they run; it is made when needed. "" means
	// the system's.
	TempDir string
}

// Server is the part of a node that serves sessions.
type Server struct {
	services       tx.Services // of transactions
	admin          admin.Cluster
	cfg            Config
	statements     *stmt.Cache
	locks          *locks.Manager
	prepared       *tx.PreparedTransactions
	ids            *txblock.IDs
	sequences      *sequence.Allocator
	transactionIDs monitor.TransactionIDs
	notifications  *notify.Hub
	samples        stmt.Samples
	monitor        *monitor.Node
	cluster        monitor.Cluster
	started        time.Time

	mu       sync.Mutex
	sessions map[uint32]*Session // by PID; guarded by mu
}

// NewServer makes a Server.
func NewServer(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Deadlocks == nil {
		cfg.Deadlocks = txn.NewDetector()
	}
	s := &Server{
		cfg: cfg, statements: stmt.NewCache(),
		started: time.Now(), sessions: map[uint32]*Session{},
	}
	s.locks = locks.NewManager(cfg.Deadlocks, cfg.Logger)
	s.serve(&cfg)
	f := cfg.Fragments
	s.prepared = tx.NewPreparedTransactions(&s.services, s.locks, tx.PreparedFragments{
		List: f.Prepared, ListSoon: f.PreparedSoon, Commit: f.CommitPrepared, Rollback: f.RollbackPrepared,
		RowLocks: f.ListRowLocks,
	})
	s.admin = admin.Cluster{
		Catalog: cfg.Catalog, Fragments: cfg.Fragments, JoinToken: cfg.JoinToken, RotateAuthority: cfg.RotateAuthority,
		Version: cfg.Speaks, Address: cfg.Addr, Samples: &s.samples, CatchUp: s.catchUp,
	}
	s.monitor = &monitor.Node{
		Sessions: s.sessionRows, Locks: s.lockList, Fragments: cfg.Fragments, Deadlocks: cfg.Deadlocks,
	}
	s.admin.Forwarded = s.monitor.Forwardings.Add
	s.cluster = monitor.Cluster{Node: s.monitor}
	s.services.Storages.ObserveAll(cfg.Catalog.View())
	s.ids = txblock.NewIDs(cfg.Catalog, cfg.Block)
	s.sequences = sequence.NewAllocator(&s.services)
	var forward func([]notify.Notification)
	if cfg.Others != nil {
		forward = cfg.Others.Say
		s.cluster.Others = cfg.Others.Reports
		if a := cfg.Others.Advisory; a != nil {
			s.locks.OnRelease(a.Release)
		}
	}
	s.notifications = notify.NewHub(forward)
	return s
}

// serve sets what transactions use.
func (db *Server) serve(cfg *Config) {
	x := &db.services
	x.Catalog, x.Clock, x.Logger = cfg.Catalog, cfg.Clock, cfg.Logger
	x.Join = func() exec.Transaction { return cfg.Fragments.Begin() }
	o := cfg.Others
	if o == nil {
		return
	}
	x.Self, x.AskSnapshot, x.TableLocks, x.Advisory = o.Self, o.Snapshot, o.Locks, o.Advisory
}

// ExportedSnapshot returns a snapshot that an open transaction of this node has exported.
func (db *Server) ExportedSnapshot(id string) (x tx.ExportedSnapshot, ok bool) {
	return db.services.ExportedSnapshot(id)
}

// Observe records the storages in a new view of the catalog, before a statement uses them: from
// here on the past can be read.
func (db *Server) Observe(v *catalog.View) { db.services.Storages.ObserveAll(v) }

// Prepared returns the prepared transactions, whose locks this node keeps.
func (db *Server) Prepared() *tx.PreparedTransactions { return db.prepared }

// Monitor makes the reports of this node.
func (db *Server) Monitor() *monitor.Node { return db.monitor }

// sessionRows returns the rows of pg_stat_activity.
func (db *Server) sessionRows() (out []sysview.Session) {
	db.eachSession(func(s *Session) { out = append(out, s.activity.Row()) })
	return out
}

// lockList lists the locks of this node's sessions and of prepared transactions.
func (db *Server) lockList() []locks.Lock {
	list := db.locks.Locks()
	if a := db.services.Advisory; a != nil {
		list = append(list, a.Locks()...)
	}
	return list
}

// health returns what this node knows of the other nodes.
func (db *Server) health() []sysview.Health {
	if others := db.cfg.Others; others != nil {
		return others.Health()
	}
	return nil
}

// Locks returns the node's lock table.
func (db *Server) Locks() *locks.Manager { return db.locks }

// closeTime bounds how long Close waits for fragments.
const closeTime = 2 * time.Second

// Close returns the values of sequences that this node has taken ahead. The caller has ended all
// sessions. If it fails, nothing is lost.
func (db *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return db.sequences.Return(ctx)
}

// Authenticate returns the SCRAM verifier of a role that may log in, "" if it has no password; ok
// is false if there is no such role.
func (db *Server) Authenticate(user string) (verifier string, ok bool) {
	r := db.cfg.Catalog.View().RoleByName(user)
	if r == nil {
		db.catchUp(context.Background())
		r = db.cfg.Catalog.View().RoleByName(user)
	}
	if r == nil {
		return "", false
	}
	if r.Password != "" && expired(r.ValidUntil, time.Now()) {
		// The password is random and not kept: the exchange fails as with a wrong password.
		secret, err := scramsecret.Make(rand.Text())
		return secret, err == nil
	}
	return r.Password, true
}

// expired reports whether a role's VALID UNTIL has passed; an unreadable one has.
func expired(validUntil string, now time.Time) bool {
	if validUntil == "" {
		return false
	}
	end, err := types.Input(types.TimestampTZ, -1, validUntil, nil)
	return err != nil || end.N < types.TimestampOf(now)
}

// NewSession opens a session. Errors are fatal to the connection: 28000 role, 3D000 database.
func (db *Server) NewSession(ctx context.Context, p StartupParams) (s *Session, err error) {
	err = db.knownNames(ctx, func() error {
		s, err = db.newSession(p)
		return err
	})
	return s, err
}

func (db *Server) newSession(p StartupParams) (*Session, error) {
	view := db.cfg.Catalog.View()
	role := view.RoleByName(p.User)
	if role == nil {
		return nil, pgerr.New(pgerr.InvalidAuthorization, `role "%s" does not exist`, p.User)
	}
	if !role.Login {
		return nil, pgerr.New(pgerr.InvalidAuthorization, `role "%s" is not permitted to log in`, p.User)
	}
	name := p.Database
	if name == "" {
		name = p.User
	}
	database := view.DatabaseByName(name)
	if database == nil {
		return nil, pgerr.New(pgerr.InvalidCatalogName, `database "%s" does not exist`, name)
	}
	s := newSession(db, p, role.OID, database.OID)
	if err := s.vars.Start(settings.Startup{
		Role: role.Name, Superuser: role.Superuser,
		DatabaseSettings: database.Settings, RoleSettings: role.Settings, Packet: p.Settings,
	}); err != nil {
		return nil, err
	}
	s.named()
	s.rests()
	if err := db.admit(s, role, database); err != nil {
		return nil, err
	}
	return s, nil
}

// admit registers the session, unless its role or database has reached its connection limit.
// Superusers are always admitted.
func (db *Server) admit(s *Session, role *catalog.Role, database *catalog.Database) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	ofRole, inDatabase := int32(0), int32(0)
	if limited := role.ConnectionLimit >= 0 || database.ConnectionLimit >= 0; limited && !role.Superuser {
		for _, other := range db.sessions {
			if other.role == role.OID {
				ofRole++
			}
			if other.database == database.OID {
				inDatabase++
			}
		}
		switch {
		case database.ConnectionLimit >= 0 && inDatabase >= database.ConnectionLimit:
			return pgerr.New(pgerr.TooManyConnections, `too many connections for database "%s"`, database.Name)
		case role.ConnectionLimit >= 0 && ofRole >= role.ConnectionLimit:
			return pgerr.New(pgerr.TooManyConnections, `too many connections for role "%s"`, role.Name)
		}
	}
	db.sessions[s.start.PID] = s
	return nil
}

func (db *Server) forget(s *Session) {
	db.mu.Lock()
	if db.sessions[s.start.PID] == s {
		delete(db.sessions, s.start.PID)
		close(s.gone)
	}
	db.mu.Unlock()
}

// eachSession calls f for the sessions open now.
func (db *Server) eachSession(f func(*Session)) {
	db.mu.Lock()
	list := make([]*Session, 0, len(db.sessions))
	for _, s := range db.sessions {
		list = append(list, s)
	}
	db.mu.Unlock()
	for _, s := range list {
		f(s)
	}
}
