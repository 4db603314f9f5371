package sysview

import (
	"fmt"
	"math"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/builtin"
	"github.com/sherddb/sherd/sql/types"
)

const (
	obese   = 128 << 20 // bytes above which a bucket is not moved for balance
	crowded = 0.05      // share of a table's bytes from which a group of buckets is reported
)

// Remedy is a way to improve a bucket or a row.
type Remedy struct {
	Statement string // SQL that can be run unchanged; "" if no statement helps
	Advice    string // what the statement does, or why there is none
}

func (r *record) remedy(x Remedy) *record {
	return r.optional("remedy", x.Statement).optional("advice", x.Advice)
}

// obeseBuckets is sherd.obese_buckets. A bucket above 4 MiB is counted by itself; before that has
// happened, its group of buckets has a row.
func obeseBuckets(b *builder) error {
	return b.tables(func(t *catalog.Table) error {
		stats, _, err := b.env.counted(b.env.Database, t.StorageID)
		if err != nil {
			return err
		}
		_, all := total(stats, nil)
		for _, s := range stats {
			if s.Bytes <= obese {
				continue
			}
			x := oversized{Stat: s, table: t, share: float64(s.Bytes) / float64(all), reads: b.canRead(t.OID)}
			x.block = blockBytes(t, stats, s.From)
			r := b.row().oid("collection", t.OID).int("first_bucket", int64(s.From)).int("end_bucket", int64(s.To)).
				text("fragment", b.env.fragmentName(s.Fragment)).
				int("documents", s.Documents).int("bytes", s.Bytes).
				set("share", types.NewFloat8(math.Round(x.share*1000)/1000))
			if fields := b.env.Hot.Fields(t, s.From, s.To); len(fields) > 0 {
				r.texts("hottest_fields", fields)
			}
			remedy, err := b.obeseRemedy(&x)
			if err != nil {
				return err
			}
			if err := r.remedy(remedy).send(); err != nil {
				return err
			}
		}
		return nil
	})
}

// oversized has what the remedy for an obese bucket, or a group of buckets, depends on.
type oversized struct {
	Stat
	table *catalog.Table
	share float64 // of the table's bytes
	block int64   // bytes of the first bucket's block under the policy's Range
	reads bool    // the session may read the table's rows
}

// blockBytes returns the bytes of a table in the policy's block of a bucket.
func blockBytes(t *catalog.Table, stats []Stat, bucket uint32) int64 {
	if t.Policy == nil {
		return 0
	}
	lo := bucket - bucket%t.Policy.Range
	_, bytes := total(stats, func(s *Stat) bool {
		return s.From >= lo && s.To <= lo+t.Policy.Range || s.From == bucket
	})
	return bytes
}

// obeseRemedy returns the remedy for the size of a bucket; if no statement reduces it, the remedy
// for the hottest row in it.
func (b *builder) obeseRemedy(x *oversized) (Remedy, error) {
	r, err := b.env.smaller(x)
	if err != nil || r.Statement != "" || !x.reads || x.To-x.From != 1 {
		return r, err
	}
	hot, err := b.hottestIn(x)
	if err != nil || hot.Statement == "" {
		return r, err
	}
	return Remedy{hot.Statement, r.Advice + "; " + hot.Advice}, nil
}

// hottestIn returns the remedy for the most used row of an obese bucket.
func (b *builder) hottestIn(x *oversized) (Remedy, error) {
	list, all := b.hot(func(h Heat) bool { return h.Collection == x.table.OID && h.Bucket == int64(x.From) })
	if len(list) == 0 || all == 0 {
		return Remedy{}, nil
	}
	return b.env.hotRemedy(list[0], (list[0].Reads+list[0].Writes)/all)
}

