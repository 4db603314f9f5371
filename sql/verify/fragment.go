package verify

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/sherddb/sherd/internal/pgerr"
	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/sql/exec/table"
	"github.com/sherddb/sherd/txn"
)

// The common parts of keys: table(4) · index(4), in keys of rows followed by bucket(3) ·
// generation(4).
const (
	indexAt  = 4
	bucketAt = 8
	rowAt    = 15

	// set in the bucket of a global index entry that storage does not recognize as one: the bucket
	// has a generation
	arrivedMark = 0x800000
)

// pass is one scan of a fragment.
type pass struct {
	c      *Check
	f      *Fragment
	name   string
	owned  shardmap.BucketSet
	unseen map[uint32]int64  // keys of unknown tables, by storage id
	stale  int64             // keys that moves have left behind and that are not read
	counts map[counted]*Stat // rows of known tables
	// Buckets of known tables above Fragment.Exact.
	buckets map[counted]Stat
	sums    map[*tableState]*tallys // of tables with an index
	seeds   [2]maphash.Seed
	buf     []byte
	value   []byte // the last entry's plain form

	storageID uint32      // of the current keys
	table     *tableState // nil if unknown
	current   *Stat       // the last row's group
	bucket    Stat        // the last row's bucket
	rows      *finding
	places    *finding
	entries   *finding
	sum       *tallys
}

type counted struct{ table, from, to uint32 }

// tally is a multiset of rows: their number, and a sum of hashes that does not depend on their
// order.
type tally struct {
	n   int64
	sum [2]uint64
}

type tallys struct{ rows, entries tally }

// Fragment checks a fragment.
func (c *Check) Fragment(ctx context.Context, f *Fragment) error {
	p := &pass{
		c: c, f: f, name: c.fragmentName(f.ID), unseen: map[uint32]int64{}, counts: map[counted]*Stat{},
		buckets: map[counted]Stat{}, sums: map[*tableState]*tallys{}, seeds: c.seeds,
	}
	if c.db.Map != nil {
		p.owned = c.db.Map.Owned(f.ID)
	}
	p.compareOwnership()
	if f.Alone {
		p.owned = f.has(p.owned)
	}
	if err := f.View.Scan(ctx, txn.Span{}, false, func(key,
		value []byte) error {
		return p.checkKey(ctx, key, value)
	}); err != nil {
		return p.unreadable(err)
	}
	for id, n := range p.unseen {
		if c.lags {
			f := c.finding(checkStorage, p.name, "keys")
			f.notes = append(f.notes, fmt.Sprintf(
				"%d keys of storage id %d, of a table that this node had not heard of, or that it knows to be dropped",
				n, id))
			continue
		}
		c.fault(checkStorage, p.name, "%d keys of storage id %d, which no table has", n, id)
	}
	if p.stale > 0 {
		f := c.finding(checkStorage, p.name, "keys")
		f.notes = append(f.notes,
			fmt.Sprintf("%d unused keys that moves have left, mostly entries of local indexes", p.stale))
	}
	c.taken++
	if err := p.compareSecondaries(ctx); err != nil {
		return err
	}
	for id, t := range c.tables {
		if s := p.sums[t]; s != nil && s.rows != s.entries {
			if err := p.compareIndex(ctx, id, t); err != nil {
				return err
			}
		}
	}
	return p.compareStats(ctx)
}

// unreadable records damage that keeps the fragment from being read; other errors end the check.
func (p *pass) unreadable(err error) error {
	if pg := (*pgerr.Error)(nil); !errors.As(err, &pg) || pg.Code != pgerr.DataCorrupted {
		return err
	}
	p.c.fault(checkStorage, p.name, "reading ended after %d keys: %s", p.c.finding(checkStorage, p.name, "keys").looked,
		explain(err))
	return nil
}

