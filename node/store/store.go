package store

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/liveness"
	pb "github.com/sherddb/sherd/cluster/nodepb"
	"github.com/sherddb/sherd/cluster/remote"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/fragment/placement"
	"github.com/sherddb/sherd/fragment/sweep"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/rebalance"
	"github.com/sherddb/sherd/rebalance/rows"
	"github.com/sherddb/sherd/shardmap/balance"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

// Config says how a Store is opened. The fields without a default are required.
type Config struct {
	Dir     string // has a folder for each fragment, named by its number
	LogDir  string // the Raft logs of all fragments
	Node    uint32
	Catalog *catalog.Catalog
	Clock   *txn.Clock
	Logger  *slog.Logger
	Port    *transport.Port // connects to the other nodes; nil: there are none
	// Transport returns the transport of a Raft group; nil: no fragment has replicas on other
	// nodes.
	Transport func(group uint64) raft.Transport
	// what all replicas share: limits, cache sizes; Dir, Fragment and the like are set by fragment.Replicas
	Storage storage.Config
	// Heat returns how often all fragments and their hottest buckets are used. Nodes that do not
	// answer are left out. Nil: it is unknown.
	Heat    func(ctx context.Context) []balance.Heat
	KeyText func(t *catalog.Table, key []byte) string // prints a key of a range table
	Schema  rows.Schema                               // what follows from rows
	// LogFailed is called when the device of the Raft logs accepts no more writes: no replica here
	// can continue. It must not block. Nil: the replicas fail one by one.
	LogFailed func(error)
	Heartbeat time.Duration // between liveness messages; 0 is a second
	// RebalanceLook is how often the balancer decides; 0 is a minute.
	RebalanceLook time.Duration
	// AtMove is called at the arrows of a move's steps (package move), for tests: an error ends the
	// driver there, as a crash would.
	AtMove func(arrow string) error
}

// Store is the part of a node that is below SQL.
type Store struct {
	Deadlocks  *txn.Detector // which all fragments here share, for locks of other kinds too
	Replicas   *fragment.Replicas
	Fragments  *fragment.Server   // answers requests about the replicas
	Liveness   *liveness.Detector // nil: there are no other nodes
	Nodes      *remote.Nodes      // senders to the other nodes; nil: there are none
	Client     *kv.Client         // finds the leaders of fragments and sends them requests
	Rebalancer *rebalance.Rebalancer
	Placer     *placement.Placer

	sweeper    *sweep.Sweeper
	logger     *slog.Logger
	several    bool               // fragments may have replicas on other nodes
	stop       context.CancelFunc // stops background work; nil before it runs
	background sync.WaitGroup
}

// Open makes a Store and starts it.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := New(cfg)
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// New makes a Store. Until it is started it has no replicas; its services can be registered before.
func New(cfg Config) *Store {
	s := &Store{Deadlocks: txn.NewDetector(), logger: cfg.Logger, several: cfg.Transport != nil}
	s.Replicas = fragment.NewReplicas(fragment.ReplicasConfig{
		Dir: cfg.Dir, LogDir: cfg.LogDir, Node: cfg.Node, Catalog: cfg.Catalog, Clock: cfg.Clock,
		Logger: cfg.Logger, Deadlocks: s.Deadlocks, Transport: cfg.Transport, Storage: cfg.Storage,
		LogFailed: cfg.LogFailed, MayLead: s.mayLead,
	})
	s.Fragments = fragment.New(fragment.Config{Replicas: s.Replicas, Clock: cfg.Clock, Logger: cfg.Logger})
	client := kv.Config{
		Node: cfg.Node, Catalog: cfg.Catalog, Clock: cfg.Clock,
		Logger: cfg.Logger, Here: s.Fragments, Replica: s.Replicas.Get,
	}
	if cfg.Port != nil {
		s.connect(&cfg)
		client.Peers, client.Other = s.Liveness, func(node uint32) (kv.Sender, error) { return s.Nodes.Node(node) }
	}
	s.Client = kv.New(client)
	s.Rebalancer = rebalance.New(rebalance.Config{
		Catalog: cfg.Catalog, Client: s.Client, Fragments: s.Fragments,
		Heat: cfg.Heat, KeyText: cfg.KeyText, Schema: cfg.Schema, Logger: cfg.Logger, Every: cfg.RebalanceLook,
		At: cfg.AtMove,
	})
	s.Placer = &placement.Placer{Node: cfg.Node, Catalog: cfg.Catalog, Liveness: s.Liveness, Logger: cfg.Logger}
	s.sweeper = &sweep.Sweeper{Catalog: cfg.Catalog, Replicas: s.Replicas, Logger: cfg.Logger}
	return s
}

