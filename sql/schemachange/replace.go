package schemachange

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/system"
	"github.com/sherddb/sherd/sql/types"
)

// replacing changes the ids of documents that are not in the buckets that the policy has for their
// content. A job that spreads also moves documents within these buckets, to the one that an insert
// would choose. Each batch is a transaction of its own: it locks the documents, skips those that
// others have locked, and changes ids and forwarding entries together. So at every moment an id
// leads to its document, and at most one of the two exists.
type replacing struct {
	*task
	state   catalog.Replacement
	t       *catalog.Table
	rows    *table.Placement
	columns []int
	name    string // of the collection, quoted
	entries string
	key     string
	asIs    map[string]bool // documents of the present buckets that keep their ids
	busy    []string        // documents of these that others had locked
}

const (
	replaceBatch   = 64
	replaceFound   = 20_000 // documents that are noted at a time
	replaceBuckets = 1 << 16
)

// replace runs a ReplacementJob.
func (w *task) replace(ctx context.Context) error {
	r := &replacing{task: w}
	var err error
	if r.state, err = w.job.Replacement(); err != nil {
		return err
	}
	w.done, w.some = w.job.Done, r.state.Some
	if err := r.prepare(ctx); err != nil {
		return err
	}
	width := uint32(1024)
	for r.state.Next < shardmap.BucketCount {
		to := min(r.state.Next+width, shardmap.BucketCount)
		looked, err := r.buckets(ctx, r.state.Next, to)
		if err != nil {
			return err
		}
		r.state.Next = to
		switch {
		case looked > replaceFound && width > 1:
			width /= 2
		case looked < replaceFound/4 && width < replaceBuckets:
			width *= 2
		}
		if time.Since(w.reported) > progressEvery {
			if err := w.report(ctx, r.state); err != nil {
				return err
			}
		}
	}
	return w.report(ctx, r.state)
}

// prepare makes sure that every user of the collection knows that its documents may have former
// ids.
func (r *replacing) prepare(ctx context.Context) error {
	err := r.changeSchema(ctx, func(e *ddl.Env) error { return ddl.StartForwarding(ctx, e, r.job.Table) })
	if err != nil {
		return err
	}
	return r.worker.Barrier(ctx, r.job.Table)
}

// define reads the newest definition of the collection.
func (r *replacing) define() error {
	v, t, err := r.table(r.job.Table)
	switch {
	case err != nil:
		return err
	case t == r.t:
		return nil
	case t.Policy == nil || t.Policy.IsID():
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`"%s" has no policy any more that says where its documents are to lie`, t.Name)
	case t.Forwarding == 0:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState,
			`the former ids of "%s" were dropped meanwhile`, t.Name)
	}
	// A mutable policy allows documents in any bucket, but the job moves them to those of their
	// content.
	strict, def := *t.Policy, t.Clone()
	strict.Mutable, def.Policy = false, &strict
	if r.rows, err = table.NewPlacement(def); err != nil {
		return err
	}
	r.t, r.columns, r.entries = t, r.rows.Columns(), forward.EntriesOf(v, t)
	r.name = stmt.TableName(v, t)
	r.key = builtin.QuoteIdent(t.Columns[forward.Key(t)].Name)
	return nil
}

// selected returns the SELECT of the columns that placement needs, up to WHERE.
func (r *replacing) selected() string {
	var names []string
	for _, at := range r.columns {
		names = append(names, builtin.QuoteIdent(r.t.Columns[at].Name))
	}
	return "SELECT " + strings.Join(names, ", ") + " FROM " + r.name + " WHERE "
}

func (r *replacing) row(got []types.Datum) types.Row {
	row := make(types.Row, len(r.t.Columns))
	for i, at := range r.columns {
		row[at] = got[i]
	}
	return row
}

// buckets replaces the ids of documents of the buckets [lo, hi), and returns how many documents
// they have.
func (r *replacing) buckets(ctx context.Context, lo, hi uint32) (looked int, err error) {
	r.asIs = map[string]bool{}
	for {
		if err := r.define(); err != nil {
			return 0, err
		}
		ids, all, err := r.find(ctx, lo, hi)
		if err != nil {
			return 0, err
		}
		looked = max(looked, all)
		for batch := range slices.Chunk(ids, replaceBatch) {
			began := time.Now()
			if err := r.batch(ctx, batch, true); err != nil {
				return 0, err
			}
			r.pace(ctx, "sherd.replace_rate", len(batch), began)
			if time.Since(r.reported) > progressEvery {
				if err := r.report(ctx, r.state); err != nil {
					return 0, err
				}
			}
		}
		for _, id := range r.busy {
			if err := r.batch(ctx, []string{id}, false); err != nil {
				return 0, err
			}
		}
		r.busy = nil
		if len(ids) < replaceFound {
			return looked, nil
		}
	}
}

// find lists documents that need other ids.
func (r *replacing) find(ctx context.Context, lo, hi uint32) (ids []string, all int, err error) {
	text := fmt.Sprintf("%ssherd.slice(%s) >= %d AND sherd.slice(%s) < %d", r.selected(), r.key, lo, r.key, hi)
	err = r.worker.Do(ctx, func(t *system.Transaction) error {
		ids, all = nil, 0
		return t.Each(ctx, text, func(got []types.Datum) error {
			all++
			row := r.row(got)
			if id, fits := r.fits(row); !fits && len(ids) < replaceFound && !r.asIs[id] {
				ids = append(ids, strings.Clone(id))
			}
			return nil
		})
	})
	return ids, all, err
}

// fits reports whether a document needs no other id. This follows from the document alone: one that
// has its new id fits (table.Placement.Spread). So a job that continues at a new leader, or after a
// pause, needs no record of documents.
func (r *replacing) fits(row types.Row) (id string, fits bool) {
	id, bucket, err := r.rows.Check(row)
	return id, err == nil && (!r.state.Spread || r.rows.Spread(row, bucket))
}

