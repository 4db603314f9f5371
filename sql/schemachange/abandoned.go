package schemachange

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sherddb/sherd/catalog"
)

const (
	// keepFailed is how long a failed job is shown.
	keepFailed = 24 * time.Hour
	// abandonedEvery is how often Run looks for builds of nodes that have left the cluster.
	abandonedEvery = time.Second
)

// AbandonedBuilds removes the indexes that were being built by processes that are gone. The client
// that created one got no answer; it finds the reason in sherd.jobs and in the log. Jobs that have
// been shown for long enough are removed too.
type AbandonedBuilds struct {
	Catalog *catalog.Catalog
	Logger  *slog.Logger
}

// RemoveOwn removes the builds of earlier processes of this node. It runs before this node writes;
// other writers learn from the catalog that the indexes are not maintained any more.
func (b AbandonedBuilds) RemoveOwn(ctx context.Context) error {
	return b.remove(ctx, func(j *catalog.Job) bool { return j.Node == 0 || j.Node == b.Catalog.Self() })
}

// Run removes the builds of nodes that have left the cluster, while this node leads the catalog,
// until ctx ends.
func (b AbandonedBuilds) Run(ctx context.Context) {
	t := time.NewTicker(abandonedEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		if !b.Catalog.Leads() {
			continue
		}
		view := b.Catalog.View()
		gone := func(j *catalog.Job) bool { return j.Node != 0 && view.Node(j.Node) == nil }
		if err := b.remove(ctx, gone); err != nil && ctx.Err() == nil {
			b.Logger.Warn("indexes that removed nodes were building cannot be removed; trying again", "error", err)
		}
	}
}

// remove removes the builds of the processes that dead selects.
func (b AbandonedBuilds) remove(ctx context.Context, dead func(*catalog.Job) bool) error {
	for j := range b.Catalog.View().Jobs() {
		var err error
		switch _, _, index, building := j.BuiltIndex(); {
		case building && dead(j):
			err = b.abandon(ctx, j, index)
		case (j.State == catalog.JobFailed || j.State == catalog.JobDone || j.State == catalog.JobCancelled) &&
			(j.State == catalog.JobFailed || j.AboutIDs()) && time.Since(time.UnixMicro(j.UpdatedMicros)) > keepFailed:
			_, err = b.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
				if v.Job(j.ID) != nil {
					ch.DropJob(j.ID)
				}
				return nil
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b AbandonedBuilds) abandon(ctx context.Context, j *catalog.Job, index catalog.OID) error {
	why := ""
	if t, x := b.Catalog.View().Index(index); x != nil && x.State == catalog.IndexBuilding {
		why = fmt.Sprintf("index %q was not built: the node stopped after %d rows", x.Name, j.Done)
		b.Logger.Warn("an index was being built when the node stopped; it is removed and has to be created again",
			"index", x.Name, "table", t.Name, "rows", j.Done)
	}
	_, err := b.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
		if v.Job(j.ID) == nil {
			return nil
		}
		if err := ch.Unbuild(j); err != nil {
			return err
		}
		return ch.Discard(j, time.Now().UnixMicro(), why)
	})
	return err
}
