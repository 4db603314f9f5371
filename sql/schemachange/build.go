package schemachange

import (
	"context"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/txn"
	"github.com/sherddb/sherd/txn/locks"
)

// fillBatch is how many rows get their entries in one transaction: its locks block writers of these
// rows.
const fillBatch = 500

func (o *Online) buildIndex(ctx context.Context, x *catalog.Index) error {
	id, err := o.Catalog.NewJobID(ctx)
	if err != nil {
		return err
	}
	job := catalog.NewBuildIndexJob(id, o.next, x, time.Now().UnixMicro())
	job.Node = o.Catalog.Self()
	building := o.next.Clone()
	building.Index(x.OID).State = catalog.IndexBuilding
	err = o.put(ctx, building, func(_ *catalog.View, ch *catalog.Change) error { return ch.PutJob(job) })
	if err != nil && !pgerr.Is(err, pgerr.StatementCompletionUnknown) {
		return err
	}
	if err == nil {
		err = o.behindBarrier(ctx, func() error { return o.fill(ctx, x.OID, job) })
	}
	if err == nil {
		err = o.finish(ctx, func(_ *catalog.View, ch *catalog.Change) error {
			ch.DropJob(id)
			return nil
		})
	}
	if err != nil {
		o.abandon(job)
	}
	return err
}

// fill writes the index's entries for the existing rows.
func (o *Online) fill(ctx context.Context, index catalog.OID, job *catalog.Job) error {
	fill, err := newFill(o.Catalog.View(), o.was.OID, index)
	if err != nil {
		return err
	}
	job.Done = 0
	reported := time.Now()
	buckets := o.Outer.Gateway.Map
	for _, share := range buckets.Split(buckets.All()) {
		for at := (exec.FillPlace{}); !at.Done; {
			before := at.Rows
			if at, err = o.batch(ctx, fill, share, at); err != nil {
				return err
			}
			job.Done += at.Rows - before
			if time.Since(reported) > progressEvery {
				reported = time.Now()
				o.reportProgress(ctx, job)
			}
		}
	}
	return nil
}

// reportProgress records the job's progress. Nothing depends on it.
func (o *Online) reportProgress(ctx context.Context, job *catalog.Job) {
	job.Total, job.UpdatedMicros = o.rows(ctx), time.Now().UnixMicro()
	_, _ = o.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		if v.Job(job.ID) == nil {
			return nil
		}
		return ch.PutJob(job)
	})
}

// batch writes the entries of some rows in a transaction of its own, again after a conflict.
func (o *Online) batch(
	ctx context.Context, fill *exec.Fill, share shardmap.Share, at exec.FillPlace,
) (exec.FillPlace, error) {
	for n := 1; ; n++ {
		next, err := o.batchOnce(ctx, fill, share, at)
		conflict := pgerr.Is(err, pgerr.SerializationFailure) || pgerr.Is(err, pgerr.DeadlockDetected)
		if !conflict || n >= stmt.MaxCommits || !stmt.Sleep(ctx, stmt.Pause) {
			return next, err
		}
	}
}

func (o *Online) batchOnce(
	ctx context.Context, fill *exec.Fill, share shardmap.Share, at exec.FillPlace,
) (exec.FillPlace, error) {
	t, x := o.Env.BeginSystem(o.Outer.Began), o.Executor(ctx)
	next, err := fill.Some(x.Context(ctx, t, nil), share, at, fillBatch)
	if err != nil {
		t.Rollback()
		return at, err
	}
	_, err = t.Commit(ctx)
	t.Release()
	if err != nil {
		return at, err
	}
	return next, nil
}

// abandon removes an index that could not be finished: first from the definition, and when no
// transaction maintains it any more, what it has stored. The second part may take as long as the
// longest transaction, so it runs in the background; if it fails, the next start does it. If the
// outcome of the last change is unknown, the job says whether there is an index to remove: it
// exists from the index's first definition until the index is public.
func (o *Online) abandon(job *catalog.Job) {
	tag := locks.Table(o.Database, o.was.OID)
	ctx := context.Background()
	building := false
	_, err := o.Catalog.Current(ctx)
	if err == nil {
		_, err = o.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
			building = v.Job(job.ID) != nil
			return ch.Unbuild(job)
		})
	}
	if err == nil && !building {
		return
	}
	if err != nil {
		o.Logger.Warn("an index that could not be built is taken away at the next start", "job", job.ID, "error", err)
		return
	}
	go func() {
		owner := o.Locks.NewSession(0).Begin(txn.NewID())
		defer owner.Release()
		err := o.Barrier(ctx, owner, 0, tag)
		if err == nil {
			_, err = o.Catalog.Update(ctx, func(_ *catalog.View, ch *catalog.Change) error {
				return ch.Discard(job, time.Now().UnixMicro(), "")
			})
		}
		if err != nil {
			o.Logger.Warn("what an unfinished index has stored is deleted after the next start",
				"job", job.ID, "error", err)
		}
	}()
}
