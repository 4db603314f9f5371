package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/storage"
)

// jobs runs the catalog's jobs that concern fragments: for now, deleting what dropped and truncated tables left. A job stays in the catalog
// until it is done, so a restart takes it up again; deleting twice does no harm.
type jobs struct {
	host *Host

	mu      sync.Mutex
	running map[uint64]bool // by job; guarded by mu
	done    sync.WaitGroup
}

// jobRetry is the pause after a job has failed.
const jobRetry = time.Second

// start runs the jobs of the view that do not run yet.
func (r *jobs) start(ctx context.Context, view *catalog.View) {
	for j := range view.Jobs() {
		storageID, ok := j.DroppedStorage()
		if !ok || j.State != catalog.JobRunning || !r.claim(j.ID) {
			continue
		}
		r.done.Add(1)
		go func() {
			defer r.done.Done()
			defer r.release(j.ID)
			r.dropStorage(ctx, j, storageID)
		}()
	}
}

func (r *jobs) claim(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[id] {
		return false
	}
	r.running[id] = true
	return true
}

func (r *jobs) release(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, id)
}

// dropStorage deletes a table's span in all fragments of its database, and tries until it has.
func (r *jobs) dropStorage(ctx context.Context, j *catalog.Job, storageID uint32) {
	for ctx.Err() == nil {
		err := r.deleteTable(ctx, j, storageID)
		if err == nil || ctx.Err() != nil {
			return
		}
		r.host.cfg.Logger.Warn("cannot delete a dropped table's rows; trying again", "job", j.ID, "error", err)
		select {
		case <-time.After(jobRetry):
		case <-ctx.Done():
		}
	}
}

func (r *jobs) deleteTable(ctx context.Context, j *catalog.Job, storageID uint32) error {
	if d := r.host.cfg.Catalog.View().Database(j.Database); d != nil {
		for _, f := range d.Fragments {
			replica, err := r.host.Replica(f.ID)
			if err != nil {
				return err
			}
			// A transaction that wrote to the table and dropped it may have decided, and not yet told this fragment.
			if err := replica.WaitSettled(ctx, storage.TableSpan(storageID)); err != nil {
				return err
			}
			if err := replica.DeleteSpan(ctx, storage.TableSpan(storageID)); err != nil {
				return err
			}
		}
	}
	_, err := r.host.cfg.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		if v.Job(j.ID) != nil {
			ch.DropJob(j.ID)
		}
		return nil
	})
	return err
}
