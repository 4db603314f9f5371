package counts

import (
	"encoding/binary"
	"slices"

	"github.com/sherddb/sherd/shardmap"
	"github.com/sherddb/sherd/storage/codec"
	"github.com/sherddb/sherd/storage/keyspace"
)

// ExactBytes is the size above which a bucket is counted by itself.
const ExactBytes = 4 << 20

// Counts by bucket. A group of buckets with more than ExactBytes of rows, in all tables together,
// is counted by bucket too, so that every bucket above ExactBytes has a count of its own. The data
// bounds the memory for this: at most 256 counts for each table in a group of 4 MiB.
//
// Such a count has two parts. When the group passes the limit, a Scan at one stamp
// counts a base. From that stamp on, the changes by bucket in log entries are added. Each replica
// counts for itself: the counts follow from the log, and so agree, but are not a part of it. They
// are written with the checkpoint, so that a restart need not count again.
//
//	≤ limit ──▶ above: collecting (changes since the stamp) ── base ──▶ counted ──▶ < limit / 2:
//	                  ▲                                                   │         not counted
//	                  └────── a change whose buckets are not known ◀──────┘
//
// Changes whose buckets are not known are those of moves and of earlier releases. A transaction
// that writes to very many buckets omits small changes, and reports by how much a bucket may have
// grown (slack): while the largest bucket plus the slack is below the limit, every bucket is.

// bucketKey is a bucket of a table, one that keys are hashed to.
type bucketKey struct {
	table, bucket uint32
}

// exactCount counts a group by bucket.
type exactCount struct {
	base  bool // counted; else collecting
	slack int64
	sums  map[bucketKey]tally
	dirty map[bucketKey]struct{} // since the last checkpoint
	newer bool                   // slack or base too
}

// exactCounts are the counts of all groups. They are used with the statistics' mu held.
type exactCounts struct {
	bytes  map[uint32]int64       // of each group, over all tables
	counts map[uint32]*exactCount // of groups
	erase  map[bucketKey]struct{} // records of counts that are void
	void   map[uint32]struct{}    // groups whose record has to be removed
	wanted map[uint32]struct{}    // groups to be counted, perhaps some that need not be any more
}

func newExactCounts() exactCounts {
	return exactCounts{bytes: map[uint32]int64{}, counts: map[uint32]*exactCount{}, erase: map[bucketKey]struct{}{},
		void: map[uint32]struct{}{}, wanted: map[uint32]struct{}{}}
}

// hashedGroup reports whether keys are hashed to the buckets of the group. Other groups have one
// bucket.
func hashedGroup(group uint32) bool { return group < shardmap.BucketCount/GroupBuckets }

// resize notes that a table has grown by so many bytes in a group.
func (x *exactCounts) resize(k groupKey, by int64) {
	if !hashedGroup(k.group) || by == 0 {
		return
	}
	n := x.bytes[k.group] + by
	x.bytes[k.group] = n
	switch c := x.counts[k.group]; {
	case n == 0:
		x.cancel(k.group)
		delete(x.bytes, k.group)
	case c == nil && n > ExactBytes:
		x.want(k.group)
	case c != nil && n < ExactBytes/2:
		x.cancel(k.group)
	}
}

// want notes that a group has to be counted.
func (x *exactCounts) want(group uint32) { x.wanted[group] = struct{}{} }

// pending calls fn with the groups that are above the limit and not counted.
func (x *exactCounts) pending(fn func(group uint32)) {
	for g, n := range x.bytes {
		if n > ExactBytes && x.counts[g] == nil {
			fn(g)
		}
	}
}

// cancel makes a group's count void; resize has it counted again.
func (x *exactCounts) cancel(group uint32) {
	c := x.counts[group]
	if c == nil {
		return
	}
	delete(x.counts, group)
	x.void[group] = struct{}{}
	for k := range c.sums {
		x.erase[k] = struct{}{}
	}
	for k := range c.dirty {
		x.erase[k] = struct{}{}
	}
}

