package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/txn"
)

// jobs runs the catalog's jobs that concern fragments: for now, deleting what dropped and truncated
// tables and dropped indexes left. A job stays in the catalog until it is done, so it continues
// after a restart; deleting twice does no harm.
type jobs struct {
	host *Host

	mu      sync.Mutex
	running map[uint64]bool // by job; guarded by mu
	done    sync.WaitGroup
}

// jobRetry is the pause after a job has failed.
const jobRetry = time.Second

// start runs the jobs of the view that are not running yet.
func (r *jobs) start(ctx context.Context, view *catalog.View) {
	for j := range view.Jobs() {
		span, ok := fragment.DroppedSpan(j)
		if !ok || j.State != catalog.JobRunning || !r.claim(j.ID) {
			continue
		}
		r.done.Add(1)
		go func() {
			defer r.done.Done()
			defer r.release(j.ID)
			r.dropStorage(ctx, j, span)
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

// dropStorage deletes the span of a table or an index in all fragments of its database that are led
// here, and repeats this until all fragments are done, here and on other nodes.
func (r *jobs) dropStorage(ctx context.Context, j *catalog.Job, span txn.Span) {
	for ctx.Err() == nil {
		err := r.deleteSpan(ctx, j, span)
		if ctx.Err() != nil || err == nil && r.current(j) == nil {
			return
		}
		if err == nil { // another node has some left, or a fragment that is not done is led elsewhere now
			select {
			case <-time.After(jobRetry):
			case <-ctx.Done():
			}
			continue
		}
		r.host.cfg.Logger.Warn("cannot delete what a dropped table or index left; trying again",
			"job", j.ID, "error", err)
		select {
		case <-time.After(jobRetry):
		case <-ctx.Done():
		}
	}
}

func (r *jobs) deleteSpan(ctx context.Context, j *catalog.Job, span txn.Span) error {
	now := r.current(j)
	if now == nil {
		return nil
	}
	d := r.host.cfg.Catalog.View().Database(j.Database)
	swept := slices.Clone(now.Swept)
	if d != nil {
		for _, f := range d.Fragments {
			if slices.Contains(swept, f.ID) || r.host.several() && !r.host.leads(f.ID) {
				continue
			}
			replica, err := r.host.Replica(f.ID)
			if err != nil {
				return err
			}
			// A transaction that wrote to the table and dropped it may have been decided without
			// this fragment having been notified yet.
			if err := replica.WaitResolved(ctx, span); err != nil {
				return err
			}
			if err := replica.DeleteSpan(ctx, span); err != nil {
				return err
			}
			swept = append(swept, f.ID)
		}
	}
	return r.swept(ctx, now, swept)
}

// current returns a job as it is now; nil if it is not running any more.
func (r *jobs) current(j *catalog.Job) *catalog.Job {
	now := r.host.cfg.Catalog.View().Job(j.ID)
	if now == nil || now.Kind != j.Kind || now.State != catalog.JobRunning {
		return nil
	}
	return now
}

// swept records which fragments are done, and ends the job when all are.
func (r *jobs) swept(ctx context.Context, j *catalog.Job, fragments []uint32) error {
	if len(fragments) == len(j.Swept) && r.host.cfg.Catalog.View().Database(j.Database) != nil {
		return nil
	}
	_, err := r.host.cfg.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		now := v.Job(j.ID)
		if now == nil || now.Kind != j.Kind {
			return nil
		}
		now = now.Clone()
		for _, f := range fragments {
			if !slices.Contains(now.Swept, f) {
				now.Swept = append(now.Swept, f)
			}
		}
		now.UpdatedMicros = time.Now().UnixMicro()
		if d := v.Database(j.Database); d != nil {
			for _, f := range d.Fragments {
				if !slices.Contains(now.Swept, f.ID) {
					return ch.PutJob(now)
				}
			}
		}
		return ch.Swept(now, now.UpdatedMicros)
	})
	return err
}

// leads reports whether this node leads a fragment.
func (h *Host) leads(id txn.FragmentID) bool {
	r := h.replica(id)
	return r != nil && r.Group.Term() != 0
}