// smaller returns the remedy for the size of a bucket, or of a group of buckets.
func (e *Env) smaller(x *oversized) (Remedy, error) {
	t := x.table
	switch {
	case x.To-x.From > 1:
		return e.group(x), nil
	case x.Documents <= 1:
		return Remedy{Advice: "one row has all the bytes: only the application can divide it"}, nil
	case t.Segments != nil:
		return e.halve(x), nil
	}
	if rng := wider(t.Policy, x.block); rng != 0 {
		r := Remedy{Statement: fmt.Sprintf("ALTER TABLE %s SET (shard_range = %d)", e.qualified(t.Schema, t.Name), rng)}
		if r.Advice = fmt.Sprintf(
			"rows of one content spread over %d buckets; the table is locked while its rows are stored there",
			rng); t.Anchors {
			r.Advice = fmt.Sprintf(
				"new documents of one content spread over %d buckets; documents that are there already "+
					"stay until sherd.replace_placement(…, spread => true)", rng)
		}
		return r, nil
	}
	if !t.Anchors {
		return Remedy{Advice: "the whole key of a row chooses its bucket: few rows have the bytes, and only the " +
			"application can divide them"}, nil
	}
	if r, err := e.spread(x); err != nil || r != (Remedy{}) {
		return r, err
	}
	return e.isolate(x)
}

// spread moves documents of a bucket to the other buckets of their block, if the policy's Range is
// wide enough for the block's bytes. In that case most documents were inserted before the Range was
// widened, or name an anchor. It does not help if the documents already lie where they would be
// inserted now, as after the job.
func (e *Env) spread(x *oversized) (Remedy, error) {
	t, p := x.table, x.table.Policy
	if p == nil || p.Mutable || p.IsID() || p.Range == 1 || x.block/int64(p.Range) > obese/2 || !x.reads {
		return Remedy{}, nil
	}
	for j := range e.View.Jobs() {
		r, err := j.Replacement()
		under := j.State == catalog.JobRunning || j.State == catalog.JobPaused
		if err == nil && r.Spread && j.Table == t.OID && under {
			return Remedy{Advice: fmt.Sprintf("job %d spreads documents over the %d buckets of their block: "+
				"sherd.jobs shows how far it is", j.ID, p.Range)}, nil
		}
	}
	spreads, err := e.Hot.Spreads(t, x.From)
	if err != nil || !spreads {
		return Remedy{}, err
	}
	name := builtin.QuoteLiteral(e.qualified(t.Schema, t.Name))
	return Remedy{fmt.Sprintf("SELECT sherd.replace_placement(%s, spread => true)", name),
		fmt.Sprintf("documents that are there get ids that spread them over the %d buckets of their block, "+
			"in the background; their former ids still find them", p.Range)}, nil
}

// wider returns a Range that divides the bytes of a block into buckets well below the limit. It is
// a multiple of the present Range, so that the policy stays validated. It is 0 if the Range is wide
// enough, or if the policy does not place documents by content.
func wider(p *shardmap.Policy, block int64) int64 {
	if p == nil || p.Mutable || p.IsID() || block/int64(p.Range) <= obese/2 {
		return 0
	}
	for rng := int64(p.Range) * 10; rng <= shardmap.MaxRange/4; rng *= 10 {
		if block/rng <= obese/2 {
			return rng
		}
	}
	return 0
}

// group returns the remedy for buckets that are not counted individually yet.
func (e *Env) group(x *oversized) Remedy {
	if x.share < crowded && x.Documents > int64(x.To-x.From) {
		return Remedy{Advice: "the data is spread, there is much of it: more fragments make each smaller"}
	}
	r := Remedy{Statement: e.crowdedBucket(x.table, &x.Stat),
		Advice: "these buckets are not counted one by one yet; the statement shows the fullest"}
	if r.Statement == "" {
		r.Advice = "these buckets are not counted one by one yet"
	}
	return r
}

