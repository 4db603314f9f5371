package sampling

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/statistics"
	"github.com/sherddb/sherd/sql/stmt"
	"github.com/sherddb/sherd/sql/tablestats"
	"github.com/sherddb/sherd/sql/tx"
	"github.com/sherddb/sherd/sql/types"
)

// Sampler samples tables in a transaction. Target is that of columns without a target of their own.
type Sampler struct {
	Executor stmt.Executor
	Tx       *tx.Tx
	Target   int
	Rand     *rand.Rand
	Now      time.Time
	// Totals returns what the fragments of a database have of a storage id.
	Totals func(ctx context.Context, d *catalog.Database, storageID uint32) ([]tablestats.Total, error)
	// Missed lists the statistics objects that Table has not computed, because it has not read their
	// columns.
	Missed []*catalog.ExtendedStatistics
}

// places is in how many places a large table is read.
const places = 64

// Table computes the statistics of a table: of the columns with these numbers, or, if only is nil, of
// all columns and of the expressions in indexes; and of the statistics objects with these columns.
func (s *Sampler) Table(ctx context.Context, t *catalog.Table, only []int16) (*statistics.Table, error) {
	view := s.Tx.View()
	d, schema := view.Database(t.Database), view.Schema(t.Schema)
	totals, err := s.Totals(ctx, d, t.StorageID)
	if err != nil {
		return nil, err
	}
	size := tablestats.Sum(totals)
	rows, bytes := float64(size.Rows), float64(size.Bytes)
	sel := selection{target: s.Target}
	sel.columns(t, only)
	if only == nil {
		sel.expressions(t)
	}
	sel.together(t)
	s.Missed = sel.missed
	limit := statistics.SampleRows(max(sel.largest, 1))
	share := min(float64(limit)/max(rows, 1), 1)
	condition := ""
	if share < 1 && !hashed(t) {
		condition = hashBelow(t, share, s.Rand)
	}
	r, err := s.Executor.BucketReader(ctx, s.Tx, sel.text(schema.Name, t, condition))
	if err != nil {
		return nil, err
	}
	sample := statistics.NewSample[[]types.Datum](limit, s.Rand)
	add := func(row []types.Datum) error {
		sample.Add(func() []types.Datum { return sel.keep(row) })
		return nil
	}
	if share < 1 && condition == "" {
		err = s.someBuckets(ctx, r, share, add)
	} else {
		err = r.All(ctx, add)
	}
	if err != nil {
		return nil, err
	}
	if seen := float64(sample.Seen()); share == 1 || seen > rows {
		rows = seen // the counters follow commits by a moment
	}
	for i, oid := range r.Types()[:len(sel.outputs)] {
		for j := range sel.fields {
			if sel.fields[j].at == i {
				sel.fields[j].typ = oid
			}
		}
	}
	out := &statistics.Table{
		Rows: rows, Bytes: bytes, Analyzed: s.Now.UTC().Truncate(time.Microsecond), AnalyzedRows: rows,
		Written: tablestats.Counters(totals),
	}
	items := sample.Items()
	for i := range sel.fields {
		f := &sel.fields[i]
		values := f.values(items)
		if len(values) == 0 {
			continue
		}
		of := statistics.Field{Key: f.Key, Type: f.typ, Target: f.target}
		// The rows of a partial index have the share that they have in the sample.
		total := rows * float64(len(values)) / float64(len(items))
		out.Columns = append(out.Columns, statistics.Build(of, values, total))
	}
	out.Together = sel.extended(items, rows)
	return out, nil
}

// hashed reports whether the hashes of a table's keys choose the buckets of its rows.
func hashed(t *catalog.Table) bool {
	return len(t.Segments) == 0 && len(t.Prefixes) == 0 && t.Policy == nil
}

// someBuckets reads runs of buckets that have about a share of the rows, spread over all buckets.
func (s *Sampler) someBuckets(
	ctx context.Context, r *stmt.BucketReader, share float64, add func([]types.Datum) error,
) error {
	width := max(int(share*shardmap.BucketCount), 1)
	n := min(places, width)
	each, part := (width+n-1)/n, shardmap.BucketCount/n
	for i := range n {
		lo := i * part
		if part > each {
			lo += s.Rand.IntN(part - each)
		}
		if err := r.Between(ctx, uint32(lo), uint32(min(lo+each, shardmap.BucketCount)), add); err != nil {
			return err
		}
	}
	return nil
}

// hashBelow returns a condition that a share of the rows meets, whatever they contain: that a hash of
// the primary key, with a seed, is below a limit.
func hashBelow(t *catalog.Table, share float64, r *rand.Rand) string {
	parts := []string{fmt.Sprintf("'%d'", r.Uint32())}
	for _, c := range t.Constraints {
		if c.Kind != catalog.PrimaryKey {
			continue
		}
		for _, n := range c.Columns {
			if col := t.ColumnByNum(n); col != nil {
				parts = append(parts, builtin.QuoteIdent(col.Name)+"::text")
			}
		}
	}
	if len(parts) == 1 {
		return ""
	}
	return fmt.Sprintf("sherd.slice(md5(%s)) < %d", strings.Join(parts, " || ',' || "),
		max(int(share*shardmap.BucketCount), 1))
}
