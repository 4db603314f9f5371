package sysview

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
)

// Forwarded is a former id by which statements of an application have found a document.
type Forwarded struct {
	Database, Table catalog.OID
	Old, New        string
	Application     string
	Query           string // the last statement
	Hits            int64
	Last            time.Time
}

// forwardingHits is sherd.forwarding_hits, of collections that the session may read. As in
// pg_stat_activity, only superusers see statements of others.
func forwardingHits(b *builder) error {
	type key struct {
		table            catalog.OID
		old, application string
	}
	if b.env.Forwarded == nil {
		return nil
	}
	all := map[key]Forwarded{}
	for _, x := range b.env.Forwarded() {
		k := key{x.Table, x.Old, x.Application}
		if x.Database != b.env.Database.OID || !b.canRead(x.Table) {
			continue
		}
		if had, ok := all[k]; ok {
			x.Hits += had.Hits
			if had.Last.After(x.Last) {
				x.Last, x.Query, x.New = had.Last, had.Query, had.New
			}
		}
		all[k] = x
	}
	var list []Forwarded
	for _, x := range all {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b Forwarded) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Old, b.Old),
			cmp.Compare(a.Application, b.Application))
	})
	for _, x := range list {
		if b.env.Role == nil || !b.env.Role.Superuser() {
			x.Query = noPrivilege
		}
		err := b.row().oid("collection", x.Table).text("old", x.Old).text("new", x.New).int("hits", x.Hits).
			time("last_used", x.Last).
			text("application_name", x.Application).text("query", x.Query).send()
		if err != nil {
			return err
		}
	}
	return nil
}

// idJob returns the progress of a job about ids, "" for other jobs.
func idJob(j *catalog.Job) string {
	left := func(n int64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf(", %d stay as they are", n)
	}
	if r, err := j.Replacement(); err == nil {
		return fmt.Sprintf("%d documents re-placed%s, %d%% of the buckets looked at", j.Done, left(r.Left),
			uint64(r.Next)*100/shardmap.BucketCount)
	}
	if r, err := j.Rewriting(); err == nil {
		return fmt.Sprintf("%d of %d rows rewritten%s", j.Done, r.Looked, left(r.Left))
	}
	if r, err := j.Validation(); err == nil {
		elsewhere := ""
		if r.Count > 0 {
			elsewhere = fmt.Sprintf(", %d lie elsewhere", r.Count)
		}
		return fmt.Sprintf("%d documents looked at%s, %d%% of the buckets", j.Done, elsewhere,
			uint64(r.Next)*100/shardmap.BucketCount)
	}
	return ""
}

// offenders is sherd.offenders.
func offenders(b *builder) error {
	for j := range b.env.View.Jobs() {
		r, err := j.Validation()
		if err != nil || j.Database != b.env.Database.OID || b.env.View.Table(j.Table) == nil {
			continue
		}
		for _, o := range r.Some {
			if err := b.row().int("job", int64(j.ID)).oid("collection", j.Table).text("id", o.ID).
				int("bucket", int64(o.Bucket)).text("detail", o.Detail).send(); err != nil {
				return err
			}
		}
	}
	return nil
}
