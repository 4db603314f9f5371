package sql

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
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/types"
)

// replacing gives other ids to documents that are not in the buckets that the policy has for their
// content. A job that spreads also moves documents within these buckets, to the one that an insert
// would choose. Each batch is a transaction of its own: it locks the documents, leaves out those that
// others hold, and changes ids and forwarding entries together. So at every moment an id leads to its
// document, and at most one of the two exists.
type replacing struct {
	*idJob
	state   catalog.Replacement
	t       *catalog.Table
	rows    *exec.Placement
	columns []int
	name    string // of the collection, quoted
	entries string
	key     string
	asIs    map[string]bool // documents of the buckets that are looked at which stay
	busy    []string        // documents of these that somebody held
}

const (
	replaceBatch   = 64
	replaceFound   = 20_000 // documents that are noted at a time
	replaceBuckets = 1 << 16
)

// replace runs a ReplacementJob.
func (w *idJob) replace(ctx context.Context) error {
	w.s.compiler.ByID = true
	r := &replacing{idJob: w}
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
		if time.Since(w.told) > progressEvery {
			if err := w.reach(ctx, r.state); err != nil {
				return err
			}
		}
	}
	return w.reach(ctx, r.state)
}

// prepare makes sure that all who use the collection know that its documents may have former ids.
func (r *replacing) prepare(ctx context.Context) error {
	s := r.s
	s.begin()
	e := s.definer(func(*pgerr.Error) error { return nil })
	if err := ddl.StartForwarding(ctx, e, r.job.Table); err != nil {
		s.fail()
		return err
	}
	if err := s.commit(ctx); err != nil {
		return err
	}
	s.begin()
	defer s.fail()
	return s.tx.Barrier(ctx, r.job.Table)
}

// define takes the newest definition of the collection.
func (r *replacing) define() error {
	v, t, err := r.table(r.job.Table)
	switch {
	case err != nil:
		return err
	case t == r.t:
		return nil
	case t.Policy == nil || t.Policy.IsID():
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `"%s" has no policy any more that says where its documents are to lie`, t.Name)
	case t.Forwarding == 0:
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, `the former ids of "%s" were dropped meanwhile`, t.Name)
	}
	strict, def := *t.Policy, t.Clone() // a document under a mutable policy may lie anywhere, but is asked to lie where its content belongs
	strict.Mutable, def.Policy = false, &strict
	if r.rows, err = exec.NewPlacement(def); err != nil {
		return err
	}
	r.t, r.columns, r.entries = t, r.rows.Columns(), forward.EntriesOf(v, t)
	r.name = builtin.QuoteIdent(v.Schema(t.Schema).Name) + "." + builtin.QuoteIdent(t.Name)
	r.key = builtin.QuoteIdent(t.Columns[forward.Key(t)].Name)
	return nil
}

// selected is SELECT of what placing needs, up to WHERE.
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

