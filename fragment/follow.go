package fragment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/dirsync"
	"github.com/sherddb/sherd/storage"
	"github.com/sherddb/sherd/txn"
)

const (
	// catalogTimeout is how long a step of a move waits for the catalog's leader to report new
	// definitions.
	catalogTimeout = 2 * time.Second
	// followRetry is the pause after the replicas could not follow the catalog.
	followRetry = time.Second
)

// Run opens and drops replicas as the catalog changes, until ctx ends.
func (r *Replicas) Run(ctx context.Context) {
	for ctx.Err() == nil {
		view := r.cfg.Catalog.View()
		if err := r.follow(ctx, view); err != nil && ctx.Err() == nil {
			r.cfg.Logger.Error("fragments do not follow the catalog", "error", err)
			select {
			case <-time.After(followRetry):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case <-view.Superseded():
		case <-ctx.Done():
		}
	}
}

// follow opens missing replicas and drops those that are not wanted any more.
func (r *Replicas) follow(ctx context.Context, view *catalog.View) error {
	wanted := map[txn.FragmentID]bool{}
	var missing []txn.FragmentID
	for d := range view.Databases() {
		for _, f := range d.Fragments {
			if !r.places(&f) {
				continue
			}
			wanted[f.ID] = true
			if r.Get(f.ID) == nil {
				missing = append(missing, f.ID)
			}
		}
	}
	if err := r.openAll(ctx, view, missing); err != nil {
		return err
	}
	r.look()
	return r.dropUnwanted(wanted)
}

func (r *Replicas) openAll(ctx context.Context, view *catalog.View, ids []txn.FragmentID) error {
	errs := make([]error, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = r.open(ctx, view, id)
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (r *Replicas) folder(id txn.FragmentID) string {
	return filepath.Join(r.cfg.Dir, strconv.FormatUint(uint64(id), 10))
}

// version returns the version of the cluster (V4).
func version(view *catalog.View) uint32 {
	if k := view.Cluster(); k != nil {
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

func (r *Replicas) open(ctx context.Context, view *catalog.View, id txn.FragmentID) error {
	c := r.cfg.Storage
	c.Dir, c.Fragment, c.Clock, c.Logger, c.Deadlock = r.folder(id), id, r.cfg.Clock, r.cfg.Logger, r.cfg.Deadlocks
	c.Group.Device = r.log
	if _, f := view.Fragment(uint32(id)); f != nil {
		c.Added = f.Added
	}
	c.Global = func(table, index uint32) bool { return r.cfg.Catalog.View().GlobalIndex(table, index) }
	c.CatchUp = func(ctx context.Context) error { return r.cfg.Catalog.CatchUp(ctx, catalogTimeout) }
	c.Version = func() uint32 { return version(r.cfg.Catalog.View()) }
	if c.Timing.VersionsKept == nil { // a test may set its own
		c.Timing.VersionsKept = func() time.Duration { return versionsKept(r.cfg.Catalog.View()) }
	}
	c.Name = func() string { return r.replicaName(id) }
	r.group(&c, view, id)
	c.Others = storage.Others{
		Outcome: r.client.AskOutcome, Prepared: r.client.AskPrepared, Resolve: r.client.SendResolve,
		Stands: r.client.AskPreparation,
	}
	x, err := storage.Open(c)
	if err != nil {
		return err
	}
	if err := r.waitServing(ctx, x); err != nil {
		return errors.Join(fmt.Errorf("fragment %d: %w", id, err), x.Close())
	}
	r.mu.Lock()
	r.by[id] = x
	r.mu.Unlock()
	r.reconcile(id, x)
	return nil
}

// replicaName names the replica of a fragment on this node, for logs and errors.
func (r *Replicas) replicaName(id txn.FragmentID) string {
	view := r.cfg.Catalog.View()
	d, f := view.Fragment(uint32(id))
	if f == nil {
		return fmt.Sprintf("fragment %d on node %s", id, nodeName(view, r.cfg.Node))
	}
	return fmt.Sprintf("fragment %s on node %s", d.FragmentName(f), nodeName(view, r.cfg.Node))
}

func nodeName(view *catalog.View, id uint32) string {
	if n := view.Node(id); n != nil {
		return n.Name
	}
	return fmt.Sprint(id)
}

// dropUnwanted closes and removes the replicas of fragments that no database has any more.
func (r *Replicas) dropUnwanted(wanted map[txn.FragmentID]bool) error {
	r.mu.Lock()
	gone := map[txn.FragmentID]*storage.Replica{}
	for id, x := range r.by {
		if !wanted[id] {
			gone[id] = x
			delete(r.by, id)
		}
	}
	r.mu.Unlock()
	var errs []error
	for id, x := range gone {
		r.meters.Delete(id)
		r.client.Followers().Drop(id)
		errs = append(errs, x.Close(), r.removeFolder(id), r.log.Forget(uint64(id)))
	}
	return errors.Join(errs...)
}

// removeFolder returns when the removal of the folder is durable: a folder that came back after a
// power loss would lack its log.
func (r *Replicas) removeFolder(id txn.FragmentID) error {
	return errors.Join(os.RemoveAll(r.folder(id)), dirsync.Sync(r.cfg.Dir))
}

// forgetDropped finishes what a crash left undone in dropUnwanted: a log whose replica's folder is
// gone. The folder exists before the log begins.
func (r *Replicas) forgetDropped() error {
	var errs []error
	for _, id := range r.log.Groups() {
		if _, err := os.Stat(r.folder(txn.FragmentID(id))); errors.Is(err, os.ErrNotExist) {
			errs = append(errs, r.log.Forget(id))
		}
	}
	return errors.Join(errs...)
}
