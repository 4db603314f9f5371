package catalog

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/sherddb/sherd/shardmap"
)

// ofSegments reports whether the step splits or merges segments.
func (s *PlanStep) ofSegments() bool { return s.Kind == SplitStep || s.Kind == MergeStep }

// JoinKeys encodes keys as hexadecimal text, separated by commas, so that steps can be compared.
func JoinKeys(keys [][]byte) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = hex.EncodeToString(k)
	}
	return strings.Join(texts, ",")
}

// SplitKeys returns the keys of a step, nil if they are not in the form of JoinKeys.
func (s *PlanStep) SplitKeys() (keys [][]byte) {
	if s.Keys == "" {
		return nil
	}
	for _, text := range strings.Split(s.Keys, ",") {
		k, err := hex.DecodeString(text)
		if err != nil || len(k) == 0 {
			return nil
		}
		keys = append(keys, k)
	}
	return keys
}

// segments returns the segments that a step is about, nil if the table does not have all of them
// any more.
func (s *PlanStep) segments(t *Table) shardmap.Segments {
	if t == nil {
		return nil
	}
	at := slices.IndexFunc(t.Segments, func(x shardmap.Segment) bool { return x.Bucket == s.First })
	if at < 0 || at+s.Count > len(t.Segments) || t.Segments[at+s.Count-1].Bucket != s.Last {
		return nil
	}
	return t.Segments[at : at+s.Count]
}

// Gathers reports whether a step merges segments that earlier steps have not brought together yet.
func (v *View) Gathers(p RunningPlan, step int) bool {
	s := &p.Steps[step]
	if s.Kind != MergeStep {
		return false
	}
	buckets := s.segments(v.Table(s.Table)).Buckets()
	return slices.ContainsFunc(p.Steps[:step], func(x PlanStep) bool {
		return x.Kind == BucketsStep && !x.Done && !shardmap.NewBucketSet(x.Interval).Intersect(buckets).IsEmpty()
	})
}

// beginResegment starts a split or a merge of a plan. If the segments have changed meanwhile, the
// step is done.
func (c *Change) beginResegment(p RunningPlan, step int, job uint64, a Author) error {
	s := &p.Steps[step]
	list := s.segments(c.base.Table(s.Table))
	if list == nil {
		s.Done, p.Waits = true, ""
		return c.PutJob(p.Job.WithPlan(p.Plan, a.Micros))
	}
	old := make([]shardmap.Bucket, len(list))
	for i := range list {
		old[i] = list[i].Bucket
	}
	if why := c.base.Database(p.Job.Database).mayMerge(c.base.Table(s.Table), old); why != nil {
		return c.leaveOut(p, step, why, a)
	}
	if err := c.AddResegment(job, s.Table, old, append([][]byte{list[0].Start}, s.SplitKeys()...), s.What,
		a); err != nil {
		return err
	}
	s.Job, p.Waits = job, ""
	return c.PutJob(p.Job.WithPlan(p.Plan, a.Micros))
}
