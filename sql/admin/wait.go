package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
)

// noticeEvery is how often a statement that waits for a move reports its progress.
const noticeEvery = time.Second

// waitMove waits until a move has ended, and reports its progress to the client meanwhile. If the
// statement is canceled, the move goes on.
func (e *Environment) waitMove(id uint64) error {
	if err := e.waitJob(id, e.moveProgress); err != nil {
		return err
	}
	for r := range e.Catalog.View().Records() {
		if r.Move != nil && r.Move.Job == id && r.Move.Outcome != string(catalog.JobDone) {
			return errNotDone(id, r)
		}
	}
	return nil
}

// waitMoves waits until n moves have ended, whose numbers begin at first.
func (e *Environment) waitMoves(first uint64, n int) error {
	for i := range n {
		if err := e.waitMove(first + uint64(i)); err != nil {
			return err
		}
	}
	return nil
}

// errNotDone is the error for a move that has ended in another way than planned.
func errNotDone(id uint64, r *catalog.Record) error {
	err := pgerr.New(pgerr.QueryCanceled, "move %d was %s", id, r.Move.Outcome).
		WithHint("What has arrived stays in its new fragment; sherd.bucket_map shows it.")
	if r.Move.Resegment != nil {
		err = pgerr.New(pgerr.QueryCanceled, "move %d (%s) was %s", id, r.Subject, r.Move.Outcome).
			WithHint("It has changed no segment; sherd.segments lists them.")
	}
	if r.Move.Error != "" {
		err = err.WithDetail("%s", r.Move.Error)
	}
	return err
}

func (e *Environment) moveProgress(j *catalog.Job) string {
	m, err := j.Move()
	d := e.Catalog.View().Database(j.Database)
	if err != nil || d == nil {
		return ""
	}
	left := 0
	for _, r := range d.Remaining(m) {
		left += r.Len()
	}
	text := fmt.Sprintf("move %d: %d of %d buckets left, %d bytes moved", j.ID, left, m.Count(), m.Bytes)
	switch {
	case j.State == catalog.JobPaused:
		text += ", paused"
	case m.Waits != "":
		text += ", waits for " + m.Waits
	}
	return text
}

// waitJob waits until a job does not exist any more.
func (e *Environment) waitJob(id uint64, progress func(*catalog.Job) string) error {
	t := time.NewTicker(noticeEvery)
	defer t.Stop()
	reported := ""
	for {
		view := e.Catalog.View()
		j := view.Job(id)
		if j == nil {
			return nil
		}
		select {
		case <-view.Superseded():
		case <-t.C:
			if text := progress(j); text != "" && text != reported {
				reported = text
				if err := e.NoticeNow(notice(text)); err != nil {
					return err
				}
			}
		case <-e.Context.Done():
			return context.Cause(e.Context)
		}
	}
}

func notice(text string) *pgerr.Error {
	return &pgerr.Error{Severity: "NOTICE", Code: pgerr.SuccessfulCompletion, Message: text}
}