// recount makes a group's count void, and wants another.
func (x *exactCounts) recount(group uint32) {
	x.cancel(group)
	if x.bytes[group] > ExactBytes {
		x.want(group)
	}
}

// add takes in a change.
func (x *exactCounts) add(d delta) {
	c := x.counts[d.group]
	switch {
	case c == nil:
	case d.exact:
		c.set(d.bucketKey(), d.docs, d.bytes)
		if c.slack > 0 && c.size(d.bucket)+c.slack > ExactBytes {
			x.recount(d.group)
		}
	case d.grown < 0 || !c.base:
		x.recount(d.group)
	default:
		c.newer = true
		if c.slack += d.grown; c.largest()+c.slack > ExactBytes {
			x.recount(d.group)
			return
		}
		c.slack = max(c.slack, 1) // what has shrunk is not known either
	}
}

// drop takes out a table that is dropped.
func (x *exactCounts) drop(of groupKey) {
	c := x.counts[of.group]
	switch {
	case c == nil:
	case !c.base:
		x.recount(of.group)
	default:
		for k, v := range c.sums {
			if k.table == of.table {
				c.set(k, -v.docs, -v.bytes)
			}
		}
	}
}

func (c *exactCount) set(k bucketKey, docs, bytes int64) {
	v := c.sums[k]
	if v = (tally{v.docs + docs, v.bytes + bytes}); v == (tally{}) {
		delete(c.sums, k)
	} else {
		c.sums[k] = v
	}
	c.dirty[k] = struct{}{}
}

// size returns what a bucket has of all tables, as far as is known.
func (c *exactCount) size(bucket uint32) (n int64) {
	for k, v := range c.sums {
		if k.bucket == bucket {
			n += v.bytes
		}
	}
	return n
}

// sizes returns what each bucket of the group has of all tables.
func (c *exactCount) sizes() (out [GroupBuckets]int64) {
	for k, v := range c.sums {
		out[k.bucket%GroupBuckets] += v.bytes
	}
	return out
}

func (c *exactCount) largest() int64 {
	sizes := c.sizes()
	return slices.Max(sizes[:])
}

// bucketRun is a part of a group, in buckets.
type bucketRun struct{ from, to uint32 }

// runs cuts a group into its buckets above the limit, and runs of at most that much between them.
func (c *exactCount) runs(group uint32) (out []bucketRun) {
	first, size := group*GroupBuckets, int64(0)
	open := false // the last run may grow
	for i, n := range c.sizes() {
		at := first + uint32(i)
		if open && n <= ExactBytes && size+n <= ExactBytes {
			out[len(out)-1].to, size = at+1, size+n
			continue
		}
		out = append(out, bucketRun{at, at + 1})
		open, size = n <= ExactBytes, n
	}
	return out
}

// appendParts appends what table k.table has in a group, in parts if the group is counted by
// bucket. All tables are cut at the same buckets.
func (s *Sums) appendParts(out []Range, k groupKey, cuts map[uint32][]bucketRun) []Range {
	c := s.exact.counts[k.group]
	if c == nil || !c.base {
		from, to := groupBounds(k.group)
		return append(out, Range{k.table, from, to, s.sums[k].docs, s.sums[k].bytes})
	}
	runs := cuts[k.group]
	if runs == nil {
		runs = c.runs(k.group)
		cuts[k.group] = runs
	}
	at, rest := len(out), s.sums[k]
	for _, x := range runs {
		p := Range{Table: k.table, From: x.from, To: x.to}
		for b := x.from; b < x.to; b++ {
			v := c.sums[bucketKey{k.table, b}]
			p.Documents, p.Bytes = p.Documents+v.docs, p.Bytes+v.bytes
		}
		rest.docs, rest.bytes = rest.docs-p.Documents, rest.bytes-p.Bytes
		if p.Documents != 0 || p.Bytes != 0 {
			out = append(out, p)
		}
	}
	if rest != (tally{}) {
		// from a transaction that did not report the buckets; the sum is right
		if at == len(out) {
			from, to := groupBounds(k.group)
			return append(out, Range{k.table, from, to, rest.docs, rest.bytes})
		}
		largest := slices.MaxFunc(out[at:], func(a, b Range) int { return int(a.Bytes - b.Bytes) })
		for i := range out[at:] {
			if p := &out[at+i]; p.From == largest.From {
				p.Documents, p.Bytes = p.Documents+rest.docs, p.Bytes+rest.bytes
			}
		}
	}
	return out
}

