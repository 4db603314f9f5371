package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/advisory"
	"github.com/sherddb/sherd/cluster/catalognet"
	"github.com/sherddb/sherd/cluster/deadlock"
	"github.com/sherddb/sherd/cluster/member"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/raftnet"
	"github.com/sherddb/sherd/cluster/tablelock"
	"github.com/sherddb/sherd/cluster/trust"
	"github.com/sherddb/sherd/internal/scramsecret"
	"github.com/sherddb/sherd/node/store"
	"github.com/sherddb/sherd/pgwire"
	"github.com/sherddb/sherd/raftgroup"
	"github.com/sherddb/sherd/sql"
	"github.com/sherddb/sherd/sql/monitor"
	"github.com/sherddb/sherd/sql/monitor/activity"
	"github.com/sherddb/sherd/sql/notify/relay"
	"github.com/sherddb/sherd/sql/schemachange"
	"github.com/sherddb/sherd/sql/session"
	"github.com/sherddb/sherd/sql/taskserver"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// Node is a running node. All methods may be called concurrently, except Close, which may be called
// once.
type Node struct {
	cfg       Config
	given     Config // cfg before its defaults
	dir       *catalog.DataDir
	keeper    *trust.Keeper
	contacts  *member.Contacts
	port      port
	catalog   *catalog.Catalog
	register  *member.Register
	clock     *txn.Clock
	store     *store.Store
	tasks     *taskserver.Server
	deadlocks *deadlock.Detector
	activity  *activity.Net
	locks     *tablelock.Net
	advisory  *advisory.Net
	notices   *relay.Net
	server    *sql.Server
	wire      *pgwire.Server
	listener  net.Listener
	tls       clientTLS
	http      *httpServer

	self     string      // the address at which other nodes reach this one
	suspects chan string // other addresses at which nodes believe this one to be

	found atomic.Bool   // the cluster knows this node's address
	tries atomic.Uint32 // of addresses, until then

	lost lostNodes

	removed    chan error         // the reason why Serve ends by itself
	stop       context.CancelFunc // stops background work; nil before it runs
	background sync.WaitGroup
}

// maxClockAhead is how far a timestamp may be ahead of this machine's clock
// (sherd.max_clock_ahead).
const maxClockAhead = 10 * time.Second

// Open builds a node from the ground up: listeners, directory, catalog, fragments, sessions. Serve
// accepts clients.
func Open(ctx context.Context, cfg Config) (_ *Node, err error) {
	given := cfg
	cfg.setDefaults()
	cfg.Logger = slog.New(raftgroup.Quieten(cfg.Logger.Handler()))
	n := &Node{cfg: cfg, given: given, removed: make(chan error, 1), suspects: make(chan string, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close(ctx))
		}
	}()
	if err = n.loadClientTLS(); err != nil {
		return nil, err
	}
	if n.listener, err = listen("clients", "sql-addr", cfg.SQLAddr); err != nil {
		return nil, err
	}
	if n.http, err = openHTTP(cfg.HTTPAddr); err != nil {
		return nil, err
	}
	if err = n.port.listen(cfg.NodeAddr); err != nil {
		return nil, err
	}
	if n.self, err = advertised(cfg.AdvertiseAddr, n.port.listener); err != nil {
		return nil, fmt.Errorf("--advertise-addr %w", err)
	}
	if err = n.identify(ctx); err != nil {
		return nil, err
	}
	if err = n.openCatalog(ctx); err != nil {
		return nil, err
	}
	if err = n.openSessions(ctx); txn.IsAhead(err) {
		err = fmt.Errorf("the clock of this machine, at %s, is too far ahead of the other nodes' clocks, "+
			"or theirs of it: set it right. Another node said: %w",
			cfg.Knobs.Now().UTC().Format(time.RFC3339), err)
	}
	return n, err
}