// connect makes the parts that reach the other nodes.
func (s *Store) connect(cfg *Config) {
	s.Liveness = liveness.New(liveness.Config{
		Self: cfg.Node, Clock: cfg.Clock, Port: cfg.Port, Logger: cfg.Logger, Heartbeat: cfg.Heartbeat,
		Nodes: func() (out []uint32) {
			for n := range cfg.Catalog.View().Nodes() {
				out = append(out, n.ID)
			}
			return out
		},
		Leads: s.Replicas.Terms,
		Over:  func(id txn.ID) bool { return !s.Client.AtWork(id) },
		Ended: s.Fragments.DropTransactions,
	})
	s.Liveness.OnLost(s.Fragments.DropGateway)
	s.Nodes = remote.New(remote.Config{
		Incarnation: s.Liveness.Incarnation(), Catalog: cfg.Catalog, Clock: cfg.Clock,
		Port: cfg.Port, Logger: cfg.Logger, Over: s.Liveness.ReportEnd,
	})
}

// mayLead reports whether a node may be asked to lead.
func (s *Store) mayLead(node uint32) bool { return s.Liveness == nil || s.Liveness.MayLead(node) }

// Register registers the services for the other nodes, before the port is open.
func (s *Store) Register(r grpc.ServiceRegistrar) {
	if s.Liveness != nil {
		pb.RegisterPresenceServer(r, s.Liveness)
		pb.RegisterFragmentsServer(r, fragment.Service{Server: s.Fragments})
	}
}

// Start opens the replicas that the catalog places on this node, and follows the catalog from then
// on. After an error the Store is closed.
func (s *Store) Start(ctx context.Context) error {
	if s.Liveness != nil {
		s.Liveness.Start()
	}
	if err := s.Replicas.Start(ctx, s.Client); err != nil {
		s.disconnect()
		return err
	}
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.background.Go(func() { s.Replicas.Run(background) })
	s.background.Go(func() { s.sweeper.Run(background) })
	s.background.Go(func() { s.Client.RecoverSchemaChanges(background) })
	s.background.Go(func() { s.Client.SpreadPins(background) })
	s.background.Go(func() { s.Rebalancer.RunRebalance(background) })
	if s.several {
		s.background.Go(func() { s.Placer.Run(background) })
	}
	if s.Liveness != nil {
		s.background.Go(func() { s.Liveness.WatchClock(background, s.handOver) })
	}
	return nil
}

// handOver transfers leadership to other nodes, without waiting for transactions.
func (s *Store) handOver(ctx context.Context) error { return s.Replicas.HandOver(ctx, 0) }

// Close stops what runs in the background and closes all replicas.
func (s *Store) Close() error {
	if s.stop == nil { // it was not started
		s.disconnect()
		return nil
	}
	s.stop()
	s.background.Wait()
	if s.several {
		if err := s.handOver(context.Background()); err != nil { // the other nodes elect a leader by themselves
			s.logger.Debug("leadership could not be handed over", "error", err)
		}
	}
	s.disconnect()
	return s.Replicas.Close()
}

func (s *Store) disconnect() {
	if s.Liveness != nil {
		s.Liveness.Close()
	}
}