// buckets deals with the documents of the buckets from lo to before hi, and tells how many there are.
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
			if time.Since(r.told) > progressEvery {
				if err := r.reach(ctx, r.state); err != nil {
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

// find lists documents that do not lie where they should.
func (r *replacing) find(ctx context.Context, lo, hi uint32) (ids []string, all int, err error) {
	text := fmt.Sprintf("%ssherd.slice(%s) >= %d AND sherd.slice(%s) < %d", r.selected(), r.key, lo, r.key, hi)
	c := &collected{each: func(got []types.Datum) error {
		all++
		row := r.row(got)
		if id, fits := r.fits(row); !fits && len(ids) < replaceFound && !r.asIs[id] {
			ids = append(ids, strings.Clone(id))
		}
		return nil
	}}
	err = r.again(ctx, func() error {
		ids, all = nil, 0
		return r.s.Simple(ctx, text, c)
	})
	return ids, all, err
}

// fits reports whether a document needs no other id. A job that goes on at a new leader, or after a
// pause, asks the document alone: one that has got its id fits (exec.Placement.Spread), so no record
// of documents is needed.
func (r *replacing) fits(row types.Row) (id string, fits bool) {
	id, bucket, err := r.rows.Check(row)
	return id, err == nil && (!r.state.Spread || r.rows.Spread(row, bucket))
}

// stays notes that a document keeps its id.
func (r *replacing) stays(id string, why error) {
	if r.asIs[id] {
		return
	}
	r.asIs[id] = true
	if r.state.Left++; r.some == "" {
		r.some = fmt.Sprintf("%s stays where it is: %s", id, pgerr.From(why).Message)
		r.state.Some = r.some
	}
}

// batch gives documents their new ids. With skip those that others hold are noted, else waited for. Where one of several cannot get it, each is tried alone.
func (r *replacing) batch(ctx context.Context, ids []string, skip bool) error {
	n := 0
	err := r.again(ctx, func() (err error) {
		n, err = r.once(ctx, ids, skip)
		return err
	})
	r.done += int64(n)
	switch {
	case err == nil || !strings.HasPrefix(pgerr.Code(err), "23"):
		return err
	case len(ids) == 1:
		r.stays(ids[0], err)
		return nil
	}
	for _, id := range ids {
		if err := r.batch(ctx, []string{id}, skip); err != nil {
			return err
		}
	}
	return nil
}

// once is one transaction.
func (r *replacing) once(ctx context.Context, ids []string, skip bool) (int, error) {
	wait := ""
	if skip {
		wait = " SKIP LOCKED"
	}
	rows, err := r.ask(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED; "+r.selected()+r.key+" IN ("+literals(ids)+") FOR UPDATE"+wait)
	if err != nil {
		return 0, err
	}
	got, old, next := map[string]bool{}, []string(nil), []string(nil)
	for _, x := range rows {
		row := r.row(x)
		id, fits := r.fits(row)
		if got[id] = true; fits {
			continue // it lies where it should by now
		}
		if r.split(id) {
			r.stays(id, pgerr.New(pgerr.ObjectInUse, "its counters are split"))
			continue
		}
		to, err := r.rows.Replaced(row)
		if err != nil {
			r.stays(id, err)
			continue
		}
		if slices.Contains(next, to) {
			r.stays(id, pgerr.New(pgerr.UniqueViolation, "%s would be the id of two documents", to))
			continue
		}
		old, next = append(old, id), append(next, to)
	}
	for _, id := range ids {
		if skip && !got[id] && !slices.Contains(r.busy, id) {
			r.busy = append(r.busy, id)
		}
	}
	if old, next, err = r.free(ctx, old, next); err != nil {
		return 0, err
	}
	if len(old) == 0 {
		_, err := r.ask(ctx, "COMMIT")
		return 0, err
	}
	pairs := make([]string, len(old))
	for i := range old {
		pairs[i] = "(" + builtin.QuoteLiteral(old[i]) + "," + builtin.QuoteLiteral(next[i]) + ")"
	}
	values := strings.Join(pairs, ",")
	given, err := r.ask(ctx, "DELETE FROM "+r.entries+" WHERE old IN ("+literals(next)+"); "+
		"UPDATE "+r.name+" x SET "+r.key+" = m.n FROM (VALUES "+values+") AS m(o, n) WHERE x."+r.key+" = m.o RETURNING 1")
	if err == nil && len(given) != len(old) { // an entry must never lead to a document that has not got its id
		err = pgerr.New(pgerr.SerializationFailure, "%d of %d documents got new ids", len(given), len(old))
	}
	if err != nil {
		return 0, err
	}
	_, err = r.ask(ctx, "UPDATE "+r.entries+" x SET new = m.n FROM (VALUES "+values+") AS m(o, n) WHERE x.new = m.o; "+
		"INSERT INTO "+r.entries+" VALUES "+values+"; COMMIT")
	return len(old), err
}

// split tells whether the counters of a document are kept in parts, which know it by its id.
func (r *replacing) split(id string) bool {
	return r.t.Hot != nil && slices.ContainsFunc(r.t.Hot.Documents, func(d catalog.HotDocument) bool { return d.ID == id && d.Joined == 0 })
}

// free leaves out documents whose new id another one has, or had. One that had it itself gets it back.
func (r *replacing) free(ctx context.Context, old, next []string) ([]string, []string, error) {
	if len(next) == 0 {
		return nil, nil, nil
	}
	there, err := r.ask(ctx, "SELECT "+r.key+" FROM "+r.name+" WHERE "+r.key+" IN ("+literals(next)+")")
	if err != nil {
		return nil, nil, err
	}
	former, err := r.ask(ctx, "SELECT old, new FROM "+r.entries+" WHERE old IN ("+literals(next)+")")
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
			r.stays(old[i], pgerr.New(pgerr.UniqueViolation, "%s is taken: %s", next[i], why))
			continue
		}
		o, n = append(o, old[i]), append(n, next[i])
	}
	return o, n, nil
}

// literals gives a list of texts in SQL.
func literals(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = builtin.QuoteLiteral(s)
	}
	return strings.Join(out, ", ")
}