// appendExact appends the buckets of a table that are above the limit by themselves, in groups that
// are counted by bucket.
func (s *Sums) appendExact(out []Range, k groupKey) []Range {
	c := s.exact.counts[k.group]
	if c == nil || !c.base || c.slack > 0 {
		return out
	}
	for b := k.group * GroupBuckets; b < (k.group+1)*GroupBuckets; b++ {
		if v := c.sums[bucketKey{k.table, b}]; v.bytes > ExactBytes {
			out = append(out, Range{k.table, b, b + 1, v.docs, v.bytes})
		}
	}
	return out
}

// The records of a count: of a group the slack, and of its buckets what they have.
const exactFormat = 1

func exactGroupKey(group uint32) []byte {
	return keyspace.Record(keyspace.BucketCounts, binary.BigEndian.AppendUint16(nil, uint16(group))...)
}

func exactBucketKey(k bucketKey) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(k.bucket/GroupBuckets))
	return keyspace.Record(keyspace.BucketCounts, append(binary.BigEndian.AppendUint32(b, k.table), byte(k.bucket))...)
}

// checkpoint calls put with the records that have changed, without a value for those to be deleted.
// A group's record is deleted before those of its buckets, and written after them: the records of
// its buckets alone mean nothing.
func (x *exactCounts) checkpoint(put func(key, value []byte) error) error {
	for g := range x.void {
		if err := put(exactGroupKey(g), nil); err != nil {
			return err
		}
	}
	for k := range x.erase {
		if err := put(exactBucketKey(k), nil); err != nil {
			return err
		}
	}
	clear(x.void)
	clear(x.erase)
	for g, c := range x.counts {
		if !c.base || len(c.dirty) == 0 && !c.newer {
			continue
		}
		for k := range c.dirty {
			var value []byte
			if v, ok := c.sums[k]; ok {
				value = binary.AppendVarint(binary.AppendVarint([]byte{exactFormat}, v.docs), v.bytes)
			}
			if err := put(exactBucketKey(k), value); err != nil {
				return err
			}
		}
		clear(c.dirty)
		c.newer = false
		if err := put(exactGroupKey(g), binary.AppendUvarint([]byte{exactFormat}, uint64(c.slack))); err != nil {
			return err
		}
	}
	return nil
}

// LoadExact reads a record of a count. The records of a group's buckets follow that of the group.
func (s *Sums) LoadExact(rest, value []byte) error {
	if len(value) == 0 {
		return nil
	}
	r := codec.Reader{B: value}
	if r.Byte() != exactFormat || len(rest) != 2 && len(rest) != 7 {
		return codec.ErrMalformed
	}
	group := uint32(binary.BigEndian.Uint16(rest))
	if len(rest) == 2 {
		s.exact.counts[group] = &exactCount{base: true, slack: int64(r.Uvarint()), sums: map[bucketKey]tally{},
			dirty: map[bucketKey]struct{}{}}
		return r.Err
	}
	v := tally{r.Varint(), r.Varint()}
	if c := s.exact.counts[group]; c != nil && r.Err == nil {
		c.sums[bucketKey{binary.BigEndian.Uint32(rest[2:]), group*GroupBuckets + uint32(rest[6])}] = v
	}
	return r.Err
}
