package balance

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/sherddb/sherd/catalog"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/shardmap/balance"
)

// Settings of the cluster.
const (
	SizeSetting   = "sherd.segment_size"
	WritesSetting = "sherd.segment_writes"

	defaultSize   = 128 << 20
	defaultWrites = 2000
)

// limitsOf returns sherd.segment_size, which is kept in kilobytes, and sherd.segment_writes.
func limitsOf(view *catalog.View) balance.Limits {
	setting := func(name string, otherwise int64) int64 {
		if k := view.Cluster(); k != nil {
			if n, err := strconv.ParseInt(k.Settings[name], 10, 64); err == nil && n >= 0 {
				return n
			}
		}
		return otherwise
	}
	return balance.Limits{Size: setting(SizeSetting, defaultSize>>10) << 10,
		Writes: float64(setting(WritesSetting, defaultWrites))}
}

// ranged reports whether a database has range tables.
func ranged(view *catalog.View, d *catalog.Database) bool {
	for t := range view.Tables(d.OID) {
		if len(t.Segments) > 0 {
			return true
		}
	}
	return false
}

// tablesOf returns the range tables of a database as input of a decision.
func tablesOf(view *catalog.View, d *catalog.Database, stats []balance.Stat) (out []balance.Table) {
	held := map[shardmap.Bucket]balance.Stat{}
	for _, s := range stats {
		if b := shardmap.Bucket(s.Lo); s.Lo >= shardmap.BucketCount &&
			d.Map.Has(s.Interval) && d.Map.Lookup(b) == s.Fragment {
			held[b] = s
		}
	}
	for t := range view.Tables(d.OID) {
		if len(t.Segments) == 0 {
			continue
		}
		x := balance.Table{ID: t.OID, Name: t.Name}
		for i, s := range t.Segments {
			_, pinned := d.PinOf(s.Bucket)
			x.Segments = append(x.Segments, balance.Segment{
				Bucket: s.Bucket, Fragment: d.Map.Lookup(s.Bucket),
				Bytes: held[s.Bucket].Bytes, Documents: held[s.Bucket].Documents,
				Kept: i > 0 && !s.Automatic, Pinned: pinned,
			})
		}
		out = append(out, x)
	}
	return out
}

// withKeys makes a plan from a decision and chooses the keys at which segments are split. A segment
// that cannot be split well stays as it is, and the plan has advice about it.
func (b *Balancer) withKeys(
	ctx context.Context, view *catalog.View, d *catalog.Database, p balance.Plan,
) (*catalog.Plan, error) {
	out := planOf(p)
	out.Steps = nil
	names := namesOf(view, d)
	for i, step := range planOf(p).Steps {
		switch step.Kind {
		case catalog.SplitStep:
			s := &p.Steps[i]
			t := view.Table(step.Table)
			keys, err := b.cut(ctx, view, d, t, s)
			if err != nil {
				return nil, err
			}
			if len(keys) == 0 {
				out.Advice = append(out.Advice, notSplit(t, s))
				continue
			}
			step.Keys, step.What = catalog.JoinKeys(keys), fmt.Sprintf("%s: split at %s", t.Name, b.keysText(t, keys))
		case catalog.MergeStep:
			step.What = b.mergeText(view.Table(step.Table), step)
		case catalog.BucketsStep:
			if at, ok := names[shardmap.Bucket(step.Lo)]; ok && step.Len() == 1 {
				keys := at.table.Segments.Range(at.place)
				step.What = fmt.Sprintf("%s: [%s, %s)", at.table.Name,
					b.bound(at.table, keys.Start), b.bound(at.table, keys.End))
			}
		}
		out.Steps = append(out.Steps, step)
	}
	return out, nil
}

// named is the place of a segment in its table.
type named struct {
	table *catalog.Table
	place int
}

func namesOf(view *catalog.View, d *catalog.Database) map[shardmap.Bucket]named {
	out := map[shardmap.Bucket]named{}
	for t := range view.Tables(d.OID) {
		for i := range t.Segments {
			out[t.Segments[i].Bucket] = named{t, i}
		}
	}
	return out
}

// cut returns the keys of a split. The keys of a split that is already proposed stay the same, so
// that a proposal does not change while an operator reads it, and no segment is read twice.
func (b *Balancer) cut(
	ctx context.Context, view *catalog.View, d *catalog.Database, t *catalog.Table, s *balance.Step,
) ([][]byte, error) {
	limit := int64(0)
	if !s.ByWrites {
		limit = limitsOf(view).Size
		for _, p := range view.Plans(d.OID) {
			for i := range p.Steps {
				if x := &p.Steps[i]; p.Job.State == catalog.JobProposed &&
					x.Kind == catalog.SplitStep && x.First == s.First {
					return x.SplitKeys(), nil
				}
			}
		}
	}
	return b.cfg.Cut(ctx, t, s.First, s.From, limit)
}

// notSplit returns the advice that says why a segment stays as it is.
func notSplit(t *catalog.Table, s *balance.Step) catalog.PlanAdvice {
	text := "a segment is above sherd.segment_size, and there is no key at which it could be split"
	if s.ByWrites {
		text = "writes above sherd.segment_writes go to a segment, and no split would divide them: " +
			"most are of one key (sherd.hot_keys), or each new key lies behind all others"
	}
	return catalog.PlanAdvice{Subject: "segments of " + t.Name, Text: text}
}

func (b *Balancer) mergeText(t *catalog.Table, step catalog.PlanStep) string {
	var at [][]byte
	for i, s := range t.Segments {
		if s.Bucket == step.First {
			for _, x := range t.Segments[i+1 : min(i+step.Count, len(t.Segments))] {
				at = append(at, x.Start)
			}
		}
	}
	return fmt.Sprintf("%s: merged at %s", t.Name, b.keysText(t, at))
}

// shownKeys is how many keys of a split or merge are named.
const shownKeys = 3

func (b *Balancer) keysText(t *catalog.Table, keys [][]byte) string {
	var shown []string
	for _, k := range keys[:min(len(keys), shownKeys)] {
		shown = append(shown, b.cfg.KeyText(t, k))
	}
	text := strings.Join(shown, ", ")
	if more := len(keys) - shownKeys; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (b *Balancer) bound(t *catalog.Table, key []byte) string {
	if len(key) == 0 {
		return ""
	}
	return b.cfg.KeyText(t, key)
}