// openCatalog opens the node's port, which the catalog needs to reach the other nodes, then the
// catalog, and writes this node's addresses there.
func (n *Node) openCatalog(ctx context.Context) (err error) {
	n.port.build(n)
	n.catalog, err = catalog.Open(catalog.Options{
		Dir: n.dir.Join("catalog"), ID: raftnet.ServerID(n.dir.NodeID),
		Transport: n.port.mux.Transport(catalognet.Group), Forward: n.port.asks.Forward,
		Join: n.dir.NodeID != 1, Logger: n.cfg.Logger,
	})
	if err != nil {
		return err
	}
	n.port.asks.Serve(n.catalog)
	n.register = &member.Register{Catalog: n.catalog, Now: n.cfg.Knobs.Now}
	host := n.register.Host(n.cfg.Logger)
	host.Report = n.report
	host.Register(n.port.joining, n.port.members)
	n.buildFragments()
	background, stop := context.WithCancel(context.Background())
	n.stop = stop
	n.background.Go(func() { n.findDuplicates(background) })
	n.port.open()
	if err = n.port.awaitCatalog(ctx, n); err != nil {
		return err
	}
	info, err := n.info()
	if err != nil {
		return err
	}
	founded := false
	if self := n.catalog.View().Node(n.dir.NodeID); self != nil {
		if err = n.refuseDuplicate(ctx, self.NodeAddr); err != nil {
			return err
		}
	}
	if n.dir.NodeID == 1 {
		if founded, err = n.bootstrap(ctx, info); err != nil {
			return err
		}
	}
	if self := n.catalog.View().Node(n.dir.NodeID); self != nil {
		n.sayIgnored(self, n.dir.Created, founded)
	}
	if err = n.register.Establish(ctx, n.keeper); err != nil {
		return err
	}
	if err = n.declareLost(ctx, background); err != nil {
		return err
	}
	n.attend(background)
	n.background.Go(func() { n.watchRemoval(background) })
	n.background.Go(func() { n.watchDuplicate(background) })
	n.background.Go(func() { n.notices.Run(background) })
	if !n.dir.Created && len(n.cfg.Join) > 0 {
		n.background.Go(func() { n.sayElsewhere(background) })
	}
	return n.announce(ctx, background, info)
}

