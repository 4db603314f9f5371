package sql

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/admin"
	"github.com/sherddb/sherd/sql/autoanalyze"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/notify"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/sequence"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/system"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/txblock"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// Server is the part of a node that serves sessions.
type Server struct{ session.Node }

// NewServer makes a Server.
func NewServer(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Deadlocks == nil {
		cfg.Deadlocks = txn.NewDetector()
	}
	s := &Server{session.Node{
		Fragments: cfg.Fragments, Others: cfg.Others, Deadlocks: cfg.Deadlocks,
		Name: cfg.NodeName, Address: cfg.Addr, Started: time.Now(), TempDir: cfg.TempDir,
		Given: cfg.Given, QueryMemory: cfg.QueryMemory, Authorities: cfg.Authorities,
		IDs: txblock.NewIDs(cfg.Catalog, cfg.Block), Locks: locks.NewManager(cfg.Deadlocks, cfg.Logger),
		Statements: stmt.NewCache(),
	}}
	s.serveTransactions(&cfg)
	f := cfg.Fragments
	s.Prepared = tx.NewPreparedTransactions(&s.Services, s.Locks, tx.PreparedFragments{
		List: f.Prepared, ListSoon: f.PreparedSoon, Commit: f.CommitPrepared, Rollback: f.RollbackPrepared,
		RowLocks: f.ListRowLocks,
	})
	s.Monitor = &monitor.Node{
		Sessions: s.Sessions.Rows, Locks: s.listLocks, Fragments: f, Deadlocks: cfg.Deadlocks,
	}
	s.Cluster.Node = s.Monitor
	s.Admin = admin.Cluster{
		Catalog: cfg.Catalog, Fragments: f, JoinToken: cfg.JoinToken, RotateAuthority: cfg.RotateAuthority,
		Version: cfg.Speaks, Address: cfg.Addr, Samples: &s.Samples, CatchUp: s.CatchUp,
		Forwarded: s.Monitor.Forwardings.Add,
	}
	s.Sequences = sequence.NewAllocator(&s.Services)
	var forward func([]notify.Notification)
	if o := cfg.Others; o != nil {
		forward = o.Say
		s.Cluster.Others = o.Reports
		if o.Advisory != nil {
			s.Locks.OnRelease(o.Advisory.Release)
		}
	}
	s.Notifications = notify.NewHub(forward)
	known := &tablestats.Known{
		Sizes: tablestats.NewSizes(tablestats.Config{Here: f.TableTotalHere, Ask: f.TableTotal}),
	}
	s.Statements.Statistics = known.Of
	return s
}

// serveTransactions sets what transactions use.
func (s *Server) serveTransactions(cfg *Config) {
	x := &s.Services
	x.Catalog, x.Clock, x.Logger = cfg.Catalog, cfg.Clock, cfg.Logger
	x.Join = func() exec.Transaction { return cfg.Fragments.Begin() }
	if o := cfg.Others; o != nil {
		x.Self, x.AskSnapshot, x.TableLocks, x.Advisory = o.Self, o.Snapshot, o.Locks, o.Advisory
	}
	x.Storages.ObserveAll(cfg.Catalog.View())
}

// listLocks lists the locks of this node's sessions and of prepared transactions.
func (s *Server) listLocks() []locks.Lock {
	list := s.Locks.Locks()
	if a := s.Advisory; a != nil {
		list = append(list, a.Locks()...)
	}
	return list
}

// closeTime bounds how long Close waits for fragments.
const closeTime = 2 * time.Second

// Close returns the values of sequences that this node has taken ahead. The caller has ended all
// sessions. If it fails, nothing is lost.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return s.Sequences.Return(ctx)
}

// RunJobs runs the jobs about ids, and analyzes tables in the background, until ctx ends.
func (s *Server) RunJobs(ctx context.Context) {
	workers := &system.Node{
		Services: &s.Services, Locks: s.Locks, Programs: s.Statements, Counters: &s.Monitor.Counters,
		Started: s.Started, Address: s.Address, Given: s.Given, TempDir: s.TempDir,
		QueryMemory: s.QueryMemory, Gateway: s.Admin.Gateway,
	}
	jobs := &schemachange.Jobs{
		Catalog: s.Catalog, Logger: s.Logger, Setting: s.ClusterSetting, Worker: workers.NewWorker,
	}
	analyses := autoanalyze.Worker{
		Begin:  func(database catalog.OID) *system.Worker { return workers.NewWorker(database, false) },
		Totals: s.Fragments.Totals, Locks: s.clusterLocks,
	}
	schedule := &autoanalyze.Schedule{
		View: s.Catalog.View, Leads: s.Catalog.Leads, Setting: s.ClusterSetting, Logger: s.Logger,
		Analyze: analyses.Analyze,
		Totals: func(ctx context.Context, d *catalog.Database) ([]tablestats.Total, error) {
			return s.Fragments.Totals(ctx, d, 0)
		},
	}
	var both sync.WaitGroup
	both.Go(func() { jobs.Run(ctx) })
	both.Go(func() { schedule.Run(ctx) })
	both.Wait()
}

// clusterLocks lists the table locks of all nodes that answer, and the waits for them.
func (s *Server) clusterLocks(ctx context.Context) []sysview.Lock {
	return s.Cluster.Report(ctx, monitor.WantLocks, func(string, ...any) {}).Locks
}
