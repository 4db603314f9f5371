package fragment

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/kv"
	"github.com/sherddb/sherd/raftlog"
	"github.com/sherddb/sherd/rebalance/heat"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/storage/install"
	"github.com/sherddb/sherd/txn"
)

// ReplicasConfig says how the replicas of a node are opened. All but Transport, Storage, LogFailed
// and MayLead are required.
type ReplicasConfig struct {
	Dir       string // has a folder for each fragment, named by its number
	LogDir    string // the Raft logs of all fragments
	Node      uint32
	Catalog   *catalog.Catalog
	Clock     *txn.Clock
	Logger    *slog.Logger
	Deadlocks *txn.Detector // which all replicas share
	// Transport returns the transport of a Raft group; nil: no fragment has replicas on other
	// nodes.
	Transport func(group uint64) raft.Transport
	// what all replicas share: limits, cache sizes; Dir, Fragment and the like are set here
	Storage storage.Config
	// LogFailed is called when the device of the Raft logs accepts no more writes: no replica here
	// can continue. It must not block. Nil: the replicas fail one by one.
	LogFailed func(error)
	// MayLead reports whether a node may be asked to lead. Nil: all may.
	MayLead func(node uint32) bool
}

// Replicas are the replicas of fragments on this node. All methods may be called concurrently,
// except Start and Close.
type Replicas struct {
	cfg    ReplicasConfig
	client *kv.Client      // set by Start
	log    *raftlog.Device // opened by Start
	meters sync.Map        // access meters: *heat.Meter by fragment that is or was led here

	mu sync.RWMutex
	by map[txn.FragmentID]*storage.Replica // guarded by mu
}

// NewReplicas returns the replicas of a node. There are none until Start.
func NewReplicas(cfg ReplicasConfig) *Replicas {
	if cfg.Storage.Pace == nil {
		cfg.Storage.Pace = install.NewPace()
	}
	return &Replicas{cfg: cfg, by: map[txn.FragmentID]*storage.Replica{}}
}

// Start opens the replicas that the catalog places on this node, in parallel. After an error none
// is open.
func (r *Replicas) Start(ctx context.Context, client *kv.Client) error {
	cfg := &r.cfg
	log, err := raftlog.Open(raftlog.Options{Dir: cfg.LogDir, Logger: cfg.Logger, Failed: cfg.LogFailed})
	if err != nil {
		return err
	}
	r.client, r.log = client, log
	if err = r.forgetDropped(); err == nil {
		err = r.follow(ctx, cfg.Catalog.View())
	}
	if err != nil {
		return errors.Join(err, r.Close())
	}
	return nil
}

// Close closes all replicas. Run has returned.
func (r *Replicas) Close() error {
	r.mu.Lock()
	closing := r.by
	r.by = map[txn.FragmentID]*storage.Replica{}
	r.mu.Unlock() // a replica that is closing may wait for something that looks up other replicas
	errs := make([]error, 0, len(closing)+1)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, x := range closing {
		wg.Go(func() {
			err := x.Close()
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return errors.Join(append(errs, r.log.Close())...)
}

// Get returns the replica of a fragment; nil if it is not here, or not yet.
func (r *Replicas) Get(id txn.FragmentID) *storage.Replica {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.by[id]
}

// Replica returns the replica of a fragment; 57P03 if it is not here, or not yet.
func (r *Replicas) Replica(id txn.FragmentID) (*storage.Replica, error) {
	if x := r.Get(id); x != nil {
		return x, nil
	}
	return nil, NotAvailable(id)
}

// Led returns the replica of a fragment that this node leads; nil if it leads none of that number.
func (r *Replicas) Led(id txn.FragmentID) *storage.Replica {
	if x := r.Get(id); x != nil && x.Group.Term() != 0 {
		return x
	}
	return nil
}

// All returns the replicas, by fragment.
func (r *Replicas) All() []*storage.Replica {
	r.mu.RLock()
	defer r.mu.RUnlock()
	byID := func(a, b *storage.Replica) int { return int(a.ID()) - int(b.ID()) }
	return slices.SortedFunc(maps.Values(r.by), byID)
}

// Terms returns the fragments that this node leads, with their terms.
func (r *Replicas) Terms() map[txn.FragmentID]uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make(map[txn.FragmentID]uint64, len(r.by))
	for id, x := range r.by {
		if term := x.Group.Term(); term != 0 {
			out[id] = term
		}
	}
	return out
}

// Meter returns the access meter of a fragment that this node leads.
func (r *Replicas) Meter(id txn.FragmentID) *heat.Meter {
	if m, ok := r.meters.Load(id); ok {
		return m.(*heat.Meter)
	}
	m, _ := r.meters.LoadOrStore(id, heat.NewMeter(time.Now))
	return m.(*heat.Meter)
}

// ConfirmTerm proves that this node leads a fragment in a term, at some moment after the call
// began.
func (r *Replicas) ConfirmTerm(ctx context.Context, f txn.FragmentID, term uint64) error {
	x, err := r.Replica(f)
	if err != nil {
		return err
	}
	if _, err := x.Snapshot(ctx); err != nil {
		return err
	}
	if x.Group.Term() != term {
		return r.client.Leaderless(f, nil)
	}
	return nil
}
