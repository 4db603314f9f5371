package sql

import (
	"context"
	"fmt"
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

// validating looks at the documents of a collection, one range of buckets after the other, each in a snapshot of its own and without locks. Who writes obeys the policy, so
// a range in which all documents lie where they should stays like that, for as long as the table's definition is the one that was looked at: where that has changed, the job
// begins anew. Between ranges it may stop, and go on at another node.
type validating struct {
	*idJob
	state   catalog.Validation
	t       *catalog.Table
	rows    *exec.Placement
	columns []int
	text    string // SELECT of what placing needs, up to the bounds
}

// canValidateByRanges refuses a table of which buckets cannot be asked for.
func canValidateByRanges(t *catalog.Table) error {
	if forward.Key(t) < 0 {
		return pgerr.Unsupported(`"%s" is not a collection, and cannot be validated in the background`, t.Name).WithHint("Use ALTER TABLE %s VALIDATE CONSTRAINT sharding.", builtin.QuoteIdent(t.Name))
	}
	return nil
}

// validate runs a ValidationJob.
func (w *idJob) validate(ctx context.Context) error {
	w.s.compiler.ByID = true
	r := &validating{idJob: w}
	var err error
	if r.state, err = w.job.Validation(); err != nil {
		return err
	}
	w.done = w.job.Done
	if r.state.Next >= shardmap.BucketCount { // it has failed, and somebody lets it try again
		r.anew(0)
	}
	for {
		if err := r.define(ctx); err != nil || r.t.PolicyValidated {
			return err
		}
		looked, err := r.all(ctx)
		if err != nil {
			return err
		}
		if !looked {
			continue
		}
		if n := r.state.Count; n > 0 {
			return pgerr.New(pgerr.CheckViolation, `check constraint "%s" of relation "%s" is violated by %d documents; sherd.offenders has the first of them`, shardmap.ConstraintName, r.t.Name, n)
		}
		if trusted, err := r.trust(ctx); trusted || err != nil {
			return err
		}
	}
}

// anew begins at the first bucket, for a version of the table.
func (r *validating) anew(version uint64) {
	r.done, r.state = 0, catalog.Validation{Version: version, Who: r.state.Who}
}

// define takes the newest definition, and makes sure that nobody writes under one before it.
func (r *validating) define(ctx context.Context) error {
	v, t, err := r.table(r.job.Table)
	if err != nil {
		return err
	}
	if err := ddl.CanValidate(t); err != nil {
		return err
	}
	if err := canValidateByRanges(t); err != nil {
		return err
	}
	if r.rows, err = exec.NewPlacement(t); err != nil {
		return err
	}
	r.t, r.columns = t, r.rows.Columns()
	key := builtin.QuoteIdent(t.Columns[forward.Key(t)].Name)
	r.text = ddl.SelectColumns(v, t, r.columns) + " WHERE sherd.slice(" + key + ") >= %d AND sherd.slice(" + key + ") < %d"
	if r.state.Version != t.Version {
		r.anew(t.Version)
	}
	r.s.begin()
	defer r.s.fail()
	return r.s.tx.Barrier(ctx, t.OID)
}

// all looks at what has not been looked at; false where the definition has changed.
func (r *validating) all(ctx context.Context) (bool, error) {
	width := uint32(1024)
	for r.state.Next < shardmap.BucketCount {
		to := min(r.state.Next+width, shardmap.BucketCount)
		began := time.Now()
		state, looked, err := r.look(ctx, to)
		if err != nil {
			return false, err
		}
		if t := r.db.cfg.Catalog.View().Table(r.t.OID); t == nil || t.Version != r.t.Version {
			return false, nil
		}
		r.state = state
		r.done += int64(looked)
		switch {
		case looked > replaceFound && width > 1:
			width /= 2
		case looked < replaceFound/4 && width < replaceBuckets:
			width *= 2
		}
		r.pace(ctx, "sherd.validate_rate", looked, began)
		if time.Since(r.told) > progressEvery {
			if err := r.reach(ctx, r.state); err != nil {
				return false, err
			}
		}
	}
	return true, r.reach(ctx, r.state)
}

// look looks at the buckets up to before to, and gives how far the job is then.
func (r *validating) look(ctx context.Context, to uint32) (state catalog.Validation, looked int, err error) {
	row := make(types.Row, len(r.t.Columns))
	c := &collected{each: func(got []types.Datum) error {
		looked++
		for i, at := range r.columns {
			row[at] = got[i]
		}
		m, err := misplacedRow(r.rows, row)
		if m == nil || err != nil {
			return err
		}
		if state.Count++; len(state.Some) < catalog.MaxOffending {
			state.Some = append(state.Some, catalog.Offending{ID: m.ID, Bucket: uint32(m.Bucket), Detail: m.Detail})
		}
		return nil
	}}
	err = r.again(ctx, func() error {
		looked, state = 0, r.state
		state.Some = state.Some[:len(state.Some):len(state.Some)]
		return r.s.Simple(ctx, fmt.Sprintf(r.text, r.state.Next, to), c)
	})
	state.Next = to
	return state, looked, err
}

// misplacedRow tells of a row that lies where its policy does not allow; nil of others.
func misplacedRow(p *exec.Placement, row []types.Datum) (*ddl.Misplaced, error) {
	id, bucket, err := p.Check(row)
	if !pgerr.Is(err, pgerr.CheckViolation) {
		return nil, err
	}
	e := pgerr.From(err)
	detail := e.Detail
	if detail == "" {
		detail = e.Message
	}
	return &ddl.Misplaced{ID: strings.Clone(id), Bucket: bucket, Detail: detail}, nil
}

// trust has the policy trusted, if the definition is still the one that was looked at.
func (r *validating) trust(ctx context.Context) (trusted bool, err error) {
	err = r.again(ctx, func() (err error) {
		r.s.begin()
		e := r.s.definer(func(*pgerr.Error) error { return nil })
		e.For = r.state.Who
		if trusted, err = e.TrustPolicy(ctx, r.t); err != nil {
			r.s.fail()
			return err
		}
		return r.s.commit(ctx)
	})
	return trusted && err == nil, err
}
