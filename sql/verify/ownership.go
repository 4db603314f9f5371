package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec"
)

// compareOwnership holds the fragment's log against the map: it must have the buckets that the map gives it, and none that have moved to another. Those that
// were taken back with a table are nobody's, and the logs are not told. The
// log is of a later moment than the map: where they differ, and the map has changed since, nothing can be said.
func (p *pass) compareOwnership() {
	if p.c.db.Map == nil {
		return
	}
	faults := p.ownershipFaults()
	switch {
	case len(faults) == 0:
	case !p.f.Remapped():
		for _, fault := range faults {
			p.c.fault(checkOwnership, p.name, "%s", fault)
		}
	case p.f.Alone:
		f := p.c.finding(checkOwnership, p.name, "ranges")
		for _, fault := range faults[:min(len(faults), maxShown)] {
			f.notes = append(f.notes, fault+"; its log counts here, for a move was under way, or another node may know a newer map")
		}
	}
}

// has gives the buckets that a fragment has by its log; mapped are those that the map gives it, which counts for what its log says nothing of.
func (f *Fragment) has(mapped shardmap.BucketSet) shardmap.BucketSet {
	if f.Added {
		mapped = shardmap.BucketSet{}
	}
	for _, m := range f.Moved {
		set := shardmap.NewBucketSet(m.Interval)
		if m.Has {
			mapped = mapped.Union(set)
		} else {
			mapped = mapped.Minus(set)
		}
	}
	return mapped
}

func (p *pass) ownershipFaults() (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	f := p.c.finding(checkOwnership, p.name, "ranges")
	for _, r := range p.c.db.Map.Ranges() {
		if r.Fragment == p.f.ID {
			f.looked++
		}
	}
	left := p.owned
	for _, m := range p.f.Moved {
		set := shardmap.NewBucketSet(m.Interval).Intersect(p.c.db.Map.All())
		ours := p.owned.Intersect(set)
		switch {
		case m.Owned && !ours.Equal(set):
			fault("its log has buckets %v, of which the map gives it %d of %d", m.Interval, ours.Len(), set.Len())
		case !m.Owned && !m.Leaving && !ours.IsEmpty():
			fault("the map gives it buckets of %v, which its log does not have", m.Interval)
		}
		left = left.Minus(set)
	}
	if left = left.Intersect(shardmap.AllBuckets()); p.f.Added && !left.IsEmpty() {
		fault("the map gives it %d buckets that its log does not have", left.Len())
	}
	return faults
}

// about gives what the log says of a bucket; nothing of most.
func (p *pass) about(bucket uint32) (of Owned, known bool) {
	for _, m := range p.f.Moved {
		if m.Lo <= bucket && bucket < m.Hi {
			return m, true
		}
	}
	return Owned{}, false
}

// left tells whether a bucket is not the fragment's because it has moved away. What lies there still is right for older snapshots, and goes in time.
func (p *pass) left(bucket uint32) bool {
	of, _ := p.about(bucket)
	return of.Leaving && !p.owned.Contains(shardmap.Bucket(bucket))
}

// plain gives the plain form of an entry of a local index that counts, of the one in primary key order where s is nil. What an earlier stay of its bucket
// has left counts where the row says the same, and goes in time else. ok is false where it is malformed.
func (p *pass) plain(ctx context.Context, t *table, s *secondary, key, value []byte) (plain []byte, ok bool, err error) {
	order := s == nil
	bucket, arrival, named, ok := t.rows.EntryPlace(key, value, order)
	of, known := p.about(bucket)
	switch ours := p.owned.Contains(shardmap.Bucket(bucket)); {
	case !ok, ours && arrival > of.Arrival && !named:
		return nil, false, nil
	case !ours && (known || p.f.Added && bucket < shardmap.BucketCount || arrival != 0 || named):
		return nil, true, nil
	}
	p.value = exec.PlainEntry(p.value[:0], value, bucket, order)
	if arrival < of.Arrival || named {
		if follows, err := p.follows(ctx, t, s, key, p.value); err != nil || !follows {
			return nil, true, err
		}
	}
	return p.value, true, nil
}

// follows tells whether an entry, in its plain form, follows from the row that it names.
func (p *pass) follows(ctx context.Context, t *table, s *secondary, key, plain []byte) (follows bool, err error) {
	if s == nil {
		row, ok := t.rows.RowOf(nil, key, plain)
		if !ok {
			return false, nil
		}
		stored, err := p.f.View.Get(ctx, row)
		return stored != nil, err
	}
	named, err := t.index.RowOf(key, plain)
	if err != nil {
		return false, nil // malformed: nothing counts by it
	}
	row := bytes.Clone(named)
	stored, err := p.f.View.Get(ctx, row)
	if err != nil || stored == nil || t.rows.Content(stored) != nil {
		return false, err
	}
	err = t.index.Entries(row, func(e exec.Entry) error {
		follows = follows || e.Index == s.def && bytes.Equal(e.Key, key)
		return nil
	})
	return follows, err
}

// leftover tells whether a key of a table or an index that no definition names may be what a move has left: of a bucket that the fragment does not have, or that came
// by a move, perhaps after the definition had gone and its keys were deleted here. Nobody reads it, and housekeeping deletes it. Of which kind the index was is not
// known, so both the bucket in the value of an entry and that in the key count.
func (p *pass) leftover(key, value []byte) bool {
	if bucket, _, ok := exec.EntryPlace(value, false); ok && binary.BigEndian.Uint32(key[indexAt:]) != 0 {
		if of, _ := p.about(bucket); !p.owned.Contains(shardmap.Bucket(bucket)) || of.Arrival > 0 {
			return true
		}
	}
	if len(key) < bucketAt+3 {
		return false
	}
	bucket := bucketOf(key[bucketAt:]) &^ arrivedMark
	of, known := p.about(bucket)
	if p.owned.Contains(shardmap.Bucket(bucket)) {
		return of.Arrival > 0
	}
	return known || p.f.Added && bucket < shardmap.BucketCount
}
