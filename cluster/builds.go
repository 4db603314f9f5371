package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
)

// keepFailed is how long a failed job is shown.
const keepFailed = 24 * time.Hour

// abandonBuilds removes the indexes that a dead process was building. The client that created one
// got no answer; it finds the reason in sherd.jobs and in the log. This runs before this node
// writes; other writers learn from the catalog that the indexes are not maintained any more.
func (h *Host) abandonBuilds(ctx context.Context) error {
	return h.abandonBuildsOf(ctx, func(j *catalog.Job) bool { return j.Node == 0 || j.Node == h.cfg.Catalog.Self() })
}

// abandonBuildsOf is abandonBuilds for the processes that dead selects.
func (h *Host) abandonBuildsOf(ctx context.Context, dead func(*catalog.Job) bool) error {
	for j := range h.cfg.Catalog.View().Jobs() {
		var err error
		switch _, _, index, building := j.BuiltIndex(); {
		case building && dead(j):
			err = h.abandonBuild(ctx, j, index)
		case (j.State == catalog.JobFailed || j.State == catalog.JobDone || j.State == catalog.JobCancelled) &&
			(j.State == catalog.JobFailed || j.AboutIDs()) && time.Since(time.UnixMicro(j.UpdatedMicros)) > keepFailed:
			_, err = h.cfg.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
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

func (h *Host) abandonBuild(ctx context.Context, j *catalog.Job, index catalog.OID) error {
	why := ""
	if t, x := h.cfg.Catalog.View().Index(index); x != nil && x.State == catalog.IndexBuilding {
		why = fmt.Sprintf("index %q was not built: the node stopped after %d rows", x.Name, j.Done)
		h.cfg.Logger.Warn("an index was being built when the node stopped; it is removed and has to be created again",
			"index", x.Name, "table", t.Name, "rows", j.Done)
	}
	_, err := h.cfg.Catalog.Update(ctx, func(v *catalog.View, ch *catalog.Change) error {
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