// checkKey checks one key.
func (p *pass) checkKey(ctx context.Context, key, value []byte) error {
	if len(key) < bucketAt {
		p.c.fault(checkStorage, p.name, "%s is too short", table.KeyName(key))
		return nil
	}
	p.c.finding(checkStorage, p.name, "keys").looked++
	if id := binary.BigEndian.Uint32(key); id != p.storageID || p.table == nil {
		p.startTable(id)
	}
	if p.table == nil {
		switch {
		case p.dropped(key):
		case p.leftover(key, value):
			p.stale++
		default:
			p.unseen[p.storageID]++
		}
		return nil
	}
	switch index := binary.BigEndian.Uint32(key[indexAt:]); index {
	case 0:
		p.takeRow(key, value)
	case p.table.rows.Order():
		return p.checkOrderEntry(ctx, key, value)
	default:
		ok, err := p.checkSecondaryEntry(ctx, index, key, value)
		if ok || err != nil || p.droppedIndex(index, key) {
			return err
		}
		if p.leftover(key, value) {
			p.stale++
			return nil
		}
		p.c.fault(checkIndex, p.table.name, "%s: %s belongs to index %d, which the table does not have", p.name,
			table.KeyName(key), index)
	}
	return nil
}

// startTable starts the keys of another table.
func (p *pass) startTable(id uint32) {
	p.storageID, p.current = id, nil
	if p.table = p.c.tables[id]; p.table == nil {
		return
	}
	name := p.table.name
	p.rows, p.places = p.c.finding(checkRows, name, "rows"), p.c.finding(checkPlacement, name, "rows")
	if p.sum = p.sums[p.table]; p.sum == nil {
		p.sum = &tallys{}
		p.sums[p.table] = p.sum
	}
	if p.table.rows.Order() != 0 {
		p.entries = p.c.finding(checkIndex, name, "entries")
	}
}

// dropped reports whether the key belongs to a table that is being deleted.
func (p *pass) dropped(key []byte) bool {
	return p.c.dropping[p.storageID] || slices.ContainsFunc(p.f.Dropping,
		func(s txn.Span) bool { return s.Contains(key) })
}

// checkOrderEntry checks an entry in primary key order.
func (p *pass) checkOrderEntry(ctx context.Context, key, value []byte) error {
	plain, ok, err := p.plain(ctx, p.table, nil, key, value)
	if plain == nil && ok {
		p.stale++
		return err
	}
	p.entries.looked++
	if !ok {
		plain = value // compareIndex names it, because no row has such an entry
	}
	p.hash(&p.sum.entries, plain, key[bucketAt:])
	return err
}

func (p *pass) takeRow(key, value []byte) {
	t := p.table
	if len(key) >= rowAt && p.movedAway(bucketOf(key[bucketAt:])) {
		p.count(bucketOf(key[bucketAt:]), len(key)+len(value))
		return
	}
	p.rows.looked++
	if len(key) < rowAt {
		p.c.fault(checkRows, t.name, "%s: %s is too short for a row's", p.name, table.KeyName(key))
		return
	}
	bucket := bucketOf(key[bucketAt:])
	p.count(bucket, len(key)+len(value))
	if t.rows.Order() != 0 {
		p.hash(&p.sum.rows, key[bucketAt:bucketAt+3], key[rowAt:])
	}
	if !p.owned.Contains(shardmap.Bucket(bucket)) {
		p.c.fault(checkPlacement, t.name, "%s: %s lies in bucket %d, which the map does not give to this fragment",
			p.name, table.KeyName(key[rowAt:]), bucket)
	}
	if err := t.rows.Content(value); err != nil {
		p.c.fault(checkRows, t.name, "%s: %s: %s", p.name, table.KeyName(key[rowAt:]), explain(err))
		return
	}
	if err := p.expectEntries(key); err != nil {
		p.c.fault(checkIndex, t.name, "%s: %s: %s", p.name, t.rows.Name(key[rowAt:]), explain(err))
	}
	p.places.looked++
	if err := t.rows.Place(key); err != nil {
		p.c.fault(checkPlacement, t.name, "%s: %s: %s", p.name, t.rows.Name(key[rowAt:]), explain(err))
	}
}

