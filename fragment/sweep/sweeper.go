package sweep

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/fragment"
	"github.com/sherddb/sherd/txn"
)

// Sweeper deletes what dropped and truncated tables and dropped indexes left in the fragments that
// this node leads.
type Sweeper struct {
	Catalog  *catalog.Catalog
	Replicas *fragment.Replicas
	Logger   *slog.Logger

	mu      sync.Mutex
	running map[uint64]bool // by job; guarded by mu
}

// retry is the pause before a fragment that is not done is looked at again, and after an error.
const retry = time.Second

// Run runs the jobs of the catalog until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	var jobs sync.WaitGroup
	defer jobs.Wait()
	_ = s.Catalog.Watch(ctx, func(view *catalog.View) error { // ends with ctx
		for j := range view.Jobs() {
			if span, ok := Span(j); ok && j.State == catalog.JobRunning && s.claim(j.ID) {
				jobs.Go(func() {
					defer s.release(j.ID)
					s.sweep(ctx, j, span)
				})
			}
		}
		return nil
	})
}

// claim reports whether a job was not running yet.
func (s *Sweeper) claim(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[id] {
		return false
	}
	if s.running == nil {
		s.running = map[uint64]bool{}
	}
	s.running[id] = true
	return true
}

func (s *Sweeper) release(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, id)
}

// sweep deletes the span of a table or an index in all fragments of its database that are led here,
// and repeats this until all fragments are done, here and on other nodes.
func (s *Sweeper) sweep(ctx context.Context, j *catalog.Job, span txn.Span) {
	for ctx.Err() == nil {
		err := s.deleteSpan(ctx, j, span)
		if ctx.Err() != nil || err == nil && s.current(j) == nil {
			return
		}
		if err != nil { // if not, another node has some left, or a fragment that is not done is led elsewhere now
			s.Logger.Warn("cannot delete what a dropped table or index left; trying again", "job", j.ID, "error", err)
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
}

func (s *Sweeper) deleteSpan(ctx context.Context, j *catalog.Job, span txn.Span) error {
	now := s.current(j)
	if now == nil {
		return nil
	}
	swept := slices.Clone(now.Swept)
	if d := s.Catalog.View().Database(j.Database); d != nil {
		for _, f := range d.Fragments {
			r := s.Replicas.Led(f.ID)
			if r == nil || slices.Contains(swept, f.ID) {
				continue
			}
			// A transaction that wrote to the table and dropped it may have been decided without
			// this fragment having been notified yet.
			if err := r.WaitResolved(ctx, span); err != nil {
				return err
			}
			if err := r.DeleteSpan(ctx, span); err != nil {
				return err
			}
			swept = append(swept, f.ID)
		}
	}
	return s.record(ctx, now, swept)
}

// current returns a job as it is now; nil if it is not running any more.
func (s *Sweeper) current(j *catalog.Job) *catalog.Job {
	now := s.Catalog.View().Job(j.ID)
	if now == nil || now.Kind != j.Kind || now.State != catalog.JobRunning {
		return nil
	}
	return now
}

// record records which fragments are done, and ends the job when all are.
func (s *Sweeper) record(ctx context.Context, j *catalog.Job, fragments []uint32) error {
	if len(fragments) == len(j.Swept) && s.Catalog.View().Database(j.Database) != nil {
		return nil
	}
	_, err := s.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
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