// halve splits a segment into two with equal bytes. A plan of the balancer splits a segment only if
// it is above sherd.segment_size, which may be off, and only after larger segments.
func (e *Env) halve(x *oversized) Remedy {
	t := x.table
	for i := range t.Segments {
		if uint32(t.Segments[i].Bucket) == x.From {
			name := builtin.QuoteLiteral(e.qualified(t.Schema, t.Name))
			return Remedy{fmt.Sprintf("SELECT sherd.halve_segment(%s, %s)", name,
				builtin.QuoteLiteral(t.SegmentName(i))),
				"the segment is split at the key that divides its bytes, beside its users; " +
					"sherd.split_segment splits at a key of your choice"}
		}
	}
	return Remedy{Advice: "the segment was split or merged just now"}
}

// isolate moves the bucket to its own fragment, if the topology allows that.
func (e *Env) isolate(x *oversized) (Remedy, error) {
	d, bucket := e.Database, shardmap.Bucket(x.From)
	if pin, ok := d.PinOf(bucket); ok {
		if d.Isolates(pin.Fragment) {
			return Remedy{Advice: fmt.Sprintf("the bucket is isolated: fragment %s has nothing else",
				d.NameOf(pin.Fragment))}, nil
		}
		return Remedy{Advice: fmt.Sprintf("the bucket is pinned to fragment %s: sherd.unpin ends the pin",
			d.NameOf(pin.Fragment))}, nil
	}
	id, err := e.anchorIn(x)
	if err != nil {
		return Remedy{}, err
	}
	if err := e.tryIsolate(shardmap.OneBucket(bucket), id); err != nil {
		return Remedy{Advice: "the bucket cannot be isolated now: " + pgerr.From(err).Message}, nil
	}
	return Remedy{fmt.Sprintf("SELECT sherd.isolate_anchor(%s)", builtin.QuoteLiteral(id)),
		"the bucket moves to a new fragment, which receives no other buckets"}, nil
}

// tryIsolate makes the change of sherd.isolate_anchor without committing it.
func (e *Env) tryIsolate(v shardmap.Interval, id string) error {
	d, next := e.Database, uint32(0)
	for i := range d.Fragments {
		next = max(next, d.Fragments[i].ID+1)
	}
	_, err := e.View.Plan().Isolate(d.OID, next, d.Fragments[0].Nodes, 1, v, id, catalog.Author{})
	return err
}

// anchorIn returns an id that lies in the bucket: the anchor of one of its documents, or the
// document's id. If the session may not read the documents, or there are prefix rules, it returns
// an id with the number of the bucket.
func (e *Env) anchorIn(x *oversized) (string, error) {
	var ids []string
	if x.reads && len(e.Database.Prefixes) == 0 {
		id, err := e.Hot.SomeID(x.table, x.From, x.To)
		if err != nil {
			return "", err
		}
		if at := strings.LastIndexByte(id, '$'); at > 0 && !strings.HasPrefix(id[at+1:], "@") {
			ids = append(ids, id[at+1:])
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		if b, err := e.Database.Rules().BucketOf(id); id != "" && err == nil && uint32(b) == x.From {
			return id, nil
		}
	}
	return fmt.Sprintf("%s/$@%d", x.table.Name, x.From), nil
}

// crowdedBucket returns the statement that finds the largest buckets of a group, for tables whose
// key is one text column; "" for others. It reads only these buckets by sherd.slice, if ids have
// anchors and no prefix rule places some elsewhere.
func (e *Env) crowdedBucket(t *catalog.Table, s *Stat) string {
	pk := t.PrimaryKey()
	if pk == nil || len(pk.Columns) != 1 {
		return ""
	}
	column := t.ColumnByNum(pk.Columns[0])
	if column == nil || column.Type != types.Text {
		return ""
	}
	name, id := e.qualified(t.Schema, t.Name), builtin.QuoteIdent(column.Name)
	bucket := fmt.Sprintf("sherd.bucket(%s, %s)", builtin.QuoteLiteral(name), id)
	if t.Anchors && len(e.Database.Prefixes) == 0 {
		bucket = fmt.Sprintf("sherd.slice(%s)", id)
	}
	return fmt.Sprintf("SELECT %s, count(*) FROM %s WHERE %s >= %d AND %s < %d GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
		bucket, name, bucket, s.From, bucket, s.To)
}