// explain returns an error's message with its detail.
func explain(err error) string {
	var pg *pgerr.Error
	if errors.As(err, &pg) {
		if pg.Detail != "" {
			return pg.Message + ": " + pg.Detail
		}
		return pg.Message
	}
	return err.Error()
}

func bucketOf(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// count adds a row to its group of buckets.
func (p *pass) count(bucket uint32, bytes int) {
	group := p.f.Group
	if bucket >= shardmap.BucketCount {
		group = 1
	}
	from := bucket - bucket%group
	if p.current == nil || p.current.From != from {
		k := counted{p.storageID, from, from + group}
		if p.current = p.counts[k]; p.current == nil {
			p.current = &Stat{Table: p.storageID, From: from, To: from + group}
			p.counts[k] = p.current
		}
	}
	p.current.Documents++
	p.current.Bytes += int64(bytes)
	if group == 1 {
		return
	}
	if p.bucket.Table != p.storageID || p.bucket.From != bucket {
		p.endBucket()
		p.bucket = Stat{Table: p.storageID, From: bucket, To: bucket + 1}
	}
	p.bucket.Documents++
	p.bucket.Bytes += int64(bytes)
}

// endBucket records the count of the last row's bucket if the statistics may have that bucket by
// itself. Rows come in bucket order.
func (p *pass) endBucket() {
	if p.f.Exact > 0 && p.bucket.Bytes > p.f.Exact {
		p.buckets[counted{p.bucket.Table, p.bucket.From, p.bucket.To}] = p.bucket
	}
}

// hash adds a row or entry to its tally: bucket, then primary key.
func (p *pass) hash(t *tally, bucket, primaryKey []byte) {
	p.buf = append(binary.AppendUvarint(p.buf[:0], uint64(len(bucket))), bucket...)
	p.buf = append(p.buf, primaryKey...)
	t.n++
	for i, seed := range p.seeds {
		t.sum[i] += maphash.Bytes(seed, p.buf)
	}
}

// compareStats compares the fragment's statistics with the rows. They may be of different times, so
// a group that differs is counted again at the time of the statistics.
func (p *pass) compareStats(ctx context.Context) error {
	stats, err := p.f.Stats(ctx)
	if err != nil {
		return err
	}
	p.endBucket()
	for _, s := range stats {
		k := counted{s.Table, s.From, s.To}
		if p.buckets[k] == s {
			p.looked(s.Table)
			continue
		}
		if got := p.counts[k]; got == nil || *got != s {
			if err := p.recount(ctx, s); err != nil {
				return err
			}
		}
		p.looked(s.Table)
		delete(p.counts, k)
	}
	for _, s := range p.counts {
		p.looked(s.Table)
		if err := p.recount(ctx, Stat{Table: s.Table, From: s.From, To: s.To}); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) looked(table uint32) {
	if t := p.c.tables[table]; t != nil {
		p.c.finding(checkStatistics, t.name, "groups of buckets").looked++
	}
}

// recount counts a group again and compares it with the statistics s.
func (p *pass) recount(ctx context.Context, s Stat) error {
	key := binary.BigEndian.AppendUint32(nil, s.Table)
	p.storageID = s.Table
	if p.dropped(append(key, 0, 0, 0, 0)) {
		return nil
	}
	documents, bytes, err := p.f.Recount(ctx, s)
	if err != nil || documents == s.Documents && bytes == s.Bytes {
		return err
	}
	subject := fmt.Sprintf("storage id %d", s.Table)
	if t := p.c.tables[s.Table]; t != nil {
		subject = t.name
	}
	p.c.fault(checkStatistics, subject, "%s: buckets %v have %d documents of %d bytes, the statistics say %d of %d",
		p.name, shardmap.Interval{Lo: s.From, Hi: s.To}, documents, bytes, s.Documents, s.Bytes)
	return nil
}
