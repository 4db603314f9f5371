package sysview

import (
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/sql/builtin"
)

// jobs is sherd.jobs.
func jobs(b *builder) error {
	for j := range b.env.View.Jobs() {
		if j.Database != 0 && j.Database != b.env.Database.OID {
			continue
		}
		r := b.row().int("id", int64(j.ID)).text("kind", j.Kind).optional("object", b.env.jobObject(j)).
			optional("progress", b.env.jobProgress(j)).
			text("state", string(j.State)).time("started", time.UnixMicro(j.StartedMicros)).
			time("updated", time.UnixMicro(j.UpdatedMicros))
		if err := r.optional("error", j.Error).send(); err != nil {
			return err
		}
	}
	return nil
}

// jobObject returns the name of the object of a job, "" if the object does not exist any more.
func (e *Env) jobObject(j *catalog.Job) string {
	if text, _ := e.bucketProgress(j); text != "" {
		return text
	}
	t := e.View.Table(j.Table)
	if _, _, oid, ok := j.BuiltIndex(); ok {
		if of, x := e.View.Index(oid); x != nil {
			return e.qualified(of.Schema, x.Name)
		}
	}
	if t == nil {
		return ""
	}
	return e.qualified(t.Schema, t.Name)
}

func (e *Env) qualified(schema catalog.OID, name string) string {
	if s := e.View.Schema(schema); s != nil {
		return builtin.QuoteIdent(s.Name) + "." + builtin.QuoteIdent(name)
	}
	return builtin.QuoteIdent(name)
}

// bucketProgress returns the object and progress of a job about buckets.
func (e *Env) bucketProgress(j *catalog.Job) (object, progress string) {
	d := e.Database
	left := func(m *catalog.Move) (n int) {
		for _, r := range d.Remaining(m) {
			n += r.Len()
		}
		return n
	}
	waits := ""
	if m, err := j.Move(); err == nil {
		object, progress, waits = "buckets "+m.Interval.String(),
			fmt.Sprintf("%d of %d buckets left", left(m), m.Count()), m.Waits
		if m.Resegment != nil || len(m.Segments) > 0 {
			object = m.Name(e.keysOf)
		}
		if m.Resegment == nil {
			object += " to " + d.NameOf(m.Target)
		}
	}
	if r, err := j.Removal(); err == nil {
		object, progress, waits = "fragment "+d.NameOf(r.Fragment),
			fmt.Sprintf("%d buckets left", d.Map.Owned(r.Fragment).Len()), r.Waits
	}
	if waits != "" {
		progress += ", waits for " + waits
	}
	return object, progress
}

func (e *Env) jobProgress(j *catalog.Job) string {
	if _, text := e.bucketProgress(j); text != "" {
		return text
	}
	if text := idJob(j); text != "" {
		return text
	}
	unit := "rows"
	if j.Kind == catalog.PlanJob {
		unit = "steps"
	}
	switch {
	case j.Done == 0 && j.Total == 0:
		return ""
	case j.Total <= 0:
		return fmt.Sprintf("%d %s", j.Done, unit)
	}
	return fmt.Sprintf("%d of %d %s", j.Done, max(j.Total, j.Done), unit)
}
