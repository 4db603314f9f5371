package sql

import (
	"context"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// tellEvery is how often a statement that waits for a move tells how far it is.
const tellEvery = time.Second

// waitMove waits until a move has ended, and tells the client meanwhile how far it is. A statement that is cancelled leaves the move as it is.
func (i info) waitMove(id uint64) error {
	err := i.waitJob(id, func(j *catalog.Job) string {
		m, err := j.Move()
		d := i.db.cfg.Catalog.View().Database(j.Database)
		if err != nil || d == nil {
			return ""
		}
		left := 0
		for _, r := range d.Remaining(m) {
			left += r.Len()
		}
		text := fmt.Sprintf("move %d: %d of %d buckets left, %d bytes moved", id, left, m.Count(), m.Bytes)
		switch {
		case j.State == catalog.JobPaused:
			text += ", paused"
		case m.Waits != "":
			text += ", waits for " + m.Waits
		}
		return text
	})
	if err != nil {
		return err
	}
	for r := range i.db.cfg.Catalog.View().Records() {
		if r.Move != nil && r.Move.Job == id && r.Move.Outcome != string(catalog.JobDone) {
			e := pgerr.New(pgerr.QueryCanceled, "move %d was %s", id, r.Move.Outcome).WithHint("What has arrived stays in its new fragment; sherd.bucket_map shows it.")
			if r.Move.Resegment != nil {
				e = pgerr.New(pgerr.QueryCanceled, "move %d (%s) was %s", id, r.Subject, r.Move.Outcome).WithHint("It has changed no segment; sherd.segments lists them.")
			}
			if r.Move.Error != "" {
				e = e.WithDetail("%s", r.Move.Error)
			}
			return e
		}
	}
	return nil
}

// waitJob waits until a job is gone.
func (i info) waitJob(id uint64, progress func(*catalog.Job) string) error {
	t := time.NewTicker(tellEvery)
	defer t.Stop()
	told := ""
	for {
		view := i.db.cfg.Catalog.View()
		j := view.Job(id)
		if j == nil {
			return nil
		}
		select {
		case <-view.Superseded():
		case <-t.C:
			if text := progress(j); text != "" && text != told {
				told = text
				if err := i.sayNow(&pgerr.Error{Severity: "NOTICE", Code: pgerr.SuccessfulCompletion, Message: text}); err != nil {
					return err
				}
			}
		case <-i.ctx.Done():
			return context.Cause(i.ctx)
		}
	}
}
