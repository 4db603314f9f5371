package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/cluster/transport"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/raftlog"
	"github.com/sherddb/sherd/rebalance"
	"github.com/sherddb/sherd/rebalance/rows"
	"github.com/sherddb/sherd/shardmap/balance"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/install"
	"github.com/sherddb/sherd/txn"
)

// Config says how a Host is opened. All but Storage are required.
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
	// what all replicas share: limits, cache sizes; Dir, Fragment and the like are set by the Host
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

// Host holds the replicas of this node.
type Host struct {
	cfg        Config
	client     *kv.Client
	rebalancer *rebalance.Rebalancer
	deadlocks  *txn.Detector
	links      *links // nil: there are no other nodes
	log        *raftlog.Device
	fragments  *fragment.Server // answers requests about the replicas

	mu       sync.RWMutex
	replicas map[txn.FragmentID]*storage.Replica // guarded by mu

	jobs jobs
	stop context.CancelFunc
	done sync.WaitGroup
}

// Open makes a Host and starts it.
func Open(ctx context.Context, cfg Config) (*Host, error) {
	h := New(cfg)
	if err := h.Start(ctx); err != nil {
		return nil, err
	}
	return h, nil
}

// New creates a Host. Until it is started it has no replicas; its services can be registered
// before.
func New(cfg Config) *Host {
	if cfg.Storage.Pace == nil {
		cfg.Storage.Pace = install.NewPace()
	}
	h := &Host{cfg: cfg, deadlocks: txn.NewDetector(), replicas: map[txn.FragmentID]*storage.Replica{}}
	h.fragments = fragment.New(fragment.Config{Replica: h.replica,
		Replicas: h.all, Clock: cfg.Clock, Logger: cfg.Logger})
	client := kv.Config{
		Node: cfg.Node, Catalog: cfg.Catalog, Clock: cfg.Clock,
		Logger: cfg.Logger, Here: h.fragments, Replica: h.replica,
	}
	if cfg.Port != nil {
		h.links = newLinks(h, cfg.Port)
		client.Peers, client.Other =
			h.links.liveness, func(node uint32) (kv.Sender, error) { return h.links.nodes.Node(node) }
	}
	h.client = kv.New(client)
	h.rebalancer = rebalance.New(rebalance.Config{
		Catalog: cfg.Catalog, Client: h.client, Fragments: h.fragments, Replicas: h.all, Replica: h.replica,
		Heat: cfg.Heat, KeyText: cfg.KeyText, Schema: cfg.Schema, Logger: cfg.Logger, Every: cfg.RebalanceLook,
		At: cfg.AtMove,
	})
	h.jobs = jobs{host: h, running: map[uint64]bool{}}
	return h
}

// Start opens the replicas that the catalog places on this node, in parallel, and follows the
// catalog from then on. After an error the Host is closed.
func (h *Host) Start(ctx context.Context) error {
	cfg := &h.cfg
	log, err := raftlog.Open(raftlog.Options{Dir: cfg.LogDir, Logger: cfg.Logger, Failed: cfg.LogFailed})
	if err != nil {
		h.links.close()
		return err
	}
	h.log = log
	h.links.start(h)
	err = h.forgetDropped()
	if err == nil {
		err = h.abandonBuilds(ctx)
	}
	if err == nil {
		err = h.follow(ctx, cfg.Catalog.View())
	}
	if err != nil {
		h.links.close()
		return errors.Join(err, h.closeReplicas(), log.Close())
	}
	watch, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.done.Add(2)
	go h.watch(watch)
	go func() {
		defer h.done.Done()
		h.client.RecoverSchemaChanges(watch)
	}()
	h.done.Go(func() { h.rebalancer.RunRebalance(watch) })
	h.done.Go(func() { h.client.SpreadPins(watch) })
	if h.several() {
		h.done.Add(1)
		go func() {
			defer h.done.Done()
			h.placeReplicas(watch)
		}()
		h.done.Add(1)
		go func() {
			defer h.done.Done()
			h.watchClock(watch)
		}()
	}
	return nil
}

