package storage

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

// groupBuckets is how many neighbouring buckets share one count. A million buckets of one document
// each would otherwise cost more than the documents. Groups with more than ExactBytes are counted
// by bucket as well (exact.go).
//
// Each assigned bucket is counted by itself: there are few of them, and they are split and moved by
// the size of each.
const groupBuckets = 256

// groupOf numbers the group of a bucket, bounds the buckets of a group.
func groupOf(bucket uint32) uint32 {
	if bucket >= shardmap.BucketCount {
		return shardmap.BucketCount/groupBuckets + bucket - shardmap.BucketCount
	}
	return bucket / groupBuckets
}

func groupBounds(group uint32) (from, to uint32) {
	if first := uint32(shardmap.BucketCount / groupBuckets); group >= first {
		from = shardmap.BucketCount + group - first
		return from, from + 1
	}
	return group * groupBuckets, (group + 1) * groupBuckets
}

// BucketStat counts the documents of the buckets [From, To) of a table, and their bytes (keys and
// values as stored, newest versions).
type BucketStat struct {
	Table, From, To  uint32
	Documents, Bytes int64
}

type statKey struct {
	table uint32
	group uint32
}

type statValue struct{ docs, bytes int64 }

// statistics are part of the state machine: entries contain deltas, and the sums are written with
// every checkpoint at its stamp (S1).
type statistics struct {
	mu    sync.RWMutex
	sums  map[statKey]statValue // guarded by mu; written by the applying goroutine alone
	dirty map[statKey]struct{}  // since the last checkpoint; applying goroutine only
	exact exactCounts           // guarded by mu
}

func newStatistics() *statistics {
	return &statistics{sums: map[statKey]statValue{}, dirty: map[statKey]struct{}{}, exact: newExactCounts()}
}

// deltas gathers what a write set changes.
type deltas map[statKey]statValue

// Deltas of moves are of groups: what a move brings is counted by bucket once it is here.
func (d *deltas) add(key []byte, docs, bytes int) {
	if *d == nil {
		*d = deltas{}
	}
	k := statKey{keyspace.TableOf(key), groupOf(keyspace.BucketOf(key))}
	v := (*d)[k]
	(*d)[k] = statValue{v.docs + int64(docs), v.bytes + int64(bytes)}
}

// encode returns the deltas in the order of tables and groups.
func (d deltas) encode() []byte {
	var b []byte
	for _, k := range slices.SortedFunc(maps.Keys(d), compareStat) {
		b = binary.AppendUvarint(b, uint64(k.table))
		b = binary.AppendUvarint(b, uint64(k.group))
		b = binary.AppendVarint(b, d[k].docs)
		b = binary.AppendVarint(b, d[k].bytes)
	}
	return b
}

func compareStat(a, b statKey) int {
	if a.table != b.table {
		return int(int64(a.table) - int64(b.table))
	}
	return int(int64(a.group) - int64(b.group))
}

// apply adds encoded deltas.
func (s *statistics) apply(b []byte) error { return s.sum(b, false) }

// leave subtracts what has moved away with its buckets, which encoded deltas count. If a group has
// no count, nothing is subtracted: the deltas may count rows of a table that an earlier entry has
// dropped, because such rows are deleted in the background.
func (s *statistics) leave(b []byte) error { return s.sum(b, true) }

func (s *statistics) sum(b []byte, known bool) error {
	if len(b) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return eachDelta(b, func(d delta) {
		v, ok := s.sums[d.statKey]
		if !ok && known {
			return
		}
		s.exact.add(d)
		s.set(d.statKey, statValue{v.docs + d.docs, v.bytes + d.bytes})
	})
}

func (s *statistics) set(k statKey, v statValue) {
	s.exact.resize(k, v.bytes-s.sums[k].bytes)
	if v == (statValue{}) {
		delete(s.sums, k)
	} else {
		s.sums[k] = v
	}
	s.dirty[k] = struct{}{}
}

// drop removes the sums of groups that lie in span entirely.
func (s *statistics) drop(span txn.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.sums {
		if k.within(span) {
			s.exact.drop(k)
			s.set(k, statValue{})
		}
	}
}

// within reports whether a group lies in span entirely.
func (k statKey) within(span txn.Span) bool {
	from, to := groupBounds(k.group)
	whole := keyspace.BucketSpan(k.table, from, to)
	return span.Contains(whole.Start) && (len(span.End) == 0 || string(span.End) >= string(whole.End))
}

// without returns the deltas of groups that do not lie in span entirely.
func (d deltas) without(span txn.Span) deltas {
	out := deltas{}
	for k, v := range d {
		if !k.within(span) {
			out[k] = v
		}
	}
	return out
}

// checkpoint calls put with the records changed since the last one.
func (s *statistics) checkpoint(put func(key, value []byte) error) error {
	for k := range s.dirty {
		key, value := statRecord(k, s.sums[k])
		if err := put(key, value); err != nil {
			return err
		}
	}
	clear(s.dirty)
	return s.exact.checkpoint(put)
}

func (s *statistics) load(rest, value []byte) error {
	r := codec.Reader{B: value}
	k := statKey{}
	switch {
	case r.Byte() != 1:
		r.Err = codec.ErrMalformed
	case len(rest) == 6:
		k = statKey{binary.BigEndian.Uint32(rest), uint32(binary.BigEndian.Uint16(rest[4:]))}
	case len(rest) == 8: // of assigned buckets
		k = statKey{binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:])}
	default:
		r.Err = codec.ErrMalformed
	}
	if r.Err != nil {
		return fmt.Errorf("statistics of a format this release does not know")
	}
	v := statValue{r.Varint(), r.Varint()}
	if r.Err == nil && v != (statValue{}) {
		s.exact.resize(k, v.bytes)
		s.sums[k] = v
	}
	return r.Err
}

// BucketStats returns the counts of table (0: of all tables), in order. Each counts a group of
// buckets, or a part of one if the group is counted by bucket: a bucket above ExactBytes by itself,
// and the buckets between such ones in runs of at most ExactBytes. Parts without documents are left
// out. The counts belong to the newest entry applied, not to a snapshot.
func (i *Inspector) BucketStats(table uint32) []BucketStat {
	s := i.r.stats
	s.mu.RLock()
	defer s.mu.RUnlock()
	cuts := map[uint32][]bucketRun{}
	out := make([]BucketStat, 0, len(s.sums))
	for _, k := range slices.SortedFunc(maps.Keys(s.sums), compareStat) {
		if table == 0 || k.table == table {
			out = s.appendParts(out, k, cuts)
		}
	}
	return out
}
