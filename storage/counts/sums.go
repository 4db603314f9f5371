// Package counts counts the documents of a fragment and their bytes, by buckets: Sums is the part
// of the state machine that log entries change by deltas. A group of neighbouring buckets has one
// count; a group with many bytes is counted by bucket too (exact.go), by a Scan of its rows.
//
// The package knows stored keys, deltas and records. It reads no database and knows no log: its
// caller applies deltas in the order of the log, and reads the rows for a Scan.
package counts

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/keyspace"
	"github.com/sherddb/sherd/txn"
)

// GroupBuckets is how many neighbouring buckets share one count. A million buckets of one document
// each would otherwise cost more than the documents. Groups with more than ExactBytes are counted
// by bucket as well (exact.go).
//
// Each assigned bucket is counted by itself: there are few of them, and they are split and moved by
// the size of each.
const GroupBuckets = 256

// groupOf numbers the group of a bucket, bounds the buckets of a group.
func groupOf(bucket uint32) uint32 {
	if bucket >= shardmap.BucketCount {
		return shardmap.BucketCount/GroupBuckets + bucket - shardmap.BucketCount
	}
	return bucket / GroupBuckets
}

func groupBounds(group uint32) (from, to uint32) {
	if first := uint32(shardmap.BucketCount / GroupBuckets); group >= first {
		from = shardmap.BucketCount + group - first
		return from, from + 1
	}
	return group * GroupBuckets, (group + 1) * GroupBuckets
}

// Range counts the documents of the buckets [From, To) of a table, and their bytes (keys and
// values as stored, newest versions).
type Range struct {
	Table, From, To  uint32
	Documents, Bytes int64
}

type groupKey struct {
	table uint32
	group uint32
}

type tally struct{ docs, bytes int64 }

// Sums are part of the state machine: entries contain deltas, and the sums are written with every
// checkpoint at its stamp (S1). One goroutine applies; any number may ask meanwhile.
type Sums struct {
	mu    sync.RWMutex
	sums  map[groupKey]tally    // guarded by mu; written by the applying goroutine alone
	whole map[uint32]tally      // of each table: the sum of its groups; guarded by mu
	dirty map[groupKey]struct{} // since the last checkpoint; applying goroutine only
	exact exactCounts           // guarded by mu
}

// New returns empty sums.
func New() *Sums {
	return &Sums{
		sums: map[groupKey]tally{}, whole: map[uint32]tally{}, dirty: map[groupKey]struct{}{}, exact: newExactCounts(),
	}
}

// Deltas gathers what a write set changes, by group.
type Deltas map[groupKey]tally

// Add takes a change of one row. Deltas of moves are of groups: what a move brings is counted by
// bucket once it is here.
func (d *Deltas) Add(key []byte, docs, bytes int) {
	if *d == nil {
		*d = Deltas{}
	}
	k := groupKey{keyspace.TableOf(key), groupOf(keyspace.BucketOf(key))}
	v := (*d)[k]
	(*d)[k] = tally{v.docs + int64(docs), v.bytes + int64(bytes)}
}

// Encode returns the deltas in the order of tables and groups.
func (d Deltas) Encode() []byte {
	var b []byte
	for _, k := range slices.SortedFunc(maps.Keys(d), compareGroup) {
		b = binary.AppendUvarint(b, uint64(k.table))
		b = binary.AppendUvarint(b, uint64(k.group))
		b = binary.AppendVarint(b, d[k].docs)
		b = binary.AppendVarint(b, d[k].bytes)
	}
	return b
}

func compareGroup(a, b groupKey) int {
	if a.table != b.table {
		return int(int64(a.table) - int64(b.table))
	}
	return int(int64(a.group) - int64(b.group))
}

// Apply adds encoded deltas.
func (s *Sums) Apply(b []byte) error { return s.sum(b, false) }

// Leave subtracts what has moved away with its buckets, which encoded deltas count. If a group has
// no count, nothing is subtracted: the deltas may count rows of a table that an earlier entry has
// dropped, because such rows are deleted in the background.
func (s *Sums) Leave(b []byte) error { return s.sum(b, true) }

func (s *Sums) sum(b []byte, known bool) error {
	if len(b) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return eachDelta(b, func(d delta) {
		v, ok := s.sums[d.groupKey]
		if !ok && known {
			return
		}
		s.exact.add(d)
		s.set(d.groupKey, tally{v.docs + d.docs, v.bytes + d.bytes})
	})
}

func (s *Sums) set(k groupKey, v tally) {
	s.exact.resize(k, v.bytes-s.sums[k].bytes)
	s.grow(k.table, v.docs-s.sums[k].docs, v.bytes-s.sums[k].bytes)
	if v == (tally{}) {
		delete(s.sums, k)
	} else {
		s.sums[k] = v
	}
	s.dirty[k] = struct{}{}
}

// grow adds to the sum of a table.
func (s *Sums) grow(table uint32, docs, bytes int64) {
	v := s.whole[table]
	if v = (tally{v.docs + docs, v.bytes + bytes}); v == (tally{}) {
		delete(s.whole, table)
	} else {
		s.whole[table] = v
	}
}

// Total returns the documents of a table and their bytes. It costs nothing.
func (s *Sums) Total(table uint32) (docs, bytes int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v := s.whole[table]
	return v.docs, v.bytes
}