// watch opens and drops replicas, and runs jobs, as the catalog changes.
func (h *Host) watch(ctx context.Context) {
	defer h.done.Done()
	for ctx.Err() == nil {
		view := h.cfg.Catalog.View()
		if err := h.follow(ctx, view); err != nil && ctx.Err() == nil {
			h.cfg.Logger.Error("fragments do not follow the catalog", "error", err)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			continue
		}
		h.jobs.start(ctx, view)
		select {
		case <-view.Superseded():
		case <-ctx.Done():
		}
	}
}

// follow opens missing replicas and drops those that are not wanted any more.
func (h *Host) follow(ctx context.Context, view *catalog.View) error {
	wanted := map[txn.FragmentID]bool{}
	var missing []txn.FragmentID
	for d := range view.Databases() {
		for _, f := range d.Fragments {
			if !h.places(&f) {
				continue
			}
			wanted[f.ID] = true
			if h.replica(f.ID) == nil {
				missing = append(missing, f.ID)
			}
		}
	}
	if err := h.openAll(ctx, view, missing); err != nil {
		return err
	}
	h.look()
	return h.dropUnwanted(wanted)
}

func (h *Host) openAll(ctx context.Context, view *catalog.View, ids []txn.FragmentID) error {
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = h.open(ctx, view, id)
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (h *Host) folder(id txn.FragmentID) string {
	return filepath.Join(h.cfg.Dir, strconv.FormatUint(uint64(id), 10))
}

// catalogTimeout is how long a step of a move waits for the catalog's leader to report new
// definitions.
const catalogTimeout = 2 * time.Second

// version returns the version of the cluster (V4).
func (h *Host) version() uint32 {
	if k := h.cfg.Catalog.View().Cluster(); k != nil {
		return k.Format
	}
	return clusterversion.First
}

// versionsKept is sherd.gc_ttl; 0 if the cluster does not set it.
func versionsKept(view *catalog.View) time.Duration {
	if k := view.Cluster(); k != nil {
		if n, err := strconv.Atoi(k.Settings["sherd.gc_ttl"]); err == nil && n > 0 {
			return time.Duration(n) * time.Second
		}
	}
	return 0
}

func (h *Host) open(ctx context.Context, view *catalog.View, id txn.FragmentID) error {
	c := h.cfg.Storage
	c.Dir, c.Fragment, c.Clock, c.Logger, c.Deadlock = h.folder(id), id, h.cfg.Clock, h.cfg.Logger, h.deadlocks
	c.Group.Device = h.log
	if _, f := view.Fragment(uint32(id)); f != nil {
		c.Added = f.Added
	}
	c.Global = func(table, index uint32) bool { return h.cfg.Catalog.View().GlobalIndex(table, index) }
	c.CatchUp = func(ctx context.Context) error { return h.cfg.Catalog.CatchUp(ctx, catalogTimeout) }
	c.Version = h.version
	if c.Timing.VersionsKept == nil { // a test may set its own
		c.Timing.VersionsKept = func() time.Duration { return versionsKept(h.cfg.Catalog.View()) }
	}
	c.Name = func() string { return h.replicaName(id) }
	h.group(&c, view, id)
	c.Others = storage.Others{
		Outcome: h.client.AskOutcome, Prepared: h.client.AskPrepared, Resolve: h.client.SendResolve,
		Stands: h.client.AskPreparation,
	}
	r, err := storage.Open(c)
	if err != nil {
		return err
	}
	if err := h.waitServing(ctx, r); err != nil {
		return errors.Join(fmt.Errorf("fragment %d: %w", id, err), r.Close())
	}
	h.mu.Lock()
	h.replicas[id] = r
	h.mu.Unlock()
	h.reconcile(id, r)
	return nil
}

// replicaName names the replica of a fragment on this node, for logs and errors.
func (h *Host) replicaName(id txn.FragmentID) string {
	view := h.cfg.Catalog.View()
	d, f := view.Fragment(uint32(id))
	if f == nil {
		return fmt.Sprintf("fragment %d on node %s", id, nodeName(view, h.cfg.Node))
	}
	return fmt.Sprintf("fragment %s on node %s", d.FragmentName(f), nodeName(view, h.cfg.Node))
}

func nodeName(view *catalog.View, id uint32) string {
	if n := view.Node(id); n != nil {
		return n.Name
	}
	return fmt.Sprint(id)
}

// dropUnwanted closes and removes the replicas of fragments that no database has any more.
func (h *Host) dropUnwanted(wanted map[txn.FragmentID]bool) error {
	h.mu.Lock()
	gone := map[txn.FragmentID]*storage.Replica{}
	for id, r := range h.replicas {
		if !wanted[id] {
			gone[id] = r
			delete(h.replicas, id)
		}
	}
	h.mu.Unlock()
	var errs []error
	for id, r := range gone {
		h.fragments.Dropped(id)
		h.client.Followers().Drop(id)
		errs = append(errs, r.Close(), h.removeFolder(id), h.log.Forget(uint64(id)))
	}
	return errors.Join(errs...)
}

// removeFolder returns when the removal of the folder is durable: a folder that came back after a
// power loss would lack its log.
func (h *Host) removeFolder(id txn.FragmentID) error {
	return errors.Join(os.RemoveAll(h.folder(id)), dirsync.Sync(h.cfg.Dir))
}

// forgetDropped finishes what a crash left undone in dropUnwanted: a log whose replica's folder is
// gone. The folder exists before the log begins.
func (h *Host) forgetDropped() error {
	var errs []error
	for _, id := range h.log.Groups() {
		if _, err := os.Stat(h.folder(txn.FragmentID(id))); errors.Is(err, os.ErrNotExist) {
			errs = append(errs, h.log.Forget(id))
		}
	}
	return errors.Join(errs...)
}

func (h *Host) replica(id txn.FragmentID) *storage.Replica {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.replicas[id]
}

// ConfirmTerm proves that this node leads a fragment in a term, at some moment after the call
// began.
func (h *Host) ConfirmTerm(ctx context.Context, f txn.FragmentID, term uint64) error {
	r, err := h.Replica(f)
	if err != nil {
		return err
	}
	if _, err := r.Snapshot(ctx); err != nil {
		return err
	}
	if r.Group.Term() != term {
		return h.client.Leaderless(f, nil)
	}
	return nil
}

// Replica returns the replica of a fragment on this node; 57P03 if it is not here, or not yet.
func (h *Host) Replica(id txn.FragmentID) (*storage.Replica, error) {
	if r := h.replica(id); r != nil {
		return r, nil
	}
	return nil, fragment.NotAvailable(id)
}

// WaitFragments waits until all fragments of a database serve.
func (h *Host) WaitFragments(ctx context.Context, d *catalog.Database) error {
	for _, f := range d.Fragments {
		for h.places(&f) && h.replica(f.ID) == nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
	}
	h.waitJoined(ctx, d.OID)
	if h.links == nil {
		return nil
	}
	for _, f := range d.Fragments {
		if _, err := h.client.Find(ctx, f.ID); err != nil {
			return err
		}
	}
	return nil
}

// Fragments answers requests about the replicas of this node.
func (h *Host) Fragments() *fragment.Server { return h.fragments }

// Client finds the leaders of fragments and sends them requests.
func (h *Host) Client() *kv.Client { return h.client }

// Rebalancer moves buckets.
func (h *Host) Rebalancer() *rebalance.Rebalancer { return h.rebalancer }

// Deadlocks returns the detector that all fragments here share, for locks of other kinds.
func (h *Host) Deadlocks() *txn.Detector { return h.deadlocks }

// Close closes all replicas.
func (h *Host) Close() error {
	if h.stop == nil { // it was not started
		h.links.close()
		return nil
	}
	h.stop()
	h.done.Wait()
	h.jobs.done.Wait()
	if h.several() {
		if err := h.HandOver(context.Background(), 0); err != nil { // the other nodes elect a leader by themselves
			h.cfg.Logger.Debug("leadership could not be handed over", "error", err)
		}
	}
	h.links.close()
	return errors.Join(h.closeReplicas(), h.log.Close())
}

func (h *Host) closeReplicas() error {
	h.mu.Lock()
	closing := h.replicas
	h.replicas = map[txn.FragmentID]*storage.Replica{}
	h.mu.Unlock() // a replica that is closing may wait for something that looks up other replicas
	errs := make([]error, 0, len(closing))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, r := range closing {
		wg.Go(func() {
			err := r.Close()
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