// noteKept notes that a document keeps its id, and why.
func (r *replacing) noteKept(id string, why error) {
	if r.asIs[id] {
		return
	}
	r.asIs[id] = true
	if r.state.Left++; r.some == "" {
		r.some = fmt.Sprintf("%s stays where it is: %s", id, pgerr.From(why).Message)
		r.state.Some = r.some
	}
}

// batch replaces the ids of some documents. With skip it notes those that others have locked,
// otherwise it waits for them. If one of several cannot be changed, it tries each one alone.
func (r *replacing) batch(ctx context.Context, ids []string, skip bool) error {
	n := 0
	err := r.worker.Do(ctx, func(t *system.Transaction) (err error) {
		n, err = r.once(ctx, t, ids, skip)
		return err
	})
	if err == nil {
		r.done += int64(n)
	}
	switch {
	case err == nil || !strings.HasPrefix(pgerr.Code(err), "23"):
		return err
	case len(ids) == 1:
		r.noteKept(ids[0], err)
		return nil
	}
	for _, id := range ids {
		if err := r.batch(ctx, []string{id}, skip); err != nil {
			return err
		}
	}
	return nil
}

// once replaces the ids of some documents in a transaction, and returns how many got other ids.
func (r *replacing) once(ctx context.Context, t *system.Transaction, ids []string, skip bool) (int, error) {
	wait := ""
	if skip {
		wait = " SKIP LOCKED"
	}
	rows, err := t.Rows(ctx, r.selected()+r.key+" IN ("+stmt.Literals(ids)+") FOR UPDATE"+wait)
	if err != nil {
		return 0, err
	}
	got, old, next := map[string]bool{}, []string(nil), []string(nil)
	for _, x := range rows {
		row := r.row(x)
		id, fits := r.fits(row)
		if got[id] = true; fits {
			continue // it was changed meanwhile
		}
		if r.split(id) {
			r.noteKept(id, pgerr.New(pgerr.ObjectInUse, "its counters are split"))
			continue
		}
		to, err := r.rows.Replaced(row)
		if err != nil {
			r.noteKept(id, err)
			continue
		}
		if slices.Contains(next, to) {
			r.noteKept(id, pgerr.New(pgerr.UniqueViolation, "%s would be the id of two documents", to))
			continue
		}
		old, next = append(old, id), append(next, to)
	}
	for _, id := range ids {
		if skip && !got[id] && !slices.Contains(r.busy, id) {
			r.busy = append(r.busy, id)
		}
	}
	if old, next, err = r.free(ctx, t, old, next); err != nil || len(old) == 0 {
		return 0, err
	}
	return len(old), r.put(ctx, t, old, next)
}

// put sets the next ids of documents, and notes the old ones in the table of entries.
func (r *replacing) put(ctx context.Context, t *system.Transaction, old, next []string) error {
	pairs := make([]string, len(old))
	for i := range old {
		pairs[i] = "(" + builtin.QuoteLiteral(old[i]) + "," + builtin.QuoteLiteral(next[i]) + ")"
	}
	values := strings.Join(pairs, ",")
	if err := t.Run(ctx, "DELETE FROM "+r.entries+" WHERE old IN ("+stmt.Literals(next)+")"); err != nil {
		return err
	}
	given, err := t.Rows(ctx, "UPDATE "+r.name+" x SET "+r.key+" = m.n FROM (VALUES "+values+") AS m(o, n)"+
		" WHERE x."+r.key+" = m.o RETURNING 1")
	if err == nil && len(given) != len(old) { // an entry must never lead to an id that no document has
		err = pgerr.New(pgerr.SerializationFailure, "%d of %d documents got new ids", len(given), len(old))
	}
	if err == nil {
		err = t.Run(ctx, "UPDATE "+r.entries+" x SET new = m.n FROM (VALUES "+values+") AS m(o, n) WHERE x.new = m.o")
	}
	if err == nil {
		err = t.Run(ctx, "INSERT INTO "+r.entries+" VALUES "+values)
	}
	return err
}

// split reports whether a document is split. Its parts refer to it by its id.
func (r *replacing) split(id string) bool {
	return r.t.Hot != nil && slices.ContainsFunc(r.t.Hot.Documents, func(d catalog.HotDocument) bool {
		return d.ID == id && d.Joined == 0
	})
}

// free removes documents from the lists whose new id another document has or had. A document that
// had the id itself gets it back.
func (r *replacing) free(
	ctx context.Context, t *system.Transaction, old, next []string,
) ([]string, []string, error) {
	if len(next) == 0 {
		return nil, nil, nil
	}
	there, err := t.Rows(ctx, "SELECT "+r.key+" FROM "+r.name+" WHERE "+r.key+" IN ("+stmt.Literals(next)+")")
	if err != nil {
		return nil, nil, err
	}
	former, err := t.Rows(ctx, "SELECT old, new FROM "+r.entries+" WHERE old IN ("+stmt.Literals(next)+")")
	if err != nil {
		return nil, nil, err
	}
	taken := map[string]string{}
	for _, x := range there {
		taken[x[0].S] = "another document has it"
	}
	for _, x := range former {
		if i := slices.Index(next, x[0].S); i < 0 || old[i] != x[1].S {
			taken[x[0].S] = "it is a former id of " + x[1].S
		}
	}
	var o, n []string
	for i := range old {
		if why, ok := taken[next[i]]; ok {
			r.noteKept(old[i], pgerr.New(pgerr.UniqueViolation, "%s is taken: %s", next[i], why))
			continue
		}
		o, n = append(o, old[i]), append(n, next[i])
	}
	return o, n, nil
}
