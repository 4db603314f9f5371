package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/table"
)

// compareOwnership compares the fragment's log with the map: the fragment must have the buckets
// that the map assigns to it, and none that have moved to another. Buckets that were released with
// a table have no owner, and the logs do not record it. The log is of a later time than the map; if
// they differ and the map has changed since, the difference is ignored.
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
			f.notes = append(f.notes,
				fault+"; its log counts here, for a move was under way, or another node may know a newer map")
		}
	}
}

// has returns the buckets of a fragment by its log. mapped are its buckets by the map, which counts
// for buckets that are not in the log.
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

// logRecord returns the log's record of a bucket; most buckets have none.
func (p *pass) logRecord(bucket uint32) (of Owned, known bool) {
	for _, m := range p.f.Moved {
		if m.Lo <= bucket && bucket < m.Hi {
			return m, true
		}
	}
	return Owned{}, false
}

// movedAway reports whether the fragment has lost a bucket by a move. Data that is still there is
// valid for older snapshots, and is deleted later.
func (p *pass) movedAway(bucket uint32) bool {
	of, _ := p.logRecord(bucket)
	return of.Leaving && !p.owned.Contains(shardmap.Bucket(bucket))
}

// plain returns the plain form of an entry of a local index that counts; of the index in primary
// key order if s is nil. An entry of an earlier bucket generation counts if the row agrees with it;
// otherwise it is deleted later. ok is false if the entry is malformed.
func (p *pass) plain(ctx context.Context, t *tableState, s *secondary, key,
	value []byte) (plain []byte, ok bool, err error) {
	order := s == nil
	bucket, generation, named, ok := t.rows.EntryPlace(key, value, order)
	of, known := p.logRecord(bucket)
	switch ours := p.owned.Contains(shardmap.Bucket(bucket)); {
	case !ok, ours && generation > of.Generation && !named:
		return nil, false, nil
	case !ours && (known || p.f.Added && bucket < shardmap.BucketCount || generation != 0 || named):
		return nil, true, nil
	}
	p.value = table.PlainEntry(p.value[:0], value, bucket, order)
	if generation < of.Generation || named {
		if follows, err := p.follows(ctx, t, s, key, p.value); err != nil || !follows {
			return nil, true, err
		}
	}
	return p.value, true, nil
}

// follows reports whether an entry, in its plain form, follows from the row that it refers to.
func (p *pass) follows(ctx context.Context, t *tableState, s *secondary, key, plain []byte) (follows bool, err error) {
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
		return false, nil // malformed: no entry follows from it
	}
	row := bytes.Clone(named)
	stored, err := p.f.View.Get(ctx, row)
	if err != nil || stored == nil || t.rows.Content(stored) != nil {
		return false, err
	}
	err = t.index.Entries(row, func(e table.StoredEntry) error {
		follows = follows || e.Index == s.def && bytes.Equal(e.Key, key)
		return nil
	})
	return follows, err
}

// leftover reports whether a move may have left behind a key of a table or an index that no
// definition has. Its bucket is not in the fragment any more, or came by a move, perhaps after the
// definition was dropped and its keys deleted here. The key is not read, and is deleted later. The
// kind of the index is unknown, so both the bucket in the entry's value and that in the key are
// checked.
func (p *pass) leftover(key, value []byte) bool {
	if bucket, _, ok := table.EntryPlace(value, false); ok && binary.BigEndian.Uint32(key[indexAt:]) != 0 {
		if of, _ := p.logRecord(bucket); !p.owned.Contains(shardmap.Bucket(bucket)) || of.Generation > 0 {
			return true
		}
	}
	if len(key) < bucketAt+3 {
		return false
	}
	bucket := bucketOf(key[bucketAt:]) &^ arrivedMark
	of, known := p.logRecord(bucket)
	if p.owned.Contains(shardmap.Bucket(bucket)) {
		return of.Generation > 0
	}
	return known || p.f.Added && bucket < shardmap.BucketCount
}