// Totals returns the documents of a table (0: of each table, in order) and their bytes, in all buckets.
func (s *Sums) Totals(table uint32) []Range {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if table != 0 {
		return []Range{{Table: table, Documents: s.whole[table].docs, Bytes: s.whole[table].bytes}}
	}
	out := make([]Range, 0, len(s.whole))
	for _, table := range slices.Sorted(maps.Keys(s.whole)) {
		out = append(out, Range{Table: table, Documents: s.whole[table].docs, Bytes: s.whole[table].bytes})
	}
	return out
}

// Drop removes the sums of groups that lie in span entirely.
func (s *Sums) Drop(span txn.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.sums {
		if k.within(span) {
			s.exact.drop(k)
			s.set(k, tally{})
		}
	}
}

// within reports whether a group lies in span entirely.
func (k groupKey) within(span txn.Span) bool {
	from, to := groupBounds(k.group)
	whole := keyspace.BucketSpan(k.table, from, to)
	return span.Contains(whole.Start) && (len(span.End) == 0 || string(span.End) >= string(whole.End))
}

// Without returns the deltas of groups that do not lie in span entirely.
func (d Deltas) Without(span txn.Span) Deltas {
	out := Deltas{}
	for k, v := range d {
		if !k.within(span) {
			out[k] = v
		}
	}
	return out
}

// Checkpoint calls put with the records changed since the last one, without a value for those to be
// deleted.
func (s *Sums) Checkpoint(put func(key, value []byte) error) error {
	for k := range s.dirty {
		key, value := statRecord(k, s.sums[k])
		if err := put(key, value); err != nil {
			return err
		}
	}
	clear(s.dirty)
	return s.exact.checkpoint(put)
}

// Load reads a record that Checkpoint or All has made; rest is what follows the kind in its key.
func (s *Sums) Load(rest, value []byte) error {
	r := codec.Reader{B: value}
	k := groupKey{}
	switch {
	case r.Byte() != 1:
		r.Err = codec.ErrMalformed
	case len(rest) == 6:
		k = groupKey{binary.BigEndian.Uint32(rest), uint32(binary.BigEndian.Uint16(rest[4:]))}
	case len(rest) == 8: // of assigned buckets
		k = groupKey{binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])}
	default:
		r.Err = codec.ErrMalformed
	}
	if r.Err != nil {
		return fmt.Errorf("statistics of a format this release does not know")
	}
	v := tally{r.Varint(), r.Varint()}
	if r.Err == nil && v != (tally{}) {
		s.exact.resize(k, v.bytes)
		s.grow(k.table, v.docs-s.sums[k].docs, v.bytes-s.sums[k].bytes)
		s.sums[k] = v
	}
	return r.Err
}

// ByTable returns the counts of table (0: of all tables), in order. Each counts a group of buckets,
// or a part of one if the group is counted by bucket: a bucket above ExactBytes by itself, and the
// buckets between such ones in runs of at most ExactBytes. Parts without documents are left out.
func (s *Sums) ByTable(table uint32) []Range {
	s.mu.RLock()
	defer s.mu.RUnlock()
	cuts := map[uint32][]bucketRun{}
	out := make([]Range, 0, len(s.sums))
	for _, k := range slices.SortedFunc(maps.Keys(s.sums), compareGroup) {
		if table == 0 || k.table == table {
			out = s.appendParts(out, k, cuts)
		}
	}
	return out
}

// ByGroup returns the counts of all groups, each followed by the buckets above ExactBytes that are
// counted by themselves. Only for Sums that no other goroutine uses.
func (s *Sums) ByGroup() []Range {
	out := make([]Range, 0, len(s.sums))
	for _, k := range slices.SortedFunc(maps.Keys(s.sums), compareGroup) {
		from, to := groupBounds(k.group)
		out = append(out, Range{k.table, from, to, s.sums[k].docs, s.sums[k].bytes})
		out = s.appendExact(out, k)
	}
	return out
}

// Clone returns a copy that no other goroutine changes.
func (s *Sums) Clone() *Sums {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := New()
	out.sums, out.whole, out.exact.bytes = maps.Clone(s.sums), maps.Clone(s.whole), maps.Clone(s.exact.bytes)
	for g, c := range s.exact.counts {
		out.exact.counts[g] = &exactCount{base: c.base, slack: c.slack, sums: maps.Clone(c.sums),
			dirty: map[bucketKey]struct{}{}}
	}
	return out
}

// Replace takes the sums of o; all of them are written with the next checkpoint.
func (s *Sums) Replace(o *Sums) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.sums {
		s.dirty[k] = struct{}{}
	}
	s.sums, s.whole = o.sums, o.whole
	for k := range s.sums {
		s.dirty[k] = struct{}{}
	}
	for g := range s.exact.counts {
		s.exact.cancel(g)
	}
	s.exact.bytes = o.exact.bytes
	s.exact.pending(s.exact.want)
}

// All calls fn with every sum as a record.
func (s *Sums) All(fn func(key, value []byte)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for k, v := range s.sums {
		fn(statRecord(k, v))
	}
}

func statRecord(k groupKey, v tally) (key, value []byte) {
	rest := binary.BigEndian.AppendUint32(nil, k.table)
	if k.group < shardmap.BucketCount/GroupBuckets {
		rest = binary.BigEndian.AppendUint16(rest, uint16(k.group))
	} else {
		rest = binary.BigEndian.AppendUint32(rest, k.group)
	}
	b := binary.AppendVarint([]byte{1}, v.docs)
	return keyspace.Record(keyspace.Statistics, rest...), binary.AppendVarint(b, v.bytes)
}
