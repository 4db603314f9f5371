package counters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/ddl"
	"github.com/sherddb/sherd/sql/exec"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/sql/plan"
	"github.com/sherddb/sherd/sql/plan/outline"
	"github.com/sherddb/sherd/sql/query"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/sysview"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// hottestFields is how many fields of a bucket are listed.
const hottestFields = 5

// Views answers what the system views about hot and obese buckets ask, for one statement.
type Views struct {
	Context  context.Context
	Tx       *tx.Tx
	Executor func(context.Context) stmt.Executor
	Samples  func(table catalog.OID) []stmt.Sample // of statements that name the table
}

// Hot returns the answers.
func (v *Views) Hot() sysview.Hot {
	return sysview.Hot{
		Split: func(t *catalog.Table) (map[int32]bool, error) {
			x := v.Executor(v.Context)
			return SplitNow(v.Context, &x, v.Tx, v.Tx.View(), t)
		},
		Counters: v.splittable,
		Fields: func(t *catalog.Table, from, to uint32) []string {
			return v.fieldsOf(t, shardmap.Interval{Lo: from, Hi: to}, namedFields, hottestFields)
		},
		SomeID:  v.someID,
		Spreads: v.spreads,
	}
}

// query runs a SELECT of columns of a table, by their positions.
func (v *Views) query(t *catalog.Table, columns []int, rest string, emit exec.Emit) error {
	x := v.Executor(v.Context)
	_, err := x.System(v.Context, v.Tx, ddl.SelectColumns(v.Tx.View(), t, columns)+rest, nil, emit)
	return err
}

// splittable returns the counters to name when a document is split: those to which the sampled
// statements that reach its bucket add, none if the table declares counters. An error says why the
// document cannot be split.
func (v *Views) splittable(t *catalog.Table, id string, bucket uint32) (names []string, err error) {
	if t.Options[ddl.OptionCounters] == "" {
		names = v.fieldsOf(t, shardmap.OneBucket(shardmap.Bucket(bucket)), addedFields, maxCounters)
	}
	x := v.Executor(v.Context)
	d, err := NewDocument(v.Context, &x, v.Tx, t, id)
	if err != nil {
		return nil, err
	}
	return names, d.Declare(names)
}

// fieldsOf returns the fields of a table that a function finds in the sampled statements which
// reach some buckets, the most frequent first.
func (v *Views) fieldsOf(
	t *catalog.Table, in shardmap.Interval, find func(*query.Query, *catalog.Table) []catalog.Counter, most int,
) []string {
	count := map[string]int{}
	for _, x := range v.Samples(t.OID) {
		if !v.reaches(x, t, in) {
			continue
		}
		for _, f := range find(x.Program.Query, t) {
			count[fieldName(t, f)]++
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a, b))
	})
	return names[:min(len(names), most)]
}

// reaches reports whether a sampled statement reads or writes rows of a table in some buckets. A
// statement whose routes are not known may.
func (v *Views) reaches(sample stmt.Sample, t *catalog.Table, in shardmap.Interval) bool {
	x := v.Executor(v.Context)
	c := x.Context(v.Context, v.Tx, sample.Args)
	found, routes := false, 0
	outline.Of(sample.Program.Plan, outline.Notes{Route: func(r *plan.Route) string {
		if r.Table == nil || r.Table.OID != t.OID {
			return ""
		}
		routes++
		set, known, err := exec.RouteBuckets(c, r)
		found = found || err != nil || !known || !set.Intersect(shardmap.NewBucketSet(in)).IsEmpty()
		return ""
	}})
	return found || routes == 0
}

// someID returns the id of a document of a collection in the buckets [from, to).
func (v *Views) someID(t *catalog.Table, from, to uint32) (id string, err error) {
	key := KeyColumn(t)
	name := builtin.QuoteIdent(key.Name)
	rest := fmt.Sprintf(" WHERE sherd.slice(%s) >= %d AND sherd.slice(%s) < %d LIMIT 1", name, from, name, to)
	err = v.query(t, []int{int(key.AttNum) - 1}, rest, func(row []types.Datum) error {
		id = row[0].S
		return nil
	})
	return id, err
}

// Documents that spreads looks at, and how many that would get other ids are enough for its answer.
const (
	spreadLook   = 100_000
	spreadEnough = 1000
)

// errSeenEnough ends a query whose other rows are not needed.
var errSeenEnough = errors.New("counters: enough rows were seen")

// spreads reports whether a job that spreads the documents of a collection would change the ids of
// many documents of a bucket: one in ten, or spreadEnough. After the job has run, none are left but
// those that it could not change.
//
// It stops at spreadEnough. In a bucket that is too large although the Range is wide enough, at
// most half of the bytes are of documents that were inserted under this Range, so it seldom reads
// more than that half. It does not know the buckets of rules for prefixes, which sherd.slice cannot
// find.
func (v *Views) spreads(t *catalog.Table, bucket uint32) (bool, error) {
	if bucket >= shardmap.BucketCount || !v.Tx.View().Knows(catalog.ReplacementSince) || ddl.CanForward(t) != nil {
		return false, nil
	}
	p, err := table.NewPlacement(t)
	if err != nil {
		return false, err
	}
	columns, row := p.Columns(), make(types.Row, len(t.Columns))
	key := builtin.QuoteIdent(KeyColumn(t).Name)
	rest := fmt.Sprintf(" WHERE sherd.slice(%s) >= %d AND sherd.slice(%s) < %d LIMIT %d",
		key, bucket, key, bucket+1, spreadLook)
	looked, others := 0, 0
	err = v.query(t, columns, rest, func(got []types.Datum) error {
		for i, at := range columns {
			row[at] = got[i]
		}
		_, at, err := p.Check(row)
		if uint32(at) != bucket {
			return nil // a rule for its prefix sends it elsewhere
		}
		looked++
		if _, none := p.Replaced(row); none == nil && (err != nil || !p.Spread(row, at)) {
			if others++; others == spreadEnough {
				return errSeenEnough
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errSeenEnough) {
		return false, err
	}
	return others > 0 && (others == spreadEnough || 10*others >= looked), nil
}
