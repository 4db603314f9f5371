package catalog

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sherddb/sherd/internal/clusterversion"
	"github.com/sherddb/sherd/internal/pgerr"
)

// ReplacementJob is the kind of a job that changes ids of documents of a collection (Job.Table), so
// that each document is in a bucket that the policy allows. Done counts the documents. RewritingJob
// is the kind of a job that replaces former ids of a collection's documents by the present ones in
// a table that refers to them. Done counts the rows.
const (
	ReplacementJob = "replace_placement"
	RewritingJob   = "rewrite_references"
)

// ReplacementSince is the version of the cluster from which there are ReplacementJobs (View.Knows).
const ReplacementSince = clusterversion.FormerIDs

// Replacement is the payload of a ReplacementJob.
type Replacement struct {
	Next uint32 `json:"next"`           // the first bucket that is not scanned yet
	Left int64  `json:"left,omitempty"` // documents that keep their ids
	Some string `json:"some,omitempty"` // why the first of these does
	Who  string `json:"who,omitempty"`

	// Spread: documents that lie where the policy allows, but in another bucket than a new document
	// of the same base id and content would, get other ids too. Jobs of older records have it off.
	Spread bool `json:"spread,omitempty"`
}

// Rewriting is the payload of a RewritingJob.
type Rewriting struct {
	Referrer OID    `json:"referrer"` // the table that refers
	Path     string `json:"path"`     // its column, or the path into its document
	// The key of the last row that was scanned, as a row in SQL; "": none.
	After  string `json:"after,omitempty"`
	Looked int64  `json:"looked,omitempty"`
	Left   int64  `json:"left,omitempty"` // rows that could not be rewritten
	Some   string `json:"some,omitempty"` // why the first of these could not
	Who    string `json:"who,omitempty"`
}

// ErrOtherJob means that a job is of another kind.
var ErrOtherJob = errors.New("catalog: a job of another kind")

func (j *Job) payload(kind string, into any) error {
	if j.Kind != kind {
		return ErrOtherJob
	}
	if err := json.Unmarshal(j.Payload, into); err != nil {
		return fmt.Errorf("catalog: job %d: %w", j.ID, err)
	}
	return nil
}

// Replacement returns the payload of a ReplacementJob.
func (j *Job) Replacement() (r Replacement, err error) {
	err = j.payload(ReplacementJob, &r)
	return r, err
}

// Rewriting returns the payload of a RewritingJob.
func (j *Job) Rewriting() (r Rewriting, err error) {
	err = j.payload(RewritingJob, &r)
	return r, err
}

// AboutIDs reports whether a job changes or checks ids of documents, or changes references to them.
// Such jobs run SQL statements, as users do; they do not run between fragments.
func (j *Job) AboutIDs() bool {
	return j.Kind == ReplacementJob || j.Kind == RewritingJob || j.Kind == ValidationJob
}

// NewIDJob returns a job of one of these kinds; micros is the current time.
func NewIDJob(id uint64, kind string, t *Table, payload any, micros int64) (*Job, error) {
	b, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("catalog: job: %w", err)
	}
	return &Job{ID: id, Kind: kind, State: JobRunning, Database: t.Database, Table: t.OID, Payload: b,
		StartedMicros: micros, UpdatedMicros: micros}, nil
}

// Reach records the progress of a job about ids. stopped is true if the job does not run any more;
// then Reach records nothing.
func (c *Change) Reach(id uint64, payload any, done int64, micros int64) (stopped bool, err error) {
	j := c.base.Job(id)
	if j == nil || !j.AboutIDs() || j.State != JobRunning {
		return true, nil
	}
	b, err := json.Marshal(payload)
	if err != nil {
		return false, fmt.Errorf("catalog: job: %w", err)
	}
	j = j.Clone()
	j.Payload, j.Done, j.Error, j.UpdatedMicros = b, done, "", micros
	return false, c.PutJob(j)
}

// WaitIDJob records what a running job about ids waits for, until it makes progress.
func (c *Change) WaitIDJob(id uint64, why string, micros int64) error {
	j := c.base.Job(id)
	if j == nil || !j.AboutIDs() || j.State != JobRunning || j.Error == why {
		return nil
	}
	j = j.Clone()
	j.Error, j.UpdatedMicros = why, micros
	return c.PutJob(j)
}

// EndIDJob ends a job about ids as done, or as failed with why. The job stays visible.
func (c *Change) EndIDJob(id uint64, state JobState, why string, micros int64) error {
	j := c.base.Job(id)
	if j == nil || !j.AboutIDs() {
		return nil
	}
	j = j.Clone()
	j.State, j.Error, j.UpdatedMicros = state, why, micros
	return c.PutJob(j)
}

// SetIDJob pauses, resumes or cancels a job about ids.
func (c *Change) SetIDJob(id uint64, state JobState, micros int64) error {
	j := c.base.Job(id)
	if j == nil || !j.AboutIDs() {
		return pgerr.New(pgerr.UndefinedObject, "there is no job %d of sherd.replace_placement, "+
			"sherd.rewrite_references or sherd.start_validation", id)
	}
	from := map[JobState][]JobState{JobPaused: {JobRunning}, JobRunning: {JobPaused, JobFailed, JobCancelled},
		JobCancelled: {JobRunning, JobPaused, JobFailed}}[state]
	for _, s := range from {
		if j.State == s {
			j = j.Clone()
			j.State, j.Error, j.UpdatedMicros = state, "", micros
			return c.PutJob(j)
		}
	}
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "job %d is %s", id, j.State)
}