// openSessions opens what depends on the catalog: the fragments on this node, and the server for
// clients.
func (n *Node) openSessions(ctx context.Context) (err error) {
	self := n.catalog.View().Node(n.dir.NodeID)
	if self == nil {
		return fmt.Errorf("node %d is not in the cluster's list of nodes", n.dir.NodeID)
	}
	if err = n.cfg.checkVersion(n.clusterVersion()); err != nil {
		return err
	}
	if err = n.checkAccess(); err != nil {
		return err
	}
	offered, err := n.clientConfig()
	if err != nil {
		return err
	}
	builds := schemachange.AbandonedBuilds{Catalog: n.catalog, Logger: n.cfg.Logger}
	if err = builds.RemoveOwn(ctx); err != nil {
		return err
	}
	if err = n.store.Start(ctx); err != nil {
		return err
	}
	n.server = sql.NewServer(sql.Config{
		Catalog: n.catalog, Fragments: fragmentsOf(n), Clock: n.clock, Logger: n.cfg.Logger,
		Deadlocks: n.store.Deadlocks, Others: othersOf(n),
		Given: n.facts(offered != nil), Addr: self.SQLAddr, NodeName: self.Name, Block: self.Block,
		TempDir: n.dir.Join("temp"), Speaks: n.cfg.Knobs.Version.To,
		JoinToken: func(ctx context.Context, life time.Duration, node uint32) (string, error) {
			token, err := n.NewToken(ctx, life, node)
			return token.String(), err
		},
		RotateAuthority: n.rotateAuthority, Authorities: n.authorities,
	})
	if err = n.server.Prepared.Adopt(ctx); err != nil {
		return err
	}
	watching, stop := context.WithCancel(context.Background())
	before := n.stop
	n.stop = func() { stop(); before() }
	n.background.Go(func() {
		_ = n.catalog.Watch(watching, func(v *catalog.View) error { // ends with its context
			n.server.Storages.ObserveAll(v)
			n.server.Sessions.EndOrphans(v)
			return nil
		})
	})
	n.background.Go(func() { n.server.RunJobs(watching) })
	n.background.Go(func() { builds.Run(watching) })
	if offered != nil && n.tls.certFile == "" {
		n.background.Go(func() { n.keepClientTLS(watching) })
	}
	n.wire = pgwire.NewServer(pgwire.Config{
		TLS: offered,
		NewSession: func(ctx context.Context, p session.StartupParams) (pgwire.Session, error) {
			s, err := n.server.NewSession(ctx, p)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		Authenticate: n.server.Authenticate,
		FirstPID:     monitor.FirstPID(n.dir.NodeID), CancelElsewhere: n.activity.Forward, Log: n.cfg.Logger,
	})
	n.notices.Serve(n.server.Notifications)
	n.locks.Serve(n.server.Locks)
	n.advisory.Serve(n.server.Sessions.LostAdvisory)
	n.background.Go(func() { n.advisory.Run(watching) })
	n.background.Go(func() { n.server.Prepared.Follow(watching) })
	n.activity.Serve(sharedSessions(n.server, n.wire))
	return nil
}

// othersOf is what the server for clients uses of the other nodes.
func othersOf(n *Node) *session.Others {
	return &session.Others{
		Self: n.dir.NodeID, Snapshot: n.activity.Snapshot, Reports: n.activity.Reports, Signal: n.activity.Send,
		Health: n.health, Say: n.notices.Say, Heard: n.notices.Ready,
		Locks: &tx.LocksElsewhere{
			Alone: n.locks.Alone, Take: n.locks.TakeAll, Barrier: n.locks.BarrierAll,
			Confirm: n.locks.ConfirmAll, RollbackTo: n.locks.RollbackTo, Release: n.locks.ReleaseAll,
		},
		Advisory: &locks.Advisories{
			Acquire: n.advisory.Acquire, Release: n.advisory.ReleaseAll,
			Confirm: n.advisory.Confirm, Locks: n.advisory.Locks,
		},
	}
}

// sharedSessions is what other nodes see of this node's sessions, and do to them.
func sharedSessions(s *sql.Server, wire *pgwire.Server) activity.Sessions {
	return activity.Sessions{
		Report: s.Monitor.Report, Signal: s.Signal, Snapshot: s.ExportedSnapshot, Cancel: wire.Cancel,
	}
}

// clusterVersion returns the cluster's version (V4) in this node's view, 0 if the view has no
// definitions.
func (n *Node) clusterVersion() uint32 {
	if k := n.catalog.View().Cluster(); k != nil {
		return k.Format
	}
	return 0
}

// bootstrap creates the definitions of a new cluster, and reports whether it did.
func (n *Node) bootstrap(ctx context.Context, info *pb.NodeInfo) (created bool, err error) {
	first := catalog.Node{ID: n.dir.NodeID, Name: n.cfg.Name, Block: "A"}
	if first.Name == "" {
		first.Name = "n1"
	}
	member.Describe(&first, info)
	if n.catalog.View().Cluster() == nil {
		if err := n.checkNewAccess(); err != nil { // an earlier start did not come this far
			return false, err
		}
	}
	verifier := ""
	if n.cfg.Password != "" {
		if verifier, err = scramsecret.Make(n.cfg.Password); err != nil {
			return false, err
		}
	}
	return n.catalog.Bootstrap(ctx, catalog.BootstrapOptions{
		ClusterID: n.dir.ClusterID, Fragments: n.cfg.Fragments,
		Replication: n.cfg.Replication, PasswordHash: verifier, Node: first, Format: n.cfg.Knobs.Version.To,
	})
}

// URL returns the connection string for psql and drivers.
func (n *Node) URL() string {
	addr := n.listener.Addr().String()
	if host, port, err := net.SplitHostPort(addr); err == nil && net.ParseIP(host).IsUnspecified() {
		addr = net.JoinHostPort("127.0.0.1", port)
	}
	return "postgres://postgres@" + addr + "/postgres"
}

// Close closes the node's parts in reverse order. Clients may finish their transactions until ctx
// ends. Then clients of other nodes whose transactions use fragments led here get as much time.
func (n *Node) Close(ctx context.Context) error {
	var errs []error
	timeout := drainTime(ctx)
	if n.wire != nil {
		// It is not an error if the time has passed: the remaining statements are cancelled, and
		// their clients get an error.
		if err := n.wire.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			errs = append(errs, err)
		}
	}
	if n.listener != nil {
		if err := n.listener.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	errs = append(errs, n.http.close(ctx))
	if n.notices != nil {
		n.notices.End(ctx)
	}
	if n.server != nil {
		if err := n.server.Close(ctx); err != nil {
			n.cfg.Logger.Info("values of sequences that were taken in advance are skipped", "error", err)
		}
	}
	n.handOver(timeout)
	if n.tasks != nil {
		n.tasks.Gateway().Close()
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.stop != nil {
		n.stop()
		n.background.Wait()
	}
	if n.catalog != nil {
		errs = append(errs, n.catalog.Close())
	}
	errs = append(errs, n.port.close())
	if n.dir != nil {
		errs = append(errs, n.dir.Close())
	}
	return errors.Join(errs...)
}
