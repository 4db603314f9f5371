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
		r := b.row().int("id", int64(j.ID)).text("kind", j.Kind).optional("object", b.env.jobObject(j)).optional("progress", jobProgress(j)).
			text("state", string(j.State)).time("started", time.UnixMicro(j.StartedMicros)).time("updated", time.UnixMicro(j.UpdatedMicros))
		if err := r.optional("error", j.Error).send(); err != nil {
			return err
		}
	}
	return nil
}

// jobObject names what a job is about, "" where that has no name any more.
func (e *Env) jobObject(j *catalog.Job) string {
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

func jobProgress(j *catalog.Job) string {
	switch {
	case j.Done == 0 && j.Total == 0:
		return ""
	case j.Total <= 0:
		return fmt.Sprintf("%d rows", j.Done)
	}
	return fmt.Sprintf("%d of %d rows", j.Done, max(j.Total, j.Done))
}
