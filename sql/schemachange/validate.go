package schemachange

import (
	"context"
	"fmt"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/forward"
	"github.com/sherddb/sherd/sql/system"
	"github.com/sherddb/sherd/sql/types"
)

// validating checks the buckets of a collection's documents, one range of buckets after the other,
// each in a snapshot of its own and without locks. Writers obey the policy, so a range without
// misplaced documents stays so, as long as the table's definition does not change. If it changes,
// the job starts again. Between ranges it may stop, and continue at another node.
type validating struct {
	*task
	state   catalog.Validation
	t       *catalog.Table
	rows    *table.Placement
	columns []int
	text    string // the SELECT of the columns that placement needs, up to the bounds
}

// CanValidate returns an error if a validation job cannot check a table, because it cannot be read
// by buckets.
func CanValidate(t *catalog.Table) error {
	if forward.Key(t) < 0 {
		return pgerr.Unsupported(`"%s" is not a collection, and cannot be validated in the background`, t.Name).
			WithHint("Use ALTER TABLE %s VALIDATE CONSTRAINT sharding.", builtin.QuoteIdent(t.Name))
	}
	return nil
}

// validate runs a ValidationJob.
func (w *task) validate(ctx context.Context) error {
	r := &validating{task: w}
	var err error
	if r.state, err = w.job.Validation(); err != nil {
		return err
	}
	w.done = w.job.Done
	if r.state.Next >= shardmap.BucketCount { // it has failed, and was resumed
		r.restart(0)
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
			return pgerr.New(pgerr.CheckViolation,
				`check constraint "%s" of relation "%s" is violated by %d documents;`+
					` sherd.offenders has the first of them`,
				shardmap.ConstraintName, r.t.Name, n)
		}
		if trusted, err := r.trust(ctx); trusted || err != nil {
			return err
		}
	}
}

// restart starts at the first bucket, for a version of the table.
func (r *validating) restart(version uint64) {
	r.done, r.state = 0, catalog.Validation{Version: version, Who: r.state.Who}
}

// define reads the newest definition, and waits until no transaction writes under an older one.
func (r *validating) define(ctx context.Context) error {
	v, t, err := r.table(r.job.Table)
	if err != nil {
		return err
	}
	if err := ddl.CanValidate(t); err != nil {
		return err
	}
	if err := CanValidate(t); err != nil {
		return err
	}
	if r.rows, err = table.NewPlacement(t); err != nil {
		return err
	}
	r.t, r.columns = t, r.rows.Columns()
	key := builtin.QuoteIdent(t.Columns[forward.Key(t)].Name)
	r.text = ddl.SelectColumns(v, t, r.columns) +
		" WHERE sherd.slice(" + key + ") >= %d AND sherd.slice(" + key + ") < %d"
	if r.state.Version != t.Version {
		r.restart(t.Version)
	}
	return r.worker.Barrier(ctx, t.OID)
}

// all checks the remaining buckets; false if the definition has changed.
func (r *validating) all(ctx context.Context) (bool, error) {
	width := uint32(1024)
	for r.state.Next < shardmap.BucketCount {
		to := min(r.state.Next+width, shardmap.BucketCount)
		began := time.Now()
		state, looked, err := r.look(ctx, to)
		if err != nil {
			return false, err
		}
		if t := r.Catalog.View().Table(r.t.OID); t == nil || t.Version != r.t.Version {
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
		if time.Since(r.reported) > progressEvery {
			if err := r.report(ctx, r.state); err != nil {
				return false, err
			}
		}
	}
	return true, r.report(ctx, r.state)
}

// look checks the buckets before to, and returns the state of the job after that.
func (r *validating) look(ctx context.Context, to uint32) (state catalog.Validation, looked int, err error) {
	row := make(types.Row, len(r.t.Columns))
	check := func(got []types.Datum) error {
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
	}
	err = r.worker.Do(ctx, func(t *system.Transaction) error {
		looked, state = 0, r.state
		state.Some = state.Some[:len(state.Some):len(state.Some)]
		return t.Each(ctx, fmt.Sprintf(r.text, r.state.Next, to), check)
	})
	state.Next = to
	return state, looked, err
}

// trust marks the policy as validated, if the definition is still the one that was checked.
func (r *validating) trust(ctx context.Context) (trusted bool, err error) {
	err = r.changeSchema(ctx, func(e *ddl.Env) (err error) {
		e.For = r.state.Who
		trusted, err = e.TrustPolicy(ctx, r.t)
		return err
	})
	return trusted && err == nil, err
}
